import numpy as np
import pytest
from searching import drive, fresh_run, rotation

from l2e.experts.evolution import Evolution
from l2e.experts.residual import SIZE, Generation, Network, Residual, first_weights
from l2e.experts.router import Router
from l2e.experts.run import finish
from l2e.experts.shrinking import Shrinking
from l2e.experts.trust import Surrogate

AXES = rotation(4, 3) * [1.0, 3.0, 10.0, 30.0]


def bowl(x):
    return float((((x - 1) @ AXES) ** 2).sum())


def waves(x):
    return float((x**2 + 10 * (1 - np.cos(2 * x))).sum())


def partly_failing(x):
    return np.inf if x[0] > 1.5 else bowl(x)


def evolution(run, network):
    surrogate = Surrogate()
    return Evolution(np.zeros(4), 2.0, 8, surrogate, network=network)


def plain(run, network):
    return Evolution(np.full(4, 3.0), 2.0, 8, network=network)


def shrinking(run, network):
    return Shrinking(4, run.budget, run.rng, network)


def asked(make, function, network, budget=1200):
    """All points a search asks for."""
    points = []

    def noted(x):
        points.append(x.copy())
        return function(x)

    run = fresh_run(4, budget)
    drive(finish(make(run, network), run), noted, budget)
    return np.stack(points)


@pytest.mark.parametrize("make", [evolution, plain, shrinking])
@pytest.mark.parametrize("function", [bowl, waves, partly_failing])
def test_untrained_network_changes_not_a_bit(make, function):
    without = asked(make, function, None)
    np.testing.assert_array_equal(asked(make, function, Network(first_weights(0))), without)


def test_untrained_network_changes_not_a_bit_of_the_whole_search():
    def points(network):
        seen = []

        def noted(x):
            seen.append(x.copy())
            return waves(x)

        drive(Router(network=network).search(fresh_run(4, 3000), np.zeros(4)), noted, 3000)
        return np.stack(seen)

    np.testing.assert_array_equal(points(Network(first_weights(1))), points(None))


@pytest.mark.parametrize("make", [evolution, plain, shrinking])
def test_any_weights_give_a_search_that_still_converges(make):
    for seed in range(3):
        weights = np.random.default_rng(seed).standard_normal(SIZE)
        points = asked(make, bowl, Network(weights), 3000)
        assert np.isfinite(points).all()
        values = [bowl(x) for x in points]
        assert min(values) < 2e-2 * values[0]  # one ends early, with a factor that is no longer one


def generation(rng, turn=None, scale=1.0, shift=0.0):
    z = rng.standard_normal((8, 4))
    values = np.sort(rng.standard_normal(8)) * scale + shift
    path = rng.standard_normal(4)
    if turn is not None:
        z, path = z @ turn, path @ turn
    pull = np.linspace(0.4, 0, 8)
    record = -1.0 * scale + shift
    return Generation(z, values, np.ones(8, bool), record, path, 0.5, pull / pull.sum(), None, 0.25, 400)


def test_does_not_see_how_a_problem_is_turned_or_scaled():
    weights = np.random.default_rng(0).standard_normal(SIZE)

    def changes(**options):
        rng, residual = np.random.default_rng(5), Residual(Network(weights), 4)
        return [residual(generation(rng, **options)) for _ in range(3)]

    expected = changes()
    for options in ({"turn": rotation(4)}, {"scale": 100.0}, {"shift": 7.0}):
        for ours, theirs in zip(changes(**options), expected, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9)


def test_changes_are_bounded():
    residual = Residual(Network(np.full(SIZE, 50.0)), 4)
    change = residual(generation(np.random.default_rng(0)))
    assert change.recombination.max() <= np.exp(1.5)
    for factor in (change.c_sigma, change.d_sigma, change.c_1, change.c_mu):
        assert factor <= np.exp(1.2)
    assert change.relaxation <= np.exp(0.5)
    assert abs(change.momentum) <= 0.3
    assert abs(change.step) <= 0.1
    assert residual.population <= np.exp(1.0)
    assert abs(residual.trust) <= 0.2


def test_refuses_weights_that_do_not_fit():
    with pytest.raises(ValueError, match=str(SIZE)):
        Network(np.zeros(SIZE - 1))
    with pytest.raises(ValueError, match="finite"):
        Network(np.full(SIZE, np.nan))

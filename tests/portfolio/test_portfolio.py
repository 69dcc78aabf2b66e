import warnings

import numpy as np
import pytest
from helpers.searching import rotation

import l2e
from l2e.bench.methods import build
from l2e.core.fingerprint import fingerprint
from l2e.core.program import ProgramSearch
from l2e.portfolio.method import Portfolio
from l2e.portfolio.policy import PARTS, Policy
from l2e.portfolio.weights import shipped_gate

BOUNDS = [(-5.0, 5.0)] * 5


def bent(x):
    y = rotation(5) @ (np.asarray(x) - 1)
    return float(y**2 @ np.logspace(0, 4, 5))


def rugged(x):
    y = rotation(5) @ (np.asarray(x) - 1)
    return float(10 * (1 - np.cos(2 * np.pi * y)).sum() + y @ y)


@pytest.mark.parametrize("function", [bent, rugged])
@pytest.mark.parametrize("budget", [3, 100, 700, 4000])
def test_uses_exactly_the_budget_and_repeats_by_seed(function, budget):
    seen = []

    def counted(x):
        seen.append(x)
        return function(x)

    first = l2e.minimize(counted, bounds=BOUNDS, budget=budget, rng=4)
    again = l2e.minimize(function, bounds=BOUNDS, budget=budget, rng=4)
    assert first.nfev == len(seen) == budget
    assert (np.abs(seen) <= 5).all()
    assert again.fun == first.fun
    np.testing.assert_array_equal(again.x, first.x)


def test_scaling_the_box_does_not_change_the_search():
    plain = l2e.minimize(rugged, bounds=BOUNDS, budget=600, rng=1)
    scaled = l2e.minimize(lambda x: rugged((x - 64) / 128), bounds=[(-576, 704)] * 5, budget=600, rng=1)
    assert scaled.fun == pytest.approx(plain.fun, rel=1e-6)


def test_begins_at_the_users_point():
    seen = []
    start = np.asarray([1.0, 2.0, -3.0, 0.0, 4.5])
    l2e.minimize(lambda x: seen.append(x) or bent(x), start, bounds=BOUNDS, budget=30, rng=0)
    np.testing.assert_allclose(seen[0], start, atol=1e-14)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_left_out(part):
    method = Portfolio.trained(Policy().without(part))
    result = l2e.minimize(rugged, bounds=BOUNDS, budget=350, rng=2, method=method)
    assert result.nfev == 350
    assert np.isfinite(result.fun)


def test_other_weights_or_decisions_have_another_fingerprint():
    gate = shipped_gate()
    methods = [
        Portfolio.trained(),
        Portfolio(),
        Portfolio(gate._replace(bias=gate.bias + 5)),
        Portfolio.trained(Policy().without("gate")),
        Portfolio.trained(Policy(slow_from=99)),
    ]
    assert len({fingerprint(method) for method in methods}) == len(methods)
    assert fingerprint(Portfolio.trained()) == fingerprint(Portfolio(gate._replace(bias=gate.bias.copy())))
    assert fingerprint(build("auto", 5, 100)) == fingerprint(Portfolio.trained())


def test_the_experiments_variants_leave_one_part_out():
    names = ["newton", "surrogate", "coordinates", "global", "look"]
    for method, part in [*((f"without_{name}", name) for name in names), ("untrained", "gate")]:
        assert build(f"experiments.variants:{method}", 5, 100).policy == Policy().without(part)


def test_ask_and_tell_equal_minimize_and_survive_saving(tmp_path):
    whole = l2e.minimize(rugged, bounds=BOUNDS, budget=500, rng=3)
    opt = l2e.Optimizer(bounds=BOUNDS, budget=500, rng=3)
    rounds = 0
    while not opt.stop():
        points = opt.ask()
        opt.tell(points, [rugged(x) for x in points])
        rounds += 1
        if rounds % 15 == 0:
            opt.save(tmp_path / "search")
            opt = l2e.Optimizer.load(tmp_path / "search")
    assert opt.result().fun == whole.fun
    assert opt.result().nfev == whole.nfev


def test_a_checkpoint_goes_on_exactly(tmp_path):
    calls = 0

    def breaking(x):
        nonlocal calls
        calls += 1
        if calls == 200:
            raise KeyboardInterrupt
        return rugged(x)

    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        l2e.minimize(breaking, bounds=BOUNDS, budget=500, rng=3, checkpoint=path)
    resumed = l2e.minimize(rugged, bounds=BOUNDS, budget=500, rng=3, checkpoint=path)
    assert resumed.fun == l2e.minimize(rugged, bounds=BOUNDS, budget=500, rng=3).fun
    assert resumed.nfev == 500


def test_the_same_values_bring_back_the_same_batches():
    space = l2e.box(BOUNDS)
    searches = [ProgramSearch(Portfolio(), space, 7, 400, None) for _ in range(2)]
    for _ in range(25):
        points = [search.ask() for search in searches]
        np.testing.assert_array_equal(*points)
        for search in searches:
            search.tell(np.asarray([rugged(x) for x in points[0]]))


def test_functions_that_fail_everywhere_or_mostly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nothing = l2e.minimize(lambda x: np.nan, bounds=BOUNDS, budget=200, rng=0)
        corner = l2e.minimize(
            lambda x: float(x @ x) if x[0] > 2 and x[1] > 2 else np.nan, bounds=BOUNDS, budget=800, rng=0
        )
    assert nothing.x is None
    assert nothing.nfev == 200
    assert corner.fun < 9.5  # 8 is the least, at the edge of where there are values


def test_one_dimension_and_many():
    assert l2e.minimize(lambda x: float((x[0] - 0.3) ** 2), bounds=[(0, 1)], budget=100, rng=0).fun < 1e-12
    wide = l2e.minimize(lambda x: float(((x - 1) ** 2).sum()), bounds=[(-5, 5)] * 120, budget=1500, rng=0)
    assert wide.fun < 1e-6

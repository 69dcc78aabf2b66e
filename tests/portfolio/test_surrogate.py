import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation
from scipy.stats import kendalltau

from l2e.core.cma_defaults import default_population
from l2e.portfolio.evolution import Evolution
from l2e.portfolio.policy import Policy, Reach
from l2e.portfolio.quadratic import fit_quadratic, minimiser_within
from l2e.portfolio.run import finish
from l2e.portfolio.surrogate import Surrogate, kendall

POLICY = Policy()
WIDE = POLICY.wide


def fitted_model(margin=np.inf):
    return Surrogate(POLICY, WIDE, margin)


def quadratic(u):
    return 3 + u @ [1.0, -2.0, 0.5] + 0.5 * np.einsum("ni,ij,nj->n", u, HESSIAN, u)


HESSIAN = rotation(3, 2).T @ np.diag([1.0, 4.0, 20.0]) @ rotation(3, 2)


def test_recovers_a_quadratic():
    u = np.random.default_rng(0).standard_normal((40, 3))
    model = fit_quadratic(u, quadratic(u), np.arange(40), WIDE)
    assert model is not None
    assert model.power == 1.0
    np.testing.assert_allclose(model.hessian, HESSIAN, atol=1e-3)
    fresh = np.random.default_rng(1).standard_normal((10, 3))
    np.testing.assert_allclose(model.value(fresh), quadratic(fresh), rtol=1e-3)


def test_takes_the_root_of_a_fourth_power():
    u = np.random.default_rng(0).standard_normal((40, 3))
    model = fit_quadratic(u, (u**2).sum(axis=1) ** 2, np.arange(40), WIDE)
    assert model is not None
    assert model.power == 0.5


def test_too_few_or_equal_values_give_no_model():
    u = np.random.default_rng(0).standard_normal((40, 3))
    assert fit_quadratic(u[:4], quadratic(u[:4]), np.arange(4), WIDE) is None
    assert fit_quadratic(u, np.ones(40), np.arange(40), WIDE) is None


def test_trust_region_minimiser_beats_every_sampled_point():
    rng = np.random.default_rng(0)
    for spectrum in ([1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]):
        turn = rotation(3, 5)
        hessian, linear = turn.T @ np.diag(spectrum) @ turn, rng.standard_normal(3)
        found = minimiser_within(linear, *np.linalg.eigh(hessian), 2.0)
        assert np.linalg.norm(found) <= 2.0 + 1e-6
        points = rng.standard_normal((5000, 3))
        points *= 2 * rng.random((5000, 1)) ** (1 / 3) / np.linalg.norm(points, axis=1, keepdims=True)
        value = linear @ found + 0.5 * found @ hessian @ found
        others = points @ linear + 0.5 * np.einsum("ni,ij,nj->n", points, hessian, points)
        assert value <= others.min() + 1e-9


def test_kendall_equals_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 6, 30).astype(float), rng.standard_normal(30)
    assert kendall(first, second) == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)
    assert kendall(np.ones(5), second[:5]) == 0.0


def test_weights_are_those_of_cma_es():
    search = Evolution(np.zeros(10), 1.0, 10)
    assert search.weights[:5].sum() == pytest.approx(1)
    assert search.rates.mu_eff == pytest.approx(3.167, abs=1e-3)
    assert (np.diff(search.weights) < 0).all()


def evaluations_to(target, surrogate, seed=0):
    run, turn = fresh_run(5, 5000, seed), rotation(5, 3)
    scale = np.logspace(0, 3, 5)
    search = Evolution(np.full(5, 2.0), 2.0, default_population(5), fitted_model() if surrogate else None)
    reached = []

    def function(x):
        value = float((turn @ x) ** 2 @ scale)
        if value < target and not reached:
            reached.append(run.used)
        return value

    drive(finish(search, run), function, 5000)
    return reached[0]


def test_the_surrogate_saves_evaluations_and_the_plain_strategy_converges():
    plain, guided = evaluations_to(1e-6, False), evaluations_to(1e-6, True)
    assert plain < 2500
    assert guided < 0.5 * plain


def test_failed_points_never_pull_and_all_failed_generations_move_on():
    run = fresh_run(3, 900)
    search = Evolution(np.full(3, -4.0), 2.0, 8)
    drive(finish(search, run), lambda x: float(((x - 4) ** 2).sum()) if (x > 2).all() else np.nan, 900)
    assert run.best_f < 1e-3


def test_a_quadratic_is_known_after_as_many_points_as_it_has_coefficients():
    """Samples of the first generations fall outside of the cube: they are remembered where they were evaluated."""
    d = 8
    turn, scale = rotation(d, 6), np.logspace(0, 5, d)
    optimum = np.linspace(-4, 4, d)
    run = fresh_run(d, 25 * d)
    search = Evolution(np.zeros(d), 2.0, default_population(d), fitted_model())
    drive(finish(search, run), lambda x: float((turn @ (x - optimum)) ** 2 @ scale) + 50, run.budget)
    points, _, _ = run.memory()
    assert (np.abs(points) <= 5).all()
    assert run.best_f - 50 < 1e-8


def test_a_fit_has_cross_terms_only_from_enough_points():
    u = np.random.default_rng(0).standard_normal((40, 3))
    few, many = (
        fit_quadratic(u[:9], quadratic(u[:9]), np.arange(9), WIDE),
        fit_quadratic(u, quadratic(u), np.arange(40), WIDE),
    )
    assert few is not None
    assert many is not None
    assert not few.full
    assert many.full
    np.testing.assert_array_equal(few.hessian, np.diag(np.diagonal(few.hessian)))


def test_a_near_fit_follows_what_is_near():
    rng = np.random.default_rng(0)
    u = np.concatenate([rng.standard_normal((60, 2)), 6 * rng.standard_normal((60, 2))])
    values = (u**2).sum(axis=1) + 0.02 * (u**2).sum(axis=1) ** 2
    near, wide = (fit_quadratic(u, values, np.arange(120), reach) for reach in (Reach(20, 0.5), Reach(20, 50.0)))
    assert near is not None
    assert wide is not None
    here = 0.3 * rng.standard_normal((50, 2))
    true = (here**2).sum(axis=1) + 0.02 * (here**2).sum(axis=1) ** 2
    assert np.abs(near.value(here) - true).mean() < 0.5 * np.abs(wide.value(here) - true).mean()


def test_a_mean_outside_is_folded_with_its_distribution():
    """The mirror images of all samples stay what they were."""
    factor = rotation(3, 1) * [1.0, 0.5, 2.0]
    asked = []
    for mean, signs in (([4.0, -6.5, 17.0], [1.0, 1.0, 1.0]), ([4.0, -3.5, -3.0], [1.0, -1.0, 1.0])):
        run = fresh_run(3, 100)
        drive(run.evaluate(np.zeros(3)), lambda x: 1.0, 1)
        search = Evolution(np.asarray(mean), 0.7, 6, factor=np.asarray(signs)[:, None] * factor)
        points = []
        drive(search.step(run), lambda x, points=points: points.append(x) or float(x @ x), 100)
        asked.append(np.stack(points))
    np.testing.assert_allclose(asked[0], asked[1], atol=1e-12)


def test_of_failures_the_model_knows_nothing():
    """A generation in which a chosen point failed is evaluated whole: half of the cube has no values here."""
    run = fresh_run(3, 400)
    search = Evolution(np.ones(3), 1.0, 8, fitted_model())
    drive(finish(search, run), lambda x: np.nan if x[0] < 0.5 else float(x @ x), run.budget)
    assert run.best_f < 0.255  # at the edge, where the model would go on


def test_a_cautious_gate_trusts_predictions_made_beforehand():
    """Overfitted values agree with what they were fitted to; what had been predicted did not."""

    def trust(cautious):
        rng = np.random.default_rng(0)
        run = fresh_run(4, 600)
        surrogate = fitted_model(margin=POLICY.trust_margin if cautious else np.inf)
        search = Evolution(np.zeros(4), 1.0, 8, surrogate)
        seen = []

        def watched():
            while True:
                seen.append(surrogate.tau)
                yield from search.step(run)

        drive(watched(), lambda x: float(rng.standard_normal()), 300)
        return np.mean(seen[10:])

    assert trust(True) < trust(False) - 0.05


def test_failures_do_not_count_among_predictions():
    surrogate = fitted_model(margin=POLICY.trust_margin)
    surrogate.learn(np.asarray([1.0, 2.0, 3.0]), np.asarray([1.5, np.inf, 0.5]))
    assert surrogate._predicted == [(1.0, 1.5), (3.0, 0.5)]
    run = fresh_run(3, 3000)
    search = Evolution(np.ones(3), 1.0, 8, fitted_model(margin=POLICY.trust_margin))
    drive(finish(search, run), lambda x: np.nan if x[0] < 0.5 else float(x @ x), run.budget)
    assert run.best_f < 0.251
    assert np.isfinite(search.surrogate.tau)


def test_a_search_elsewhere_has_its_own_record_to_beat():
    """A far better value somewhere else must not hold up a search: its steps are confirmed by its own values."""

    def deepest(record, seed):
        run = fresh_run(5, 300, seed)
        drive(run.evaluate(np.full(5, 4.0)), lambda x: -1e6, 1)  # another minimum, deeper than all below
        run.forget()
        search = Evolution(np.full(5, -4.0), 0.3, default_population(5), fitted_model(), record=record(run))
        drive(finish(search, run), lambda x: float(np.arange(1, 6) @ (x - 2) ** 2), run.budget)
        return search.best_f

    own = [deepest(lambda run: np.inf, seed) for seed in range(8)]
    other = [deepest(lambda run: run.best_f, seed) for seed in range(8)]
    assert np.median(own) < 0.5 * np.median(other)
    assert np.mean(np.less(own, other)) > 0.8


def test_a_search_ends_when_nothing_is_left_to_be_found():
    """At the end of a smooth function all values are the same: two populations of them are enough."""
    run = fresh_run(5, 5000)
    search = Evolution(np.zeros(5), 2.0, default_population(5), fitted_model())
    values = []
    drive(finish(search, run), lambda x: values.append(float((x - 1) @ (x - 1)) + 7) or values[-1], run.budget)
    assert run.used < 400
    assert run.best_f - 7 < 1e-10
    assert max(values[-2 * search.population :]) - min(values[-2 * search.population :]) < 1e-10

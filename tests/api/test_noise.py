"""Uncertain values: said or noticed, a recommendation with its error, and no harm where there is no noise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import l2e
from l2e.core.box import box
from l2e.portfolio.evaluated import Evaluated
from l2e.portfolio.noisy import error_of_mean, error_of_median
from l2e.portfolio.quadratic import left_unexplained
from l2e.portfolio.smoothing import SmoothingRun, scores_of
from l2e.portfolio.surrogate import kendall
from l2e.portfolio.unexplained import Doubt

BOUNDS = [(-5.0, 5.0)] * 5
BEST = np.asarray([1, -2, 0.5, 3, -1.0])
WEIGHTS = 10 ** np.linspace(0, 2, 5)


def true(x: np.ndarray) -> float:
    """Minimum 0 at `BEST`."""
    return float((WEIGHTS * (x - BEST) ** 2).sum())


def search(noisy: bool | str | None, seed: int, budget: int = 600, deviation: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    return l2e.minimize(
        lambda x: true(x) + deviation * rng.standard_normal(), bounds=BOUNDS, budget=budget, rng=seed, noisy=noisy
    )


def test_a_search_told_of_noise_recommends_better_points_than_one_that_is_to_ignore_it() -> None:
    gaps = {
        noisy: [true(search(noisy, seed, budget=300, deviation=10.0).x) for seed in range(12)]
        for noisy in (False, True)
    }  # 1.8 and 4.8 on average
    assert np.mean(gaps[True]) < 0.8 * np.mean(gaps[False])


@pytest.mark.parametrize("noisy", [True, "median", "mean", None])
def test_the_value_of_a_recommendation_comes_with_its_error(noisy: bool | str | None) -> None:
    result = search(noisy, seed=0)
    assert result.nfev == 600
    assert result.fun_evaluations > 10
    assert 0 < result.fun_error < 0.6
    assert abs(result.fun - true(result.x)) < 5 * result.fun_error


def test_the_middle_of_values_is_their_mean_where_that_is_wanted() -> None:
    for noisy, middle in (("median", np.median), ("mean", np.mean)):
        result = search(noisy, seed=1)
        own = [
            f for x, f in zip(result.evaluations.x, result.evaluations.f, strict=True) if np.array_equal(x, result.x)
        ]
        assert result.fun == pytest.approx(middle(own[-result.fun_evaluations :]))


def test_noise_is_noticed_and_said_with_the_evidence() -> None:
    result = search(noisy=None, seed=3)
    x, values = result.noise
    again = [f for one, f in zip(result.evaluations.x, result.evaluations.f, strict=True) if np.array_equal(one, x)]
    assert set(values) <= set(again)
    assert len(set(values)) == 3
    assert result.noise.deviation == pytest.approx(np.std(values, ddof=1))
    assert "values are noisy: one point evaluated 3 times gave" in result.message
    assert any("values are noisy" in said for said in result.warnings)
    assert result.confidence is None  # it was measured without what is done now
    assert [span.part for span in result.trace][-1] == "deciding"
    assert result.trace[-1].end == result.nfev
    ends = [span.end for span in result.trace]
    assert [span.begin for span in result.trace][1:] == ends[:-1]  # nothing twice, nothing left out


def test_the_evidence_is_in_the_users_terms() -> None:
    rng = np.random.default_rng(0)
    space = l2e.Space(rate=l2e.Log(1e-4, 1), y=(0.0, 1.0), fixed=3)
    result = l2e.maximize(
        lambda rate, y, fixed: 5 - (np.log10(rate) + 2) ** 2 - y + rng.standard_normal(), space, budget=400, rng=0
    )
    x, values = result.noise
    assert 1e-4 <= x[0] <= 1
    assert 0 <= x[1] <= 1
    assert set(values) <= set(result.evaluations.f.tolist())
    assert f"{values[0]:.6g}" in result.message
    assert result.noise.sentence in result.warnings
    assert abs(result.fun - 5) < 2


@pytest.mark.parametrize("model", ["gauss", "additive", "outliers"])
def test_kinds_of_noise_are_noticed(model: str) -> None:
    rng = np.random.default_rng(7)

    def f(x: np.ndarray) -> float:
        if model == "outliers":  # one in five
            return true(x) + 100 * float(rng.standard_cauchy()) * (rng.random() < 0.2)
        return true(x) * np.exp(rng.standard_normal()) if model == "gauss" else true(x) + 0.1 * rng.standard_normal()

    assert l2e.minimize(f, bounds=BOUNDS, budget=500, rng=0).noise is not None


def wavy(x: np.ndarray) -> float:
    """Looks like noise along a line, and is none."""
    return float((x**2 - 10 * np.cos(2 * np.pi * x)).sum())


def test_a_rough_function_is_not_taken_for_a_noisy_one() -> None:
    result = l2e.minimize(wavy, bounds=[(-5, 4)] * 5, budget=1000, rng=0)
    assert result.noise is None
    assert "fun_error" not in result
    assert [span.reason for span in result.trace if span.part == "checking for noise"] == ["no noise"]
    spans = result.trace
    assert [span.begin for span in spans][1:] == [span.end for span in spans][:-1]
    plain = l2e.minimize(wavy, bounds=[(-5, 4)] * 5, budget=998, rng=0, noisy=False)
    kept = np.delete(result.evaluations.x, [13, 14], axis=0)  # the two that looked
    assert np.array_equal(kept[:200], plain.evaluations.x[:200])


def test_nobody_looks_for_noise_where_none_is_suspected_or_where_it_is_denied() -> None:
    for noisy, f in ((None, true), (False, wavy)):
        result = l2e.minimize(f, bounds=BOUNDS, budget=300, rng=0, noisy=noisy)
        assert not any(span.part == "checking for noise" for span in result.trace)


def test_a_noisy_search_by_ask_and_tell_is_saved_and_resumed(tmp_path: Path) -> None:
    def go(opt: l2e.Optimizer, least: int = 0) -> Any:
        while not opt.stop() and opt.result().nfev < (least or 10**6):
            points = opt.ask()
            draws = np.random.default_rng([opt.result().nfev, 1]).standard_normal(len(points))
            opt.tell(points, [true(x) + draw for x, draw in zip(points, draws, strict=True)])
        return opt.result()

    for noisy in (None, True):
        whole = go(l2e.Optimizer(bounds=BOUNDS, budget=300, rng=0, noisy=noisy))
        half = l2e.Optimizer(bounds=BOUNDS, budget=300, rng=0, noisy=noisy)
        go(half, least=120)
        half.save(tmp_path / "search.l2e")
        rest = go(l2e.Optimizer.load(tmp_path / "search.l2e"))
        assert np.array_equal(rest.x, whole.x)
        assert (rest.fun, rest.fun_error) == (whole.fun, whole.fun_error)


def test_errors_of_means_and_medians_are_those_of_many_samples() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((4000, 25))
    assert np.mean([error_of_mean(one) for one in samples]) == pytest.approx(samples.mean(axis=1).std(), rel=0.1)
    assert np.mean([error_of_median(one) for one in samples]) == pytest.approx(
        np.median(samples, axis=1).std(), rel=0.2
    )
    assert error_of_mean(samples[0][:1]) == error_of_median(samples[0][:1]) == np.inf


def test_ranks_are_smoothed_and_outliers_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    run = SmoothingRun(3, 1000, rng)
    mean, matrix = np.zeros(3), np.eye(3)
    points = rng.standard_normal((120, 3))
    exact = ((points - 1) ** 2).sum(axis=1)
    uncertain = exact + rng.standard_normal(120) * 6
    uncertain[rng.choice(120, 15, replace=False)] -= 1e6
    run.remember(points[:80], uncertain[:80])
    run.expect(mean, matrix, 40)
    asking = run.evaluate(points[80:])
    next(asking)
    with pytest.raises(StopIteration) as done:
        asking.send(uncertain[80:])
    smooth = done.value.value
    assert kendall(smooth, exact[80:]) > kendall(uncertain[80:], exact[80:]) + 0.2
    assert run.best_f == uncertain[80:].min()


def test_equal_values_have_equal_scores() -> None:
    scores = scores_of(np.asarray([3.0, 1.0, 1.0, 2.0]))
    assert scores[1] == scores[2] < scores[3] < scores[0]
    assert scores_of(np.full(5, 2.0)) == pytest.approx(0)


def test_noise_in_a_space_of_integers() -> None:
    rng = np.random.default_rng(0)
    space = l2e.Space(n=l2e.Int(0, 20), y=(0, 1))
    result = l2e.minimize(
        lambda n, y: (n - 13) ** 2 + (y - 0.5) ** 2 + 0.3 * rng.standard_normal(), space, budget=300, rng=0, noisy=True
    )
    assert result.params["n"] == 13


def test_noise_is_for_the_default_method() -> None:
    with pytest.raises(ValueError, match="default method"):
        l2e.minimize(true, bounds=BOUNDS, noisy=True, method="scipy-de")
    with pytest.raises(ValueError, match="without constraints"):
        l2e.minimize(true, bounds=BOUNDS, noisy=True, constraints=lambda x: x[0])
    with pytest.raises(ValueError, match="median"):
        l2e.minimize(true, bounds=BOUNDS, noisy="mode")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("noisy", [True, "mean", None])
@pytest.mark.parametrize("kind", ["noise", "nan", "constant", "failing", "huge"])
def test_whatever_comes_the_budget_is_used_and_no_part_fails(kind: str, noisy: bool | str | None) -> None:
    rng = np.random.default_rng(0)
    functions = {
        "noise": lambda x: float(x @ x + rng.standard_normal()),
        "nan": lambda x: float("nan"),
        "constant": lambda x: 1.0,
        "failing": lambda x: float("inf") if rng.random() < 0.5 else float(x @ x) + rng.random(),
        "huge": lambda x: 1e300 * rng.standard_normal(),
    }
    for dimension in (1, 7):
        for budget in (1, 3, 20, 90):
            result = l2e.minimize(functions[kind], bounds=[(-5, 5)] * dimension, budget=budget, rng=0, noisy=noisy)
            assert result.nfev == budget
            assert not any("failed" in span.reason for span in result.trace)


@pytest.mark.parametrize("per_dimension", [30, 50, 100])
@pytest.mark.parametrize("dimension", [3, 8])
def test_noise_is_noticed_in_short_searches(dimension: int, per_dimension: int) -> None:
    """Whoever goes on after the look or the scout, also if quasi-Newton is never tried."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        result = l2e.minimize(
            lambda x, rng=rng: float(((x - 1) ** 2).sum()) + rng.standard_normal(),
            bounds=[(-5, 5)] * dimension,
            budget=per_dimension * dimension,
            rng=seed,
        )
        assert result.noise is not None
        assert result.nfev == per_dimension * dimension
        assert result.trace[-1].part == "deciding"
        assert result.fun_evaluations >= 1
        spans = result.trace
        assert [span.begin for span in spans][1:] == [span.end for span in spans][:-1]
        assert spans[-1].end == result.nfev
        assert "running" not in [span.reason for span in spans]


def ellipsoid(x: np.ndarray) -> float:
    return float((10.0 ** np.linspace(0, 6, len(x)) * (x - 1) ** 2).sum())


def valley(x: np.ndarray) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


@pytest.mark.parametrize("f", [ellipsoid, valley, lambda x: 1e6 + ellipsoid(x)])
@pytest.mark.parametrize("per_dimension", [20, 60])
def test_smooth_functions_are_not_suspected(f: Any, per_dimension: int) -> None:
    for dimension in (2, 5):
        options: dict[str, Any] = {"bounds": [(-5, 5)] * dimension, "budget": per_dimension * dimension, "rng": 0}
        watched, unwatched = l2e.minimize(f, **options), l2e.minimize(f, noisy=False, **options)
        np.testing.assert_array_equal(watched.evaluations.x, unwatched.evaluations.x)
        assert watched.noise is None


def test_what_a_quadratic_cannot_explain() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 4))
    matrix = rng.standard_normal((4, 4))
    smooth = ((points @ matrix) ** 2).sum(axis=1) + points[:, 0]
    assert left_unexplained(points, smooth, 5.0) < 1e-6
    assert left_unexplained(points, rng.standard_normal(40), 5.0) > 1
    assert 1e-3 < left_unexplained(points, smooth + 2 * rng.standard_normal(40), 5.0) < 1


def test_values_that_differ_by_rounding_are_explained() -> None:
    rng = np.random.default_rng(0)
    space = box([(-5.0, 5.0)] * 3)
    for size, expected in ((1e-12, False), (1.0, True)):
        seen, doubt = Evaluated(), Doubt(space)
        said = []
        for _ in range(20):
            seen.add(rng.uniform(-1, 1, (5, 3)), 1e3 + size * rng.standard_normal(5))
            said.append(doubt.look(seen))
        assert any(said) == expected

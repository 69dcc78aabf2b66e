"""A model whose gradients hardly tell families apart: the default begins, and an end of a member must beat it."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import l2e
from l2e.portfolio.transfer.kin import TELLING_BELOW, kin
from l2e.portfolio.transfer.knowledge import Knowledge, Plan, Plans
from l2e.portfolio.transfer.method import Transfer
from l2e.portfolio.transfer.search import FEW_SEEDS, LEAST_RACE, RACE

D, M = 6, 24
BOUNDS = [(-2.0, 4.0)] * D
OPEN = Plans.always(Plan(True, "evolution", "open"))
SCALES = np.geomspace(1, 100, D)


def minimiser(seed: int) -> np.ndarray:
    return 2.0 + 0.1 * np.random.default_rng(seed).standard_normal(D)


def waves(at: np.ndarray):
    """Many minima, of which the default finds a poor one; the best is at `at`."""
    return lambda x: float(((x - at) ** 2).sum() + 8 * (1 - np.cos(4 * (x - at))).sum())


def knowledge() -> Knowledge:
    """Members with waves; gradients at the centre are not known."""
    ends = np.stack([minimiser(seed) for seed in range(M)])
    functions = [waves(minimiser(seed)) for seed in range(M)]
    cross = np.array([[f(end) for end in ends] for f in functions])
    centre = np.array([f(np.ones(D)) for f in functions])
    nothing = np.full((M, D), np.nan)
    return Knowledge(l2e.box(BOUNDS).to_unit(ends), np.diagonal(cross).copy(), centre, nothing, cross, np.zeros((D, D)))


def run(fun, method, budget: int) -> tuple[np.ndarray, Any]:
    points: list[np.ndarray] = []

    def recorded(x: np.ndarray) -> float:
        points.append(x.copy())
        return fun(x)

    result = l2e.minimize(recorded, bounds=BOUNDS, method=method, budget=budget, rng=5)
    return np.array(points), result


def test_likenesses_say_whether_they_tell_families_apart() -> None:
    rng = np.random.default_rng(0)
    alike = kin(1.0 + 0.2 * rng.standard_normal((M, 10)))
    unlike = kin(rng.standard_normal((M, 10)) + 0.3)
    assert alike is not None
    assert unlike is not None
    assert alike.telling(5)
    assert alike.telling(50)
    assert alike.foreign < 0.02
    assert not unlike.telling(5)
    assert unlike.foreign > TELLING_BELOW
    assert not knowledge().tells_foreign(5)
    half = alike._replace(foreign=0.08)
    assert half.telling(20)
    assert not half.telling(50)


@pytest.mark.parametrize("budget", [20 * D, 50 * D])
def test_a_wrong_model_in_doubt_costs_a_few_evaluations(budget: int) -> None:
    def foreign(x: np.ndarray) -> float:
        return float((SCALES * (x + 1) ** 2).sum())

    known = dataclasses.replace(knowledge(), scale_free=True)
    points, result = run(foreign, Transfer(known, OPEN), budget)
    plain, default = run(foreign, "auto", budget)
    first = int(RACE * budget)
    np.testing.assert_array_equal(points[:first], plain[:first])
    assert not result.model.trusted
    assert 0 < result.model.seeds <= FEW_SEEDS
    ours = {point.tobytes() for point in points}
    assert sum(point.tobytes() not in ours for point in plain) <= result.model.seeds
    assert result.fun <= max(100 * default.fun, 1e-12)


def unlike() -> Knowledge:
    """The same, with gradients that point anywhere."""
    return dataclasses.replace(knowledge(), gradient=np.random.default_rng(3).standard_normal((M, D)))


def test_gradients_that_tell_nothing_are_not_paid_for() -> None:
    assert unlike().kin is not None
    _, result = run(waves(minimiser(100)), Transfer(unlike(), OPEN), 20 * D)
    assert np.isnan(result.model.likeness)
    assert np.isnan(result.model.gradient).all()


def test_with_too_few_evaluations_for_a_second_look_a_model_in_doubt_is_not_used() -> None:
    points, result = run(waves(minimiser(100)), Transfer(unlike(), OPEN), 5 * D)
    plain, _ = run(waves(minimiser(100)), "auto", 5 * D)
    np.testing.assert_array_equal(points, plain)
    assert not result.model.trusted
    assert "no time" in result.model.why


def test_the_look_is_over_before_a_model_in_doubt_is_asked() -> None:
    points, result = run(waves(minimiser(100)), Transfer(knowledge(), OPEN), 10 * D)
    plain, _ = run(waves(minimiser(100)), "auto", 10 * D)
    np.testing.assert_array_equal(points[: LEAST_RACE * D], plain[: LEAST_RACE * D])
    assert result.model.seeds >= 1


def test_a_right_model_in_doubt_is_used_without_its_covariance() -> None:
    fun = waves(minimiser(100))
    _, result = run(fun, Transfer(knowledge(), OPEN), 20 * D)
    _, plain = run(fun, "auto", 20 * D)
    assert result.model.trusted
    assert result.model.strategy == "default"
    assert result.fun < plain.fun


def test_without_the_gate_nothing_waits_and_the_plan_is_kept() -> None:
    _, result = run(waves(minimiser(100)), Transfer(knowledge(), OPEN, left_out=("gate",)), 20 * D)
    assert result.model.strategy == "evolution"
    assert result.model.seeds > FEW_SEEDS


def test_ends_that_beat_the_centre_and_not_the_default_are_left_with_the_reason() -> None:
    known = knowledge()
    near = dataclasses.replace(known, ends=0.9 * known.ends, scale_free=True)  # somewhat better than the centre
    _, result = run(lambda x: float((SCALES * (x - 2) ** 2).sum()), Transfer(near, OPEN), 20 * D)
    assert not result.model.trusted
    assert "what the default has found" in result.model.why


def test_the_trace_has_every_evaluation_once_and_says_who_waited() -> None:
    known = dataclasses.replace(knowledge(), scale_free=True)
    _, result = run(lambda x: float((SCALES * x**2).sum()), Transfer(known, OPEN), 20 * D)
    spans = result.trace
    assert [span.begin for span in spans[1:]] == [span.end for span in spans[:-1]]
    assert (spans[0].begin, spans[-1].end) == (0, result.nfev)
    waited = next(span for span in spans if span.reason == "set aside")
    assert sum(span.part == waited.part for span in spans) >= 2


def test_beyond_a_hundred_dimensions_a_closed_model_is_the_default_to_the_bit() -> None:
    d = 120
    closed = Plans.always(Plan(False, "default", "closed"))
    ends = np.random.default_rng(0).random((6, d))
    square = np.full((6, 6), np.nan)
    known = Knowledge(ends, np.zeros(6), np.ones(6), np.full((6, d), np.nan), square, np.zeros((d, d)))

    def fun(x: np.ndarray) -> float:
        return float(((x - 1) ** 2).sum())

    box = [(-2.0, 4.0)] * d
    ours = l2e.minimize(fun, bounds=box, method=Transfer(known, closed), budget=600, rng=0)
    plain = l2e.minimize(fun, bounds=box, budget=600, rng=0)
    np.testing.assert_array_equal(ours.x, plain.x)

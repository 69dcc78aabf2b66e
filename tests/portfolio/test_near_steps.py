"""What follows the seeds where a search begins with a look: the default, with first steps as the ends are spread."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import l2e
from l2e.portfolio.transfer.knowledge import Knowledge, Plan, Plans
from l2e.portfolio.transfer.method import Transfer

D, M, SPREAD = 6, 24, 0.02
NEAR = Plans.always(Plan(True, "near", "open"))


def minimiser(seed: int) -> np.ndarray:
    """In the unit cube, a few hundredths apart."""
    return 0.8 + SPREAD * np.random.default_rng(seed).standard_normal(D)


def bowl(seed: int):
    at = minimiser(seed)
    return lambda x: float((np.geomspace(1, 100, D) * np.abs(x - at) ** 1.5).sum())


def knowledge() -> Knowledge:
    ends, functions = np.stack([minimiser(seed) for seed in range(M)]), [bowl(seed) for seed in range(M)]
    cross = np.array([[f(end) for end in ends] for f in functions])
    gradient = np.stack([-1.5 * np.geomspace(1, 100, D) * (end - 0.5) ** 0.5 for end in ends])
    centre = np.array([f(np.full(D, 0.5)) for f in functions])
    return Knowledge(ends, np.diagonal(cross).copy(), centre, gradient, cross, np.zeros((D, D)))


def run(method: Any, budget: int, seed: int = 100) -> tuple[np.ndarray, Any]:
    points: list[np.ndarray] = []

    def recorded(x: np.ndarray) -> float:
        points.append(x.copy())
        return bowl(seed)(x)

    result = l2e.minimize(recorded, bounds=[(0.0, 1.0)] * D, method=method, budget=budget, rng=2)
    return np.array(points), result


@pytest.mark.parametrize("budget", [5 * D, 20 * D, 50 * D])
def test_a_foreign_gradient_costs_its_differences_and_nothing_else(budget: int) -> None:
    known = knowledge()
    turned = dataclasses.replace(known, gradient=known.gradient * np.where(np.arange(D) % 2, 1, -1))
    ours, result = run(Transfer(turned, NEAR), budget)
    plain, _ = run("auto", budget)
    paid = int(np.isfinite(result.model.gradient).sum())
    assert "points where no member's does" in result.model.why
    assert 3 <= paid <= D
    np.testing.assert_array_equal(ours[0], plain[0])
    same = min(budget - paid, 30 * D)  # what is left decides on the end of a search
    np.testing.assert_array_equal(ours[1 + paid : same + paid], plain[1:same])


def first_of_look(points: np.ndarray, result: Any) -> float:
    """How far the first point of the look is from where it began."""
    look = next(span for span in result.trace if span.part == "look")
    values = [bowl(100)(x) for x in points[: look.begin]]
    return float(np.abs(points[look.begin] - points[int(np.argmin(values))]).max())


@pytest.mark.parametrize("budget", [5 * D, 20 * D])
def test_the_look_begins_with_points_as_near_as_ends_are(budget: int) -> None:
    points, result = run(Transfer(knowledge(), NEAR, left_out=("jump",)), budget)
    assert result.model.trusted
    assert result.model.strategy == "near"
    assert 0.1 * SPREAD < first_of_look(points, result) < 2 * SPREAD


def test_without_the_covariance_its_points_are_as_far_as_always() -> None:
    points, result = run(Transfer(knowledge(), NEAR, left_out=("jump", "covariance")), 20 * D)
    assert first_of_look(points, result) > 5 * SPREAD


def test_it_leaves_less_than_wide_steps_from_the_same_seeds() -> None:
    wide = Plans.always(Plan(True, "default", "open"))
    near_and_wide = [
        [run(Transfer(knowledge(), plans, left_out=("jump",)), 5 * D, seed)[1].fun for seed in range(100, 106)]
        for plans in (NEAR, wide)
    ]
    assert np.mean(np.log(near_and_wide[0])) < np.mean(np.log(near_and_wide[1]))

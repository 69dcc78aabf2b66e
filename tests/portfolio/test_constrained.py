"""The parts of constrained searches: least distances, quadratic programs, the merit."""

import numpy as np
import pytest
from scipy.optimize import minimize

from l2e.portfolio.constrained.distance import project, quadratic_program
from l2e.portfolio.constrained.run import Merit


@pytest.mark.parametrize("seed", range(5))
def test_a_quadratic_program_is_solved_as_by_slsqp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((5, 5))
    hessian, linear = root @ root.T + 0.1 * np.eye(5), 3 * rng.standard_normal(5)
    rows, limits = rng.standard_normal((4, 5)), rng.uniform(0.1, 1, 4)
    step = quadratic_program(hessian, linear, rows, limits, np.full(5, -1.0), np.full(5, 1.0))
    rival = minimize(
        lambda d: linear @ d + d @ hessian @ d / 2,
        np.zeros(5),
        jac=lambda d: linear + hessian @ d,
        bounds=[(-1, 1)] * 5,
        constraints={"type": "ineq", "fun": lambda d: limits - rows @ d},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert step.d == pytest.approx(rival.x, abs=1e-5)
    assert step.left == 0
    assert (step.multipliers >= 0).all()
    assert step.multipliers @ (limits - rows @ step.d) == pytest.approx(0, abs=1e-8)


def test_an_impossible_program_gives_way_as_little_as_it_can() -> None:
    rows = np.asarray([[1.0, 0], [-1.0, 0]])
    step = quadratic_program(np.eye(2), np.zeros(2), rows, np.asarray([-1.0, -1.0]), np.full(2, -5.0), np.full(2, 5.0))
    assert step.left == pytest.approx(1)
    assert step.d == pytest.approx([0, 0], abs=1e-6)


def test_the_nearest_allowed_point_is_found() -> None:
    nearest = project(np.asarray([2.0, 2.0]), np.asarray([[1.0, 1.0]]), np.asarray([1.0]), 5.0)
    assert nearest == pytest.approx([0.5, 0.5])
    assert project(np.zeros(2), np.asarray([[1.0, 1.0]]), np.asarray([-20.0]), 5.0) is None


def test_the_merit_at_a_minimum_has_the_multipliers_of_the_constraint() -> None:
    merit = Merit(np.asarray([False]), np.ones(1), np.zeros(1), 10.0)
    grid = np.linspace(0, 3, 30_001)
    for _ in range(30):  # minimise (x - 2)^2 with x <= 1: the multiplier is 2
        values = merit((grid - 2) ** 2, (grid - 1)[:, None])
        best = grid[values.argmin()]
        merit.follow(np.asarray([best - 1]))
    assert best == pytest.approx(1, abs=1e-3)
    assert merit.multipliers[0] == pytest.approx(2, abs=1e-2)

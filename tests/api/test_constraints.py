"""Constraints: what forms are understood, what a result says, and that linear ones are never broken."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import l2e

BOUNDS = [(-5.0, 5.0)] * 4


def bowl(x: np.ndarray) -> float:
    """Minimum 0 at 1."""
    return float(((x - 1) ** 2).sum())


def ball(x: np.ndarray) -> float:
    """Not positive within a distance of 1 from the origin."""
    return float(x @ x - 1)


FORMS: list[Any] = [
    ball,
    [ball],
    NonlinearConstraint(lambda x: x @ x, -np.inf, 1),
    {"type": "ineq", "fun": lambda x: 1 - x @ x},
    NonlinearConstraint(lambda x: [x @ x, x[0]], [-np.inf, -3], [1, 3]),
]


@pytest.mark.parametrize("constraints", FORMS)
def test_every_form_of_a_constraint_gives_the_same_minimum(constraints: Any) -> None:
    result = l2e.minimize(bowl, bounds=BOUNDS, constraints=constraints, budget=150, rng=0)
    assert result.fun == pytest.approx(1, abs=1e-7)
    assert result.x == pytest.approx([0.5] * 4, abs=1e-5)
    assert result.feasible
    assert result.violation == 0
    assert ball(result.x) <= 0
    assert result.multipliers[0] == pytest.approx(1, abs=1e-3)


def test_constraints_may_be_returned_with_the_value() -> None:
    calls = 0

    def both(x: np.ndarray) -> tuple[float, list[float]]:
        nonlocal calls
        calls += 1
        return bowl(x), [x[0] - 0.5, x @ x - 2]

    result = l2e.minimize(both, bounds=BOUNDS, constraints=l2e.Returned(2), budget=250, rng=0)
    assert calls == result.nfev == 250
    assert result.fun == pytest.approx(0.4174243050, abs=1e-7)
    assert result.feasible


def test_equations_hold() -> None:
    circle = NonlinearConstraint(lambda x: x @ x, 1, 1)
    plane = LinearConstraint(np.asarray([[1.0, -1, 0, 0]]), 0.2, 0.2)
    result = l2e.minimize(bowl, bounds=BOUNDS, constraints=[circle, plane], budget=300, rng=0)
    assert result.feasible
    assert result.x @ result.x == pytest.approx(1, abs=1e-5)
    assert result.x[0] - result.x[1] == pytest.approx(0.2, abs=1e-5)


def test_no_point_is_evaluated_outside_of_linear_constraints() -> None:
    seen: list[np.ndarray] = []
    rows, limits = np.asarray([[1.0, 1, 1, 1], [1, -1, 0, 0]]), np.asarray([2.0, 0.5])
    result = l2e.minimize(
        lambda x: (seen.append(x), bowl(x) + np.cos(9 * x).sum())[1],
        [4.0, 4, 4, 4],
        bounds=BOUNDS,
        constraints=LinearConstraint(rows, -np.inf, limits),
        budget=400,
        rng=0,
    )
    most = (np.asarray(seen) @ rows.T - limits).max()
    assert most <= 1e-6  # differences of quasi-Newton
    assert (rows @ result.x <= limits).all()


def test_an_infeasible_problem_says_so() -> None:
    result = l2e.minimize(bowl, bounds=BOUNDS, constraints=lambda x: ball(x) + 2, budget=80, rng=0)
    assert not result.feasible
    assert not result.success
    assert result.violation == pytest.approx(1, abs=1e-3)
    assert "may have no solution" in result.message
    with pytest.raises(ValueError, match="contradict"):
        l2e.minimize(bowl, bounds=BOUNDS, constraints=LinearConstraint(np.ones((1, 4)), 50, np.inf))


def test_the_best_point_is_an_allowed_one_however_good_others_are() -> None:
    seen: list[tuple[float, float]] = []

    def f(x: np.ndarray) -> float:
        seen.append((bowl(x), ball(x)))
        return bowl(x)

    result = l2e.minimize(f, bounds=BOUNDS, constraints=ball, budget=60, rng=0)
    assert result.fun == min(value for value, out in seen if out <= 0)
    assert (np.diff(result.history.fun) < 0).all()


def test_named_parameters_integers_and_constraints_together() -> None:
    space = l2e.Space(n=l2e.Int(0, 50), y=(0, 9), kind=l2e.Choice("a", "b", "c"))

    def cost(n: int, y: float, kind: str) -> float:
        return (n - 31.2) ** 2 + (y - 3) ** 2 + {"a": 0.1, "b": 0, "c": 5}[kind]

    result = l2e.minimize(
        cost, space, constraints=lambda n, y, kind: n + y - (20.5 if kind == "b" else 30.5), budget=400, rng=0
    )
    assert result.params["kind"] == "a"
    assert result.params["n"] == 29
    assert result.params["y"] == pytest.approx(1.5)
    assert result.feasible


def test_a_pressure_vessel_is_designed() -> None:
    inch = l2e.Float(0.0625, 99 * 0.0625, step=0.0625)
    space = l2e.Space(shell=inch, head=inch, r=(10, 200), length=(10, 200))

    def cost(shell: float, head: float, r: float, length: float) -> float:
        return 0.6224 * shell * r * length + 1.7781 * head * r**2 + 3.1661 * shell**2 * length + 19.84 * shell**2 * r

    def limits(shell: float, head: float, r: float, length: float) -> list[float]:
        volume = np.pi * r**2 * length + 4 / 3 * np.pi * r**3
        return [0.0193 * r - shell, 0.00954 * r - head, 1 - volume / 1_296_000, length / 240 - 1]

    result = l2e.minimize(cost, space, constraints=limits, budget=800, rng=0)
    assert result.fun == pytest.approx(6059.714335, rel=1e-4)
    assert result.feasible


def test_values_that_fail_outside_do_no_harm() -> None:
    with pytest.warns(RuntimeWarning):
        result = l2e.minimize(
            lambda x: bowl(x) if ball(x) <= 0.5 else np.nan,
            [0.1, 0.1, 0.1, 0.1],
            bounds=BOUNDS,
            constraints=ball,
            budget=200,
            rng=0,
        )
    assert result.fun == pytest.approx(1, abs=1e-5)


def test_the_largest_value_under_constraints() -> None:
    assert l2e.maximize(np.sum, bounds=BOUNDS, constraints=ball, budget=100, rng=0).fun == pytest.approx(2, abs=1e-6)
    returned = l2e.maximize(
        lambda x: (x.sum(), [ball(x)]), bounds=BOUNDS, constraints=l2e.Returned(1), budget=100, rng=0
    )
    assert returned.fun == pytest.approx(2, abs=1e-6)


@pytest.mark.parametrize("start", [[0.0] * 4, [0.3, -0.2, 0.1, 0.5], [-0.9, 0, 0, 0], [4.0, -4, 4, -4]])
def test_a_linear_function_has_no_curvature_to_be_misled_by(start: list[float]) -> None:
    slopes = np.asarray([1.0, 2, -1, 0.5])
    result = l2e.minimize(
        lambda x: (slopes @ x, [ball(x)]), start, bounds=BOUNDS, constraints=l2e.Returned(1), budget=120, rng=0
    )
    assert result.fun == pytest.approx(-np.linalg.norm(slopes), abs=1e-6)
    assert result.feasible


def test_the_same_seed_gives_the_same_points() -> None:
    first, second = (l2e.minimize(bowl, bounds=BOUNDS, constraints=ball, budget=90, rng=1).x for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraints": 3}, "a constraint is a function"),
        ({"constraints": {"type": "less", "fun": ball}}, "allowed: eq, ineq"),
        ({"constraints": LinearConstraint(np.ones((1, 3)), 0, 1)}, "must have 4 columns"),
        ({"constraints": ball, "method": "scipy-de"}, "for the default method"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        l2e.minimize(bowl, bounds=BOUNDS, **options)


def test_an_announced_number_of_constraints_is_held_to() -> None:
    with pytest.raises(l2e.ObjectiveError, match="must return 2 constraints"):
        l2e.minimize(lambda x: (bowl(x), [1.0]), bounds=BOUNDS, constraints=l2e.Returned(2), budget=5)

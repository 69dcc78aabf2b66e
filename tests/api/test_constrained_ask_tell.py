"""Constraints where the loop is the user's, where workers evaluate, and after a kill."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import l2e

BOUNDS = [(-5.0, 5.0)] * 3
BEST = 3 - 2 * np.sqrt(3) + 1  # of |x - 1|^2 in the unit ball


def value(x: np.ndarray) -> float:
    return float(((x - 1) ** 2).sum())


def outside(x: np.ndarray) -> float:
    return float(x @ x - 1)


def search(opt: l2e.Optimizer, rounds: int = 10**6) -> Any:
    """Ask and tell, with the constraint if it is one that is told."""
    while not opt.stop() and rounds:
        points = opt.ask()
        opt.tell(points, [value(x) for x in points], [[outside(x)] for x in points])
        rounds -= 1
    return opt.result()


def test_constraints_are_told_with_the_values() -> None:
    result = search(l2e.Optimizer(bounds=BOUNDS, constraints=l2e.Returned(1), budget=150, rng=0))
    assert result.feasible
    assert outside(result.x) <= 0
    assert result.fun == pytest.approx(BEST, abs=1e-6)
    assert result.multipliers == pytest.approx([np.sqrt(3) - 1], abs=1e-3)


def test_functions_need_not_be_told() -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, constraints=[outside, LinearConstraint([[1, 0, 0]], -1, 0.2)], budget=150, rng=0)
    seen = []
    while not opt.stop():
        points = opt.ask()
        seen.extend(points)
        opt.tell(points, [value(x) for x in points])
    result = opt.result()
    assert result.feasible
    assert max(x[0] for x in seen[:-1]) < 0.2 + 1e-6
    assert result.x[0] == pytest.approx(0.2, abs=1e-6)
    assert outside(result.x) <= 0


def test_both_doors_ask_for_the_same_points() -> None:
    seen: list[np.ndarray] = []

    def both(x: np.ndarray) -> tuple[float, list[float]]:
        seen.append(x.copy())
        return value(x), [outside(x)]

    l2e.minimize(both, bounds=BOUNDS, constraints=l2e.Returned(1), budget=60, rng=4)
    result = search(l2e.Optimizer(bounds=BOUNDS, constraints=l2e.Returned(1), budget=60, rng=4))
    assert np.array_equal(result.evaluations.x, np.asarray(seen))


def test_a_problem_without_an_allowed_point_says_so() -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, constraints=l2e.Returned(1), budget=40, rng=0)
    while not opt.stop():
        points = opt.ask()
        opt.tell(points, [value(x) for x in points], [[1 + x @ x] for x in points])
    result = opt.result()
    assert not result.feasible
    assert not result.success
    assert result.violation >= 1
    assert "no solution" in result.message


@pytest.mark.parametrize("returned", [True, False])
def test_a_search_with_constraints_is_saved_and_goes_on_as_it_would_have(returned: bool, tmp_path: Path) -> None:
    given: Any = l2e.Returned(1) if returned else outside

    def go(opt: l2e.Optimizer, rounds: int = 10**6) -> Any:
        while not opt.stop() and rounds:
            points = opt.ask()
            rows = [[[outside(x)] for x in points]] if returned else []
            opt.tell(points, [value(x) for x in points], *rows)
            rounds -= 1
            opt.save(tmp_path / "search.l2e")
        return opt.result()

    whole = go(l2e.Optimizer(bounds=BOUNDS, constraints=given, budget=80, rng=1))
    go(l2e.Optimizer(bounds=BOUNDS, constraints=given, budget=80, rng=1), rounds=9)
    rest = go(l2e.Optimizer.load(tmp_path / "search.l2e", constraints=given))
    assert np.array_equal(rest.x, whole.x)
    assert np.array_equal(rest.evaluations.x, whole.evaluations.x)
    with pytest.raises(l2e.CheckpointError, match="with constraints"):
        l2e.Optimizer.load(tmp_path / "search.l2e")


def test_named_parameters_are_told_with_their_constraints(tmp_path: Path) -> None:
    space = l2e.Space(n=l2e.Int(0, 20), y=(0.0, 1.0))
    opt = l2e.Optimizer(bounds=space, constraints=l2e.Returned(1), budget=60, rng=0)
    while not opt.stop():
        points = opt.ask()
        opt.tell(points, [(p["n"] - 13) ** 2 + p["y"] for p in points], [[p["n"] - 10.5 + p["y"]] for p in points])
        if opt.result().nfev < 30:
            opt.save(tmp_path / "search.l2e")
    result = opt.result()
    assert result.feasible
    assert result.params["n"] == 10
    loaded = l2e.Optimizer.load(tmp_path / "search.l2e", bounds=space, constraints=l2e.Returned(1))
    assert loaded.result().feasible


def test_several_workers_may_be_told_in_part() -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, constraints=l2e.Returned(1), budget=200, rng=0, workers=3)
    out: list[np.ndarray] = []
    while not opt.stop():
        while len(out) < 3 and len(out) + opt.result().nfev < 200:
            out.extend(opt.ask(1))
        x = out.pop(len(out) // 2)  # not the oldest
        opt.tell([x], [value(x)], [[outside(x)]])
    result = opt.result()
    assert result.feasible
    assert result.fun == pytest.approx(BEST, abs=1e-3)


def test_a_failed_evaluation_has_no_constraints() -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, constraints=l2e.Returned(1), budget=120, rng=0)
    number = 0
    while not opt.stop():
        points = opt.ask()
        number += 1
        broken = number % 5 == 4
        values = [None if broken else value(x) for x in points]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of the first failure
            opt.tell(points, values, [None if broken else [outside(x)] for x in points])
    result = opt.result()
    assert result.feasible
    assert result.n_failed > 3
    assert result.fun < BEST + 0.2


def test_what_makes_no_sense_is_refused() -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, constraints=l2e.Returned(2), budget=20, rng=0)
    points = opt.ask()
    with pytest.raises(ValueError, match="told with the values"):
        opt.tell(points, [1.0] * len(points))
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        opt.tell(points[:1], [1.0], [[1.0]])
    plain = l2e.Optimizer(bounds=BOUNDS, budget=20, rng=0)
    with pytest.raises(ValueError, match="announced"):
        plain.tell(plain.ask(), [1.0], [[1.0]])


def test_workers_and_a_checkpoint_with_constraints(tmp_path: Path) -> None:
    """The same points with workers, after a stop, and without either."""
    options: dict[str, Any] = {"bounds": BOUNDS, "constraints": outside, "budget": 60, "rng": 2}
    there = l2e.minimize(value, **options, workers=2)
    assert there.feasible
    stopped = l2e.minimize(
        value, **options, workers=2, checkpoint=tmp_path / "run.l2e", callback=lambda seen: seen.nfev > 20
    )
    assert stopped.nfev < 60
    resumed = l2e.minimize(value, **options, workers=2, checkpoint=tmp_path / "run.l2e")
    assert np.array_equal(resumed.evaluations.x, there.evaluations.x)
    assert resumed.fun == there.fun

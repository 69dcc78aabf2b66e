"""Many problems at once."""

import os
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.api.many import _Line


class Bowl:
    """Minimum 0 at a point; it can be sent to another process."""

    def __init__(self, middle: float):
        self.middle = middle

    def __call__(self, x: np.ndarray) -> float:
        return float(((x - self.middle) ** 2).sum())


def test_many_problems_are_solved_each_with_a_seed_of_its_own() -> None:
    bowls = [Bowl(i / 10) for i in range(20)]
    results = l2e.minimize_many(bowls, bounds=[(-5, 5)] * 3, budget=40, rng=0)
    assert [result.fun < 1e-8 for result in results] == [True] * 20
    fewer = l2e.minimize_many(bowls[:3], bounds=[(-5, 5)] * 3, budget=40, rng=0)
    assert all(np.array_equal(one.x, other.x) for one, other in zip(fewer, results, strict=False))


def test_problems_may_have_arguments_of_their_own() -> None:
    calls = [{"fun": Bowl(1), "bounds": [(-5, 5)] * d} for d in (2, 3)]
    results = l2e.minimize_many(calls, budget=50, rng=0)
    assert [len(result.x) for result in results] == [2, 3]
    with pytest.raises(ValueError, match="seeds"):
        l2e.minimize_many([{"fun": Bowl(1), "rng": 0}], bounds=[(0, 1)])


def test_processes_give_the_same_results() -> None:
    bowls = [Bowl(i) for i in range(3)]
    here = l2e.minimize_many(bowls, bounds=[(-5, 5)] * 2, budget=30, rng=0)
    there = l2e.minimize_many(bowls, bounds=[(-5, 5)] * 2, budget=30, rng=0, workers=2)
    assert all(np.array_equal(one.x, other.x) for one, other in zip(here, there, strict=True))


class Fragile(Bowl):
    """Cannot be solved at all, but for the problem that it has become."""

    def __call__(self, x: np.ndarray) -> float:
        if self.middle == 1:
            raise ValueError("no such bowl")
        if self.middle == 2:
            os._exit(3)
        return Bowl.__call__(self, x)


def test_a_failing_search_is_a_result_and_the_others_are_solved() -> None:
    seen: list[int] = []
    bowls = [Fragile(i) for i in (0, 1, 3)]
    results = l2e.minimize_many(
        bowls, bounds=[(-5, 5)] * 2, budget=40, rng=0, on_error="raise", on_result=lambda i, result: seen.append(i)
    )
    assert [result.success for result in results] == [True, False, True]
    assert "no such bowl" in results[1].message
    assert isinstance(results[1].error, l2e.ObjectiveError)
    assert results[1].status == -3
    assert seen == [0, 1, 2]
    with pytest.raises(l2e.ObjectiveError, match="no such bowl"):
        l2e.minimize_many(bowls, bounds=[(-5, 5)] * 2, budget=40, rng=0, on_error="raise", errors="raise")


def test_an_error_of_all_searches_is_raised() -> None:
    with pytest.raises(ValueError, match="bounds"):
        l2e.minimize_many([Bowl(1), Bowl(2)], budget=40, rng=0)
    with pytest.raises(ValueError, match="keep"):
        l2e.minimize_many([Bowl(1)], budget=40, rng=0, errors="ignore")
    assert l2e.minimize_many([], budget=40) == []


def test_a_process_that_dies_costs_its_problem_only() -> None:
    bowls = [Fragile(i) for i in (0, 2, 3, 4)]
    results = l2e.minimize_many(bowls, bounds=[(-5, 5)] * 2, budget=30, rng=0, workers=2)
    assert [result.success for result in results] == [True, False, True, True]
    assert "process died" in results[1].message
    alone = l2e.minimize_many([bowls[0], bowls[3]], bounds=[(-5, 5)] * 2, budget=30, rng=0)
    assert np.array_equal(results[0].x, alone[0].x)


def test_the_line_says_how_many_are_solved() -> None:
    line = _Line(False, 3)
    with line:
        line.count(failed=False)
        line.count(failed=True)
    assert line.text() == "l2e: 2 of 3 problems | 1 failed"


def shifted(x: Any, shift: Any) -> Any:
    return ((x - shift) ** 2).sum()


def with_hole(x: Any, shift: Any) -> Any:
    return jnp.where(x[0] > 3, jnp.nan, shifted(x, shift))


def in_jax(count: int, dimension: int = 3, function: Any = shifted) -> list[Any]:
    rng = np.random.default_rng(0)
    space = l2e.box([(-5, 5)] * dimension)
    return [l2e.JAXFunction(function, space, rng.uniform(-2, 2, dimension)) for _ in range(count)]


@pytest.mark.filterwarnings("ignore:the objective returned nan")
@pytest.mark.parametrize("method", ["cmaes", "lshade"])
def test_problems_of_one_structure_are_solved_in_one_program(method: str) -> None:
    problems = in_jax(6, function=with_hole)
    one_by_one = l2e.minimize_many(problems, rng=1, budget=150, method=method, together=False)
    together = l2e.minimize_many(problems, rng=1, budget=150, method=method, together=True)
    assert sum(result.n_failed for result in together) > 0
    for alone, beside in zip(one_by_one, together, strict=True):
        assert beside.nfev == alone.nfev
        assert beside.reason == alone.reason
        assert beside.n_failed == alone.n_failed
        assert len(beside.evaluations.x) == beside.nfev
        assert beside.evaluations.x[:40] == pytest.approx(alone.evaluations.x[:40], abs=1e-9)
        assert beside.fun == pytest.approx(alone.fun, rel=1e-3, abs=1e-9)
        assert beside.keys() == alone.keys()


def test_a_converged_run_ends_before_its_budget_beside_others() -> None:
    results = l2e.minimize_many(in_jax(3, 2), rng=1, budget=3000, method="cmaes")
    assert all(result.reason == "converged" and result.nfev < 3000 and result.fun < 1e-12 for result in results)


def test_structures_and_budgets_may_differ() -> None:
    mixed = [*in_jax(2), *in_jax(2, dimension=2), {"fun": in_jax(1)[0], "budget": 50}]
    results = l2e.minimize_many(mixed, rng=1, budget=90, method="de")
    assert [len(result.x) for result in results] == [3, 3, 2, 2, 3]
    assert [result.nfev for result in results] == [90, 90, 90, 90, 50]


@pytest.mark.parametrize(
    ("problems", "options", "message"),
    [
        ([Bowl(1)], {"bounds": [(0, 1)]}, "JAX problems"),
        (in_jax(2), {"method": "auto"}, "native method"),
        (in_jax(2), {"method": "de", "target": 1.0}, "not with target"),
        (in_jax(2), {"method": "de", "budget": None}, "needs a budget"),
    ],
)
def test_what_cannot_be_solved_together_is_named(problems: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        l2e.minimize_many(problems, **{"rng": 0, "budget": 60, **options}, together=True)

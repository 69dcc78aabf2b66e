"""Many problems at once."""

import numpy as np
import pytest

import l2e


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

"""Uncertain values, and many problems at once."""

from typing import Any

import numpy as np
import pytest

import l2e

BOUNDS = [(-5.0, 5.0)] * 5
BEST = np.asarray([1, -2, 0.5, 3, -1.0])
WEIGHTS = 10 ** np.linspace(0, 2, 5)


def true(x: np.ndarray) -> float:
    """Minimum 0 at `BEST`."""
    return float((WEIGHTS * (x - BEST) ** 2).sum())


def search(noisy: bool, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return l2e.minimize(lambda x: true(x) + rng.standard_normal(), bounds=BOUNDS, budget=600, rng=seed, noisy=noisy)


def test_the_recommended_point_is_better_than_the_luckiest_value() -> None:
    gaps = {noisy: [true(search(noisy, seed).x) for seed in range(5)] for noisy in (False, True)}
    assert np.median(gaps[True]) < np.median(gaps[False])


def test_the_value_of_a_recommendation_is_a_mean_with_its_error() -> None:
    result = search(noisy=True, seed=0)
    assert result.nfev == 600
    assert result.fun_evaluations > 20
    assert 0 < result.fun_error < 0.4
    assert abs(result.fun - true(result.x)) < 5 * result.fun_error


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

"""Random search: uniform, independent of values, and it begins where it is told."""

import jax
import numpy as np
import pytest
from scipy import stats

from l2e.algorithms import RandomSearch
from l2e.core.box import box
from l2e.core.traced.search import AlgorithmSearch

BOUNDS = [(-1.0, 9.0), (100.0, 101.0)]


def test_points_are_uniform_in_the_box() -> None:
    driver = AlgorithmSearch(RandomSearch(500), box(BOUNDS), jax.random.key(0))
    batches = []
    for _ in range(4):
        batches.append(driver.ask())
        driver.tell(np.zeros(500))
    points = np.concatenate(batches)
    for column, (low, high) in zip(points.T, BOUNDS, strict=True):
        assert stats.kstest((column - low) / (high - low), "uniform").pvalue > 0.01
    assert len(np.unique(points[:, 0])) == 2000


def test_values_do_not_matter() -> None:
    left, right = (AlgorithmSearch(RandomSearch(5), box(BOUNDS), jax.random.key(0)) for _ in range(2))
    for generation in range(3):
        np.testing.assert_array_equal(left.ask(), right.ask())
        left.tell(np.zeros(5))
        right.tell(np.full(5, np.inf if generation else 7.0))


def test_the_start_is_the_first_point_once() -> None:
    start = np.array([3.0, 100.5])
    driver = AlgorithmSearch(RandomSearch(5), box(BOUNDS), jax.random.key(0), start)
    np.testing.assert_allclose(driver.ask()[0], start)
    driver.tell(np.zeros(5))
    assert not np.isclose(driver.ask()[0], start).any()


@pytest.mark.parametrize("size", [0, -3, 2.5, True])
def test_bad_sizes_are_refused(size) -> None:
    with pytest.raises(ValueError, match="population_size"):
        RandomSearch(size)

"""L-SHADE: its schedule, its memory by hand, its archive, its parameter distributions, failures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.batches import batch_sizes
from scipy import stats

from l2e.algorithms.lshade import (
    LSHADE,
    TERMINAL,
    Archive,
    Memory,
    draw_parameters,
    improvement_weights,
    learn,
    lehmer_mean,
    remember,
)
from l2e.core.box import box
from l2e.core.evaluator import Evaluator
from l2e.core.traced import pack, runtime
from l2e.core.traced.search import AlgorithmSearch

SPACE = box([(-5, 5)] * 2)


def sphere(points: np.ndarray) -> np.ndarray:
    return (points**2).sum(axis=1)


def memory_of(scale, crossover, position: int = 0) -> Memory:
    return Memory(jnp.asarray(scale), jnp.asarray(crossover), jnp.asarray(position, jnp.int32))


@pytest.mark.parametrize(("size", "budget"), [(36, 1000), (36, 997), (90, 5000), (4, 50), (36, 20)])
def test_the_population_falls_linearly_to_four_and_the_budget_is_met(size, budget) -> None:
    driver = AlgorithmSearch(LSHADE(size, budget), SPACE, jax.random.key(0))
    evaluator = Evaluator(sphere, SPACE, budget, vectorized=True)
    sizes = batch_sizes(driver, evaluator)
    assert evaluator.used == budget
    now, used, expected = size, 0, []
    while used < budget:
        used += now
        now = max(round(size + (4 - size) * used / budget), 4)
        expected.append(now)
    np.testing.assert_array_equal(sizes, expected[: len(sizes)])
    assert len(sizes) >= len(expected) - 1  # the last batch may be cut by the meter
    assert expected[-1] == 4


def test_it_goes_on_with_four_after_its_budget() -> None:
    driver = AlgorithmSearch(LSHADE(12, 60), SPACE, jax.random.key(0))
    for _ in range(40):
        driver.tell(sphere(driver.ask()))
    assert len(driver.ask()) == 4
    assert np.isfinite(driver.ask()).all()


def test_the_population_is_sorted_and_the_best_never_lost() -> None:
    driver, best = AlgorithmSearch(LSHADE(20, 400), SPACE, jax.random.key(1)), np.inf
    for _ in range(30):
        values = sphere(driver.ask())
        best = min(best, values.min())
        driver.tell(values)
        state = driver.state
        kept = np.asarray(state.values)
        assert (np.diff(kept[: int(state.size)]) >= 0).all()
        assert kept[0] == best
        assert np.isinf(kept[int(state.size) :]).all()


def test_the_memory_by_hand() -> None:
    """Improvements 2 and 1 weigh 2/3 and 1/3; a parent that failed, and a worse trial, teach nothing.

    F: (2/3 0.4^2 + 1/3 0.7^2) / (2/3 0.4 + 1/3 0.7) = 0.54; CR: (2/3 0.2^2 + 1/3 0.8^2) / (2/3 0.2 + 1/3 0.8) = 0.6.
    """
    with runtime.float64():
        before, after = jnp.asarray([3.0, 5.0, 4.0, np.inf]), jnp.asarray([1.0, 4.0, 6.0, 0.0])
        improved = jnp.asarray([True, True, False, False])
        scale, crossover = jnp.asarray([0.4, 0.7, 0.9, 1.0]), jnp.asarray([0.2, 0.8, 0.9, 1.0])
        memory = learn(memory_of([0.5, 0.5], [0.5, 0.5], 1), before, after, improved, scale, crossover)
    np.testing.assert_allclose(memory.scale, [0.5, 0.54])
    np.testing.assert_allclose(memory.crossover, [0.5, 0.6])
    assert int(memory.position) == 0


def test_the_optimizer_ignores_failed_parents() -> None:
    """In the state too: the initial population, and a generation after total failure, teach nothing."""
    optimizer = LSHADE(8, 1000)
    with runtime.float64():
        state = optimizer.init(SPACE, jax.random.key(0))
        for values in (np.full(8, np.inf), np.arange(8.0)):
            state = optimizer.tell(state, jnp.asarray(values))
            np.testing.assert_array_equal(state.memory.scale, np.full(6, 0.5))
            assert int(state.archive.count) == 0
        state = optimizer.tell(state, jnp.asarray([-1.0, *[np.inf] * 7]))
    assert int(state.archive.count) == 1
    assert int(state.memory.position) == 1


def test_a_generation_without_success_leaves_the_memory() -> None:
    with runtime.float64():
        old = memory_of([0.3, 0.4], [0.1, TERMINAL], 1)
        nothing = jnp.zeros(3, bool)
        new = learn(old, jnp.full(3, jnp.inf), jnp.full(3, jnp.inf), nothing, jnp.ones(3), jnp.ones(3))
    for a, b in zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_terminal_value_comes_from_zero_rates_and_stays() -> None:
    with runtime.float64():
        before, after, improved = jnp.asarray([2.0, 2.0]), jnp.asarray([1.0, 1.0]), jnp.ones(2, bool)
        half, zero = jnp.full(2, 0.5), jnp.zeros(2)
        memory = learn(memory_of([0.5], [0.5]), before, after, improved, half, zero)
        assert float(memory.crossover[0]) == TERMINAL
        memory = learn(memory, before, after, improved, half, half)
        assert float(memory.crossover[0]) == TERMINAL
        _, crossover = draw_parameters(jax.random.key(0), memory, 100)
    assert (np.asarray(crossover) == 0).all()


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1.7e308])
def test_weights_survive_tiny_and_huge_improvements(scale) -> None:
    with runtime.float64():
        before, after = jnp.asarray([1.0, 0.5, 9.0]) * scale, jnp.asarray([-1.0, 0.0, 9.0]) * scale
        weights = np.asarray(improvement_weights(before, after, jnp.asarray([True, True, False])))
        mean = float(lehmer_mean(jnp.asarray(weights), jnp.asarray([0.5, 0.5, 0.9])))
    assert weights[2] == 0
    np.testing.assert_allclose(weights.sum(), 1)
    np.testing.assert_allclose(mean, 0.5)


def test_scales_follow_a_cauchy_distribution_drawn_again_until_positive() -> None:
    with runtime.float64():
        scale, crossover = draw_parameters(jax.random.key(0), memory_of([0.15], [0.3]), 20_000)
    scale, crossover = np.asarray(scale), np.asarray(crossover)
    reference = 0.15 + 0.1 * np.random.default_rng(0).standard_cauchy(60_000)
    reference = np.minimum(reference[reference > 0], 1)
    assert (scale > 0).all()
    assert abs((scale == 1).mean() - (reference == 1).mean()) < 0.005
    assert stats.ks_2samp(scale[scale < 1], reference[reference < 1]).pvalue > 0.01
    inside = crossover[(crossover > 0) & (crossover < 1)]
    assert abs(np.mean(inside) - 0.3) < 0.005
    assert abs((crossover == 0).mean() - stats.norm.cdf(-3)) < 0.001


def test_the_archive_keeps_improved_parents_up_to_its_capacity() -> None:
    with runtime.float64():
        parents = jnp.arange(6.0)[:, None]
        improved = jnp.asarray([True, False, True, True, False, False])
        empty = Archive(jnp.full((8, 1), -1.0), jnp.asarray(0, jnp.int32))
        some = remember(empty, parents, improved, jnp.asarray(8), jax.random.key(0))
        assert int(some.count) == 3
        assert set(np.asarray(some.points[:3, 0])) == {0.0, 2.0, 3.0}
        more = remember(some, parents + 10, jnp.ones(6, bool), jnp.asarray(8), jax.random.key(1))
        assert int(more.count) == 8
        union = {0.0, 2.0, 3.0, *np.arange(10.0, 16.0)}
        assert set(np.asarray(more.points[:, 0])) <= union
        assert len(set(np.asarray(more.points[:, 0]))) == 8
        less = remember(more, parents, jnp.zeros(6, bool), jnp.asarray(5), jax.random.key(2))
    assert int(less.count) == 5
    assert set(np.asarray(less.points[:5, 0])) <= set(np.asarray(more.points[:, 0]))


def test_the_archive_shrinks_with_the_population() -> None:
    driver = AlgorithmSearch(LSHADE(30, 600), SPACE, jax.random.key(0))
    for _ in range(60):
        driver.tell(sphere(driver.ask()))
        state = driver.state
        assert int(state.archive.count) <= round(2.6 * int(state.size))
    assert int(state.archive.count) == 10


def test_without_an_archive() -> None:
    driver = AlgorithmSearch(LSHADE(12, 300, archive_rate=0), SPACE, jax.random.key(0))
    for _ in range(30):
        driver.tell(sphere(driver.ask()))
    assert int(driver.state.archive.count) == 0
    assert float(driver.state.values[0]) < 1e-2


def test_another_budget_is_another_schedule_but_not_another_program() -> None:
    short, long = LSHADE(12, 100), LSHADE(12, 200)
    assert pack.split(short)[1] == pack.split(long)[1]
    with runtime.float64():
        sizes = []
        for optimizer in (short, long):
            state = optimizer.tell(optimizer.init(SPACE, jax.random.key(0)), jnp.arange(12.0))
            sizes.append(int(optimizer.wanted(state)))
    assert sizes == [round(12 - 8 * 0.12), round(12 - 8 * 0.06)] == [11, 12]


def test_default_population() -> None:
    assert LSHADE.default_population(10) == 180


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"population_size": 3, "budget": 100}, "population_size"),
        ({"population_size": 20, "budget": 100, "min_population_size": 3}, "min_population_size"),
        ({"population_size": 20, "budget": 0}, "budget"),
        ({"population_size": 20, "budget": 100, "memory_size": 0}, "memory_size"),
        ({"population_size": 20, "budget": 100, "archive_rate": -1}, "archive_rate"),
        ({"population_size": 20, "budget": 100, "pbest_fraction": 1.5}, "pbest_fraction"),
    ],
)
def test_bad_arguments_are_refused(arguments, word) -> None:
    with pytest.raises(ValueError, match=word):
        LSHADE(**arguments)

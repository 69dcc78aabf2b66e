"""Differential evolution: its vectors, its crossover, its replacement, its repairs and its presets."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.de import DE, repaired, tournaments
from l2e.algorithms.population import distinct_others
from l2e.core.box import box
from l2e.core.traced import runtime
from l2e.core.traced.search import AlgorithmSearch

UNIT = box([(0, 1)] * 4)


def after_one_generation(optimizer: DE, values: np.ndarray, seed: int = 0):
    """The state before and after the initial population got these values."""
    with runtime.float64():
        first = optimizer.init(UNIT, jax.random.key(seed))
        return first, optimizer.tell(first, jnp.asarray(values))


def test_other_individuals_are_distinct_and_uniform() -> None:
    targets = jnp.tile(jnp.arange(6), 5000)
    drawn = np.stack([np.asarray(targets), *map(np.asarray, distinct_others(jax.random.key(0), targets, [6, 6, 9]))])
    assert all((a != b).all() for a, b in itertools.combinations(drawn, 2))
    assert drawn[1:3].min() == 0
    assert drawn[1:3].max() == 5
    for row, size in ((1, 6), (2, 6), (3, 9)):
        counts = np.bincount(drawn[row][drawn[0] == 2], minlength=size)
        assert counts[2] == 0
        others = np.delete(counts, 2)
        expected = np.full(size - 1, 5000 / (size - 1)) if row < 3 else None
        if expected is not None:
            np.testing.assert_allclose(others, expected, rtol=0.12)
        else:  # two of the first six are taken, the last three never are
            np.testing.assert_allclose(counts[6:], 5000 / 6, rtol=0.15)


def test_rand_1_is_a_base_and_one_scaled_difference() -> None:
    optimizer = DE(6, repair="reflect", scale=0.25, crossover=1.0)
    first, state = after_one_generation(optimizer, np.arange(6.0))
    population, trials = np.asarray(first.population), np.asarray(state.trials)
    for i in range(6):
        others = [j for j in range(6) if j != i]
        made = [population[a] + 0.25 * (population[b] - population[c]) for a, b, c in itertools.permutations(others, 3)]
        mirrored = 1 - np.abs(1 - np.mod(made, 2))
        assert np.abs(mirrored - trials[i]).max(axis=1).min() < 1e-12


def test_current_to_pbest_moves_towards_the_best() -> None:
    optimizer = DE(6, "current-to-pbest/1/bin", "reflect", scale=0.25, crossover=1.0, pbest_fraction=0.0)
    first, state = after_one_generation(optimizer, np.array([3.0, 0.5, 9, 4, 5, np.inf]))
    population, trials = np.asarray(first.population), np.asarray(state.trials)
    for i in range(6):
        base = population[i] + 0.25 * (population[1] - population[i])  # individual 1 is the best
        others = [j for j in range(6) if j != i]
        made = [base + 0.25 * (population[b] - population[c]) for b, c in itertools.permutations(others, 2)]
        assert np.abs(1 - np.abs(1 - np.mod(made, 2)) - trials[i]).max(axis=1).min() < 1e-12


def test_tournament_winners_have_the_right_odds() -> None:
    """Of 3 draws with replacement out of 5, the best individual wins with probability 1 - (4/5)^3 = 0.488."""
    values = jnp.asarray([4.0, 1.0, 0.0, 3.0, 2.0])
    winners = np.asarray(tournaments(jax.random.key(0), values, 4000))
    assert winners.shape == (4000, 3)
    assert abs((winners == 2).mean() - 0.488) < 0.02
    assert abs((winners == 0).mean() - 1 / 125) < 0.004


def test_without_crossover_exactly_one_gene_is_the_mutants() -> None:
    first, state = after_one_generation(DE(30, crossover=0.0), np.arange(30.0))
    changed = np.asarray(state.trials) != np.asarray(first.population)
    assert (changed.sum(axis=1) == 1).all()
    assert changed.any(axis=0).all()  # and any gene may be the forced one


def test_trials_replace_targets_unless_they_are_worse_or_failed() -> None:
    optimizer = DE(4)
    _, state = after_one_generation(optimizer, np.array([5.0, 5.0, 5.0, np.inf]))
    with runtime.float64():
        later = optimizer.tell(state, jnp.asarray([5.0, 6.0, np.inf, 1e300]))
    np.testing.assert_array_equal(later.values, [5.0, 5.0, 5.0, 1e300])
    np.testing.assert_array_equal(later.population[np.array([0, 3])], state.trials[np.array([0, 3])])
    np.testing.assert_array_equal(later.population[1:3], state.population[1:3])


def test_repairs() -> None:
    trials, parents = jnp.asarray([[-0.5, 0.3, 1.2]]), jnp.asarray([[0.4, 0.9, 0.6]])
    key = jax.random.key(0)
    np.testing.assert_allclose(repaired("midpoint", trials, parents, key), [[0.2, 0.3, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(repaired("reflect", trials, parents, key), [[0.5, 0.3, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(repaired("clip", trials, parents, key), [[0.0, 0.3, 1.0]], rtol=1e-6)
    resampled = np.asarray(repaired("resample", trials, parents, key))
    assert resampled[0, 1] == np.float32(0.3)
    assert ((resampled > 0) & (resampled < 1)).all()


def test_the_paper_preset_is_asynchronous() -> None:
    """One trial per batch: the first 50 are the population, then each trial may use the replacement before it."""
    preset = DE.paper()
    assert (preset.population_size, preset.strategy, preset.repair) == (50, "tournament", "clip")
    assert (float(preset.scale), float(preset.crossover)) == (0.5, 0.5)
    driver = AlgorithmSearch(preset, UNIT, jax.random.key(0))
    generational = AlgorithmSearch(DE(50, "tournament", "clip", scale=0.5, crossover=0.5), UNIT, jax.random.key(0))
    initial = generational.ask()
    for i in range(50):
        assert driver.ask().shape == (1, 4)
        np.testing.assert_array_equal(driver.ask()[0], initial[i])
        driver.tell(np.array([float(i)]))
    np.testing.assert_array_equal(driver.state.values, np.arange(50.0))
    trial = driver.ask()[0]
    driver.tell(np.array([-1.0]))
    np.testing.assert_array_equal(driver.state.population[0], trial)
    driver.tell(np.array([100.0]))  # the trial of individual 1 is worse
    np.testing.assert_array_equal(driver.state.population[1], initial[1])


def test_batches_of_a_part_of_the_population_go_round() -> None:
    driver = AlgorithmSearch(DE(6, batch_size=2), UNIT, jax.random.key(0))
    for value in (3.0, 2.0, 1.0):
        driver.tell(np.full(2, value))
    np.testing.assert_array_equal(driver.state.values, [3, 3, 2, 2, 1, 1])
    driver.tell(np.full(2, 0.0))
    np.testing.assert_array_equal(driver.state.values, [0, 0, 2, 2, 1, 1])


def test_default_population() -> None:
    assert [DE.default_population(d) for d in (1, 5, 10, 100)] == [20, 50, 100, 200]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"population_size": 3}, "population_size"),
        ({"strategy": "rand/2/bin"}, "strategy"),
        ({"repair": "wrap"}, "repair"),
        ({"batch_size": 7}, "batch_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"scale": -0.1}, "scale"),
        ({"crossover": 1.1}, "crossover"),
        ({"crossover": float("nan")}, "crossover"),
        ({"pbest_fraction": 2}, "pbest_fraction"),
    ],
)
def test_bad_arguments_are_refused(arguments, word) -> None:
    with pytest.raises(ValueError, match=word):
        DE(**arguments)

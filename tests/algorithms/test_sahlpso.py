"""SAHLPSO: the defects known of its public port are absent, it shrinks over its budget, and it goes on improving."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.batches import batch_sizes

from l2e.algorithms.sahlpso import LAGS, LEAST_RATE, SAHLPSO, credited, draw, exemplars, fresh_choice, refreshed
from l2e.core.box import box
from l2e.core.evaluator import Evaluator
from l2e.core.search import run as run_search
from l2e.core.stops import BudgetExhausted
from l2e.core.traced import runtime
from l2e.core.traced.loop import unroll
from l2e.core.traced.search import AlgorithmSearch
from l2e.problems import paper_bbob

SPACE = box([(-5, 5)] * 3)


def sphere(points: np.ndarray) -> np.ndarray:
    return ((points - 1) ** 2).sum(axis=1)


def driven(generations: int, budget: int = 10**6, seed: int = 0):
    """States after each generation on a sphere."""
    driver = AlgorithmSearch(SAHLPSO(budget), SPACE, jax.random.key(seed))
    states = []
    for _ in range(generations):
        driver.tell(sphere(driver.ask()))
        states.append(driver.state)
    return states


def test_the_swarm_shrinks_linearly_and_the_budget_is_met() -> None:
    driver = AlgorithmSearch(SAHLPSO(2000), SPACE, jax.random.key(0))
    evaluator = Evaluator(sphere, SPACE, 2000, vectorized=True)
    sizes = batch_sizes(driver, evaluator)
    assert evaluator.used == 2000
    size, used, expected = 40, 0, []
    while used + size <= 2000:
        used += size
        size = max(round(40 - 35 * used / 2000), 5)
        expected.append(size)
    np.testing.assert_array_equal(sizes[: len(expected)], expected)
    assert sizes[-1] == 5


def test_best_values_belong_to_best_points_and_only_fall() -> None:
    before = None
    for state in driven(40):
        swarm = state.swarm
        np.testing.assert_allclose(swarm.best_values, sphere(10 * np.asarray(swarm.best_positions) - 5), atol=1e-12)
        if before is not None:
            assert (np.asarray(swarm.best_values) <= before).all()
        before = np.asarray(swarm.best_values)


def test_the_shrinking_keeps_the_best() -> None:
    states = driven(60, budget=2000)
    alive = [np.asarray(state.swarm.best_values)[: int(state.size)] for state in states]
    for earlier, later in itertools.pairwise(alive):
        assert later.min() <= earlier.min()
        assert len(later) <= len(earlier)
        assert later.max() <= np.sort(earlier)[len(later) - 1]


def test_the_past_is_the_past() -> None:
    """The slot of generation g holds each particle's best point after generation g, long after it was overtaken."""
    states = driven(30)
    last = states[-1].swarm
    for lag in range(LAGS + 1):
        generation = 29 - lag
        slot = generation % (LAGS + 1)
        np.testing.assert_array_equal(last.past[:, slot], states[generation].swarm.best_positions)
    assert (np.asarray(last.past[:, (29 - LAGS) % (LAGS + 1)]) != np.asarray(last.best_positions)).any()


def test_a_fifth_of_the_living_explores_and_roles_change() -> None:
    states = driven(60, budget=2000)
    roles = [np.asarray(state.swarm.is_explorer) for state in states]
    for state, role in zip(states, roles, strict=True):
        size = int(state.size)
        assert role.sum() == role[:size].sum() == round(0.2 * size)
    assert np.any(roles[0] != roles[1])


def test_exemplars_by_role() -> None:
    """Without crossover an explorer learns from its past, an exploiter from between its own and the global best."""
    state = driven(20)[-1]
    with runtime.float64():
        rate, lag = jnp.zeros(40), jnp.full(40, 3)
        points = np.asarray(exemplars(state.swarm, rate, lag, jnp.asarray(19), jnp.asarray(40), jax.random.key(0)))
    swarm = jax.tree.map(np.asarray, state.swarm)
    explores = swarm.is_explorer
    np.testing.assert_array_equal(points[explores], swarm.past[explores, 16 % (LAGS + 1)])
    leader = swarm.best_positions[swarm.best_values.argmin()]
    low, high = np.minimum(swarm.best_positions, leader), np.maximum(swarm.best_positions, leader)
    inside = (points >= low - 1e-12) & (points <= high + 1e-12)
    assert inside[~explores].all()


def test_full_crossover_learns_from_others() -> None:
    state = driven(20)[-1]
    with runtime.float64():
        ones, lag = jnp.ones(40), jnp.full(40, 3)
        points = np.asarray(exemplars(state.swarm, ones, lag, jnp.asarray(19), jnp.asarray(40), jax.random.key(0)))
    explorers = points[np.asarray(state.swarm.is_explorer)]
    distance = np.abs(explorers[:, None] - np.asarray(state.swarm.best_positions)[None]).max(axis=2)
    assert (distance.min(axis=1) == 0).all()  # each is another particle's best point


def test_choices_follow_success() -> None:
    with runtime.float64():
        choice = fresh_choice(4, 3, 5, jnp.float64)
        np.testing.assert_allclose(choice.probabilities, [1 / 3, 1 / 3, 1 / 3, 0])
        choice = eqx.tree_at(lambda c: c.drawn, choice, jnp.asarray([0, 0, 1, 2, 2]))
        moved, better = jnp.asarray([True, True, True, True, False]), jnp.asarray([True, False, True, False, True])
        choice = credited(choice, moved, better)
        np.testing.assert_array_equal(choice.uses, [2, 1, 1, 0])
        np.testing.assert_array_equal(choice.successes, [1, 1, 0, 0])
        waiting = refreshed(choice, jnp.asarray(False))
        np.testing.assert_array_equal(waiting.probabilities, choice.probabilities)
        fresh = refreshed(choice, jnp.asarray(True))
    rates = np.array([0.5, 1.0, 0.0, 0.0]) + LEAST_RATE * np.array([1, 1, 1, 0])
    np.testing.assert_allclose(fresh.probabilities, rates / rates.sum())
    assert (int(fresh.unlocked), float(fresh.recent)) == (3, 0.0)


def test_entries_are_drawn_by_their_probabilities() -> None:
    with runtime.float64():
        choice = fresh_choice(4, 3, 20_000, jnp.float64)
        choice = eqx.tree_at(lambda c: c.probabilities, choice, jnp.asarray([0.5, 0.0, 0.5 - 1e-9, 0.0]))
        drawn = np.asarray(draw(choice, jax.random.key(0)).drawn)
    counts = np.bincount(drawn, minlength=4) / 20_000
    np.testing.assert_allclose(counts, [0.5, 0, 0.5, 0], atol=0.02)
    assert counts[1] == counts[3] == 0


def test_a_period_without_success_unlocks_one_more() -> None:
    with runtime.float64():
        choice = fresh_choice(4, 3, 5, jnp.float64)
        once = refreshed(choice, jnp.asarray(True))
        twice = refreshed(once, jnp.asarray(True))
    np.testing.assert_allclose(once.probabilities, [0.25] * 4)
    assert int(twice.unlocked) == 4


def test_it_improves_until_the_end() -> None:
    """The paper's Rosenbrock in 10-D, 20,000 evaluations, 15 seeds: the median gap falls in each third of the run.

    The public port with its defects stops after some 1,000 evaluations near 1.6e3; measured here: 5.6, 3.8, 3.1.
    """
    problem, optimizer = paper_bbob(8, 10), SAHLPSO(20_000)

    def run(key):
        return unroll(optimizer, problem, optimizer.init(problem.space, key), key, 1200, 20_000)[1]

    with runtime.float64():
        trace = jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(5), 15))
    nfev, median = np.asarray(trace.nfev[0]), np.median(np.asarray(trace.fun), axis=0) - problem.optimum.f
    thirds = [median[np.searchsorted(nfev, evaluations)] for evaluations in (6_667, 13_333, 20_000)]
    assert nfev[-1] == 20_000
    assert thirds[1] < 0.95 * thirds[0]
    assert thirds[2] < 0.95 * thirds[1]
    assert thirds[2] < 10


def test_a_budget_below_the_population() -> None:
    driver = AlgorithmSearch(SAHLPSO(7), SPACE, jax.random.key(0))
    evaluator = Evaluator(sphere, SPACE, 7, vectorized=True)
    with pytest.raises(BudgetExhausted):
        run_search(driver, evaluator)
    assert len(driver.ask()) == 5


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 100, "min_population_size": 1}, "min_population_size"),
        ({"budget": 100, "population_size": 4}, "population_size"),
        ({"budget": 100, "acceleration": -1}, "acceleration"),
        ({"budget": 100, "velocity_limit": 1.5}, "velocity_limit"),
        ({"budget": 100, "explorer_fraction": 1.5}, "explorer_fraction"),
    ],
)
def test_bad_arguments_are_refused(arguments, word) -> None:
    with pytest.raises(ValueError, match=word):
        SAHLPSO(**arguments)

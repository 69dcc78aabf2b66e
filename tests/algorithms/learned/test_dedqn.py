"""DEDQN: its strategies, what it sees of the landscape, its reward."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.learned.dedqn import DEDQN, STRATEGIES
from l2e.algorithms.learned.landscape import landscape, ruggedness
from l2e.core.box import Box

pytestmark = pytest.mark.usefixtures("quick_compilation")

N, D = 10, 4


@pytest.fixture(scope="module")
def model() -> DEDQN:
    return DEDQN.untrained(N, jax.random.key(0))


def space() -> Box:
    return Box(jnp.full(D, -5.0), jnp.full(D, 5.0))


def bowl(points):
    return jnp.sum((points - 1) ** 2, axis=1)


observe = eqx.filter_jit(lambda model, state, values: model.observe(state, values))
act = eqx.filter_jit(lambda model, state, action: model.act(state, action))
seen_of = jax.jit(landscape)
entropy = jax.jit(ruggedness)


@eqx.filter_jit
def started(model, key):
    return model.init(space(), key)


@eqx.filter_jit
def chosen_of(model, views):
    return jax.vmap(model.scores)(views), jax.vmap(lambda view: model.decide(view, jax.random.key(0)))(views)


@pytest.mark.parametrize("action", range(len(STRATEGIES)), ids=STRATEGIES)
def test_trials_are_made_by_the_strategy(action) -> None:
    """With crossover 1 every trial is a mutant, and the population's geometry shows which."""
    model = DEDQN(DEDQN.untrained(N, jax.random.key(0)).network, N, crossover=1.0)
    state = started(model, jax.random.key(1))
    state, _ = observe(model, state, bowl(model.ask(state)))
    x = np.asarray(state.population)
    trials = np.asarray(act(model, state, jnp.asarray(action)).trials)
    best = x[int(jnp.argmin(state.values))]
    for i, trial in enumerate(trials):
        others = [j for j in range(N) if j != i]
        differences = [0.5 * (x[b] - x[c]) for b in others for c in others if b != c]
        bases = {
            "rand/1": [x[a] for a in others],
            "current-to-rand/1": [x[i] + 0.5 * (x[a] - x[i]) for a in others],
            "best/2": [best + difference for difference in differences],
        }[STRATEGIES[action]]
        candidates = np.clip(np.asarray(bases)[:, None] + np.asarray(differences)[None], 0, 1)
        assert np.abs(candidates - trial).max(axis=2).min() < 1e-5


def test_trials_that_are_not_worse_replace_and_are_rewarded(model) -> None:
    state = started(model, jax.random.key(2))
    state, _ = observe(model, state, bowl(model.ask(state)))
    assert float(model.reward(state)) == 1  # the first population
    state = act(model, state, jnp.asarray(0))
    told = jnp.where(jnp.arange(N) < 4, state.values, state.values + 1).at[0].set(jnp.inf)  # three ties
    after, _ = observe(model, state, told)
    replaced = np.isin(np.arange(N), [1, 2, 3])
    np.testing.assert_array_equal(after.population, np.where(replaced[:, None], state.trials, state.population))
    np.testing.assert_array_equal(after.idle, np.where(replaced, 1, 2))
    np.testing.assert_allclose(model.reward(after), (3 + 7 / 2) / N)


def test_the_highest_score_is_chosen(model) -> None:
    views = jax.random.uniform(jax.random.key(3), (20, 4), minval=-1)
    scores, chosen = chosen_of(model, views)
    assert scores.shape == (20, len(STRATEGIES))
    np.testing.assert_array_equal(chosen, np.asarray(scores).argmax(axis=1))


def test_the_landscape_of_a_bowl_and_of_noise() -> None:
    points = jax.random.uniform(jax.random.key(4), (30, 3))
    centre = points.at[0].set(0.5)
    bowl_values = jnp.sum((centre - 0.5) ** 2, axis=1)
    correlation, rugged, memory, descents = np.asarray(seen_of(centre, bowl_values))
    assert correlation > 0.9
    assert memory > 0.9
    assert descents == 0
    noise = jax.random.uniform(jax.random.key(5), (30,))
    noisy = np.asarray(seen_of(points, noise))
    assert abs(noisy[0]) < 0.5
    assert abs(noisy[2]) < 0.5
    assert 0.3 < noisy[3] < 0.7
    assert noisy[1] > rugged + 0.3


def test_features_are_pearsons_and_do_not_see_scale_or_failures() -> None:
    generator = np.random.default_rng(6)
    points, values = generator.uniform(size=(30, 3)), generator.exponential(size=30)
    seen = np.asarray(seen_of(jnp.asarray(points), jnp.asarray(values)))
    distances = np.linalg.norm(points - points[values.argmin()], axis=1)
    np.testing.assert_allclose(seen[0], np.corrcoef(values, distances)[0, 1], rtol=1e-3)
    walk = values[distances.argsort()]
    np.testing.assert_allclose(seen[2], np.corrcoef(walk[1:], walk[:-1])[0, 1], rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(seen_of(jnp.asarray(points), jnp.asarray(64 * values + 8)), seen, atol=1e-3)
    failed = jnp.asarray(np.where(np.arange(30) % 2, values, np.inf))
    for poisoned in (failed, jnp.full(30, jnp.inf), jnp.zeros(30)):
        assert np.isfinite(np.asarray(seen_of(jnp.asarray(points), poisoned))).all()


def test_ruggedness_is_the_largest_entropy_of_unlike_pairs() -> None:
    walk = jnp.asarray([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0])  # steps up, flat, down, up, flat, down
    thirds = np.asarray([2, 2, 1]) / 5  # of five pairs: up-flat, flat-down, down-up
    np.testing.assert_allclose(entropy(walk), -(thirds * np.log(thirds)).sum() / np.log(6), rtol=1e-5)
    assert float(entropy(jnp.arange(7.0))) == 0
    assert float(entropy(jnp.zeros(7))) == 0

"""The operator that draws from the population's covariance: its formula, its symmetries, its memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import L2E, Covariance, Shared
from l2e.algorithms.l2e.operators.covariance import BY_RANK, FIRST, PAIRING, USUAL, Credit
from l2e.core.box import box
from l2e.core.traced import runtime
from l2e.core.traced.search import AlgorithmSearch

N, D = 12, 3
KEY = jax.random.key(4)
SCALE_TOKEN = 7
"""The column of the tokens that sees how large the population is."""


@eqx.filter_jit
def propose(operator, points, values, key=KEY):
    return operator(points, values, key)


@eqx.filter_jit
def recall(operator, points, values, memory, done, key=KEY):
    return operator.recall(points, values, key, memory, done)


def perturbed(operator, size=0.3):
    leaves, structure = jax.tree.flatten(operator)
    keys = jax.random.split(KEY, len(leaves))
    moved = [leaf + size * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(structure, moved)


def headed(operator, **outputs):
    """The operator with these outputs of its heads, whatever the network sees."""
    heads = operator.heads
    for name, value in outputs.items():
        heads = heads.at[list(FIRST).index(name)].set(0).at[list(FIRST).index(name), -1].set(value)
    return eqx.tree_at(lambda o: o.heads, operator, heads)


@pytest.fixture
def population():
    points = jax.random.uniform(jax.random.key(0), (N, D))
    return points, jnp.sum((points - 0.3) ** 2, axis=1)


def turned(points):
    """The points after a rotation about the middle of the cube."""
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(D, D)))
    return 0.5 + (points - 0.5) @ rotation.T.astype(np.float32)


def test_the_deterministic_part_equals_the_formula(population) -> None:
    operator = perturbed(Covariance(width=4, noise=False, key=KEY))
    order = np.argsort(population[1])
    x, f = (np.asarray(part, float)[order] for part in population)

    centred = x - x.mean(axis=0)
    size = (centred**2).mean()
    distance = np.sqrt((centred**2).mean(axis=1) / size)
    ranks, scores = np.linspace(-1, 1, N), np.tanh((f - f.mean()) / f.std())
    facts = [-1, np.tanh(np.log10(D) - 1), np.log10(N) - 2, np.log10(size) / 8 + 0.5, distance[0] - 1]
    facts += [scores[0], scores[(N - 1) // 2], 0, 0, 0]
    own = np.stack([ranks, ranks**2 - 0.5, scores, distance - 1], axis=1)
    tokens = np.hstack([own, np.tile(facts, (N, 1))])
    ones = np.ones((N, 1))
    hidden = np.tanh(np.hstack([tokens, ones]) @ np.asarray(operator.hidden, float).T)
    heads = np.hstack([hidden, tokens, ones]) @ np.asarray(operator.heads, float).T
    by = dict(zip(FIRST, heads.T, strict=False))
    query, key = heads[:, len(FIRST) :][:, :PAIRING], heads[:, len(FIRST) :][:, PAIRING : 2 * PAIRING]
    logits = by["mixing"] + query @ key.T
    mixing = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = x + (mixing @ x - x) / (1 + np.exp(-by["towards"]))[:, None]
    np.testing.assert_allclose(np.asarray(propose(operator, *population))[order], expected, atol=1e-5)


def test_the_random_term_has_the_weighted_covariance(population) -> None:
    points, values = population
    operator = headed(Covariance(width=4, partial=False, key=KEY), step=0.0, dither=-20.0, drift=0.0, towards=-20.0)
    operator = eqx.tree_at(lambda o: o.heads, operator, operator.heads.at[len(FIRST) :].set(0))
    index = list(FIRST).index("spreading")
    by_rank = jnp.zeros_like(operator.heads[index]).at[4].set(-BY_RANK)
    operator = eqx.tree_at(lambda o: o.heads, operator, operator.heads.at[index].set(by_rank))
    keys = jax.random.split(KEY, 4000)
    steps = np.asarray(jax.vmap(lambda key: propose(operator, points, values, key))(keys) - points).reshape(-1, D)
    x = np.asarray(points, float)[np.argsort(values)]
    weights = np.exp(-BY_RANK * np.linspace(-1, 1, N))
    weights /= weights.sum()
    centred = x - weights @ x
    expected = (weights[:, None] * centred).T @ centred
    np.testing.assert_allclose(steps.mean(axis=0), 0, atol=5e-3)
    np.testing.assert_allclose(np.cov(steps.T), expected, atol=0.05 * np.abs(expected).max())


def test_whole_proposals_turn_and_move_with_the_axes(population) -> None:
    points, values = population
    operator = perturbed(Covariance(width=4, partial=False, key=KEY))
    np.testing.assert_allclose(
        propose(operator, turned(points) + 2, values), turned(propose(operator, points, values)) + 2, atol=5e-5
    )


def test_proposals_follow_scales_which_one_token_sees(population) -> None:
    points, values = population
    operator = perturbed(Covariance(width=4, key=KEY))
    blind = eqx.tree_at(
        lambda o: (o.hidden, o.heads),
        operator,
        (operator.hidden.at[:, SCALE_TOKEN].set(0), operator.heads.at[:, 4 + SCALE_TOKEN].set(0)),
    )
    np.testing.assert_allclose(propose(blind, 0.01 * points, values), 0.01 * propose(blind, points, values), atol=2e-6)
    assert not np.allclose(propose(operator, 0.01 * points, values), 0.01 * propose(operator, points, values))


def test_partial_proposals_leave_the_span_of_few_points_and_whole_ones_do_not() -> None:
    points = jax.random.uniform(jax.random.key(1), (4, 30))
    values = jnp.arange(4.0)
    centred = np.asarray(points - points.mean(axis=0), float)

    def outside(operator):
        steps = np.asarray(propose(operator, points, values) - points.mean(axis=0), float)
        inside = np.linalg.lstsq(centred.T, steps.T, rcond=None)[0].T @ centred
        return np.abs(steps - inside).max()

    assert outside(Covariance(key=KEY, partial=False)) < 1e-5
    assert outside(headed(Covariance(key=KEY), share=20.0)) > 0.05


def test_a_partial_proposal_changes_one_coordinate_at_least(population) -> None:
    operator = headed(Covariance(key=KEY), share=20.0, rate=-20.0)
    keys = jax.random.split(KEY, 50)
    proposed = jax.vmap(lambda key: propose(operator, *population, key))(keys)
    changed = np.sum(np.asarray(proposed != population[0]), axis=2)
    assert changed.max() == 1
    assert changed.mean() > 0.8  # it stays where both individuals of the difference are the same, and it is its partner


def test_it_remembers_what_was_accepted_of_each_kind() -> None:
    operator = Covariance(key=KEY)
    parted = jnp.asarray([True, True, False, False, False])
    number = jnp.asarray
    memory = Credit(number(0.2), number(0.4), number(0.0), parted, number(True))
    learned = operator.learned(memory, jnp.asarray([True, True, True, False, False]))
    np.testing.assert_allclose(learned.partial, 0.4 + 0.3 * (1 - 0.4), rtol=1e-6)
    np.testing.assert_allclose(learned.whole, 0.2 + 0.3 * (1 / 3 - 0.2), rtol=1e-6)
    first = operator.memory(jnp.zeros((5, 2)))
    assert float(operator.learned(first, jnp.ones(5, bool)).whole) == pytest.approx(USUAL)  # nothing had been asked


def test_steps_drift_as_the_policy_says(population) -> None:
    operator = headed(Covariance(key=KEY), drift=20.0)
    memory = operator.memory(population[0])
    for generation in range(3):
        _, memory = recall(operator, *population, memory, jnp.asarray(0.1))
        assert float(memory.log_step) == pytest.approx(0.3 * (generation + 1))


def test_it_sees_how_much_of_a_run_is_over(population) -> None:
    operator = perturbed(Covariance(key=KEY))
    memory = operator.memory(population[0])
    begun, over = (recall(operator, *population, memory, jnp.asarray(done))[0] for done in (0.0, 1.0))
    np.testing.assert_array_equal(begun, propose(operator, *population))
    assert float(jnp.max(jnp.abs(begun - over))) > 1e-3


def test_a_solver_tells_it_the_time_and_what_its_gate_took() -> None:
    def bowl(x):
        return (x[0] - 1) ** 2 + 5 * (x[1] - 1) ** 2

    solver = L2E(Shared(Covariance(key=KEY)), population_size=N, horizon=5)
    assert int(solver.with_budget(10 * N).horizon) == 9
    driver = AlgorithmSearch(solver, box([(-1.0, 3.0)] * 2), jax.random.key(0))
    for generation in range(4):
        points = driver.ask()
        before = driver.state
        values = np.asarray([bowl(point) for point in points])
        driver.tell(values)
        if generation:
            accepted = values <= np.asarray(before.values)
            with runtime.float64():
                expected = solver.schedule.at(0).learned(before.memory, jnp.asarray(accepted))
            np.testing.assert_allclose(driver.state.memory.whole, expected.whole)
            np.testing.assert_allclose(driver.state.memory.partial, expected.partial)
    assert bool(driver.state.memory.asked)


def test_a_solver_without_a_horizon_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"Covariance asks how much of a run is over: give L2E a horizon"):
        L2E(Shared(Covariance(key=KEY)), population_size=N).init(box([(-1.0, 3.0)] * D), KEY)

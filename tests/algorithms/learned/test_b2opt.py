"""B2OPT: its block against the formulas, its selection, its count."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import Shared
from l2e.algorithms.learned.b2opt import B2OPT, B2OPTBlock, value_token
from l2e.core.box import Box

pytestmark = pytest.mark.usefixtures("quick_compilation")

N, D = 8, 3


@pytest.fixture(scope="module")
def block() -> B2OPTBlock:
    return B2OPTBlock(N, D, width=5, key=jax.random.key(0))


@pytest.fixture(scope="module")
def population() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    return generator.uniform(-5, 5, (N, D)).astype(np.float32), generator.permutation(N).astype(np.float32) ** 3


@eqx.filter_jit
def proposed(block, points, values):
    return block(points, values, jax.random.key(0))


def with_scales(block: B2OPTBlock, *scales: float) -> B2OPTBlock:
    rows = jnp.broadcast_to(jnp.asarray(scales, jnp.float32)[:, None], (3, N))
    return eqx.tree_at(lambda b: b.row_scales, block, rows)


def softmax(rows):
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_the_block_is_the_formula(block, population) -> None:
    points, values = population
    order = np.argsort(values)
    x, token = points[order], np.asarray(value_token(jnp.asarray(values[order])))[:, None]
    queries, keys = (token * np.asarray(m)[:, 0] + np.asarray(m)[:, 1] for m in (block.query, block.key))
    fusion = softmax(np.asarray(block.fusion_logits)[None])[0]
    mixing = fusion[0] * softmax(np.asarray(block.pair_logits)) + fusion[1] * softmax(queries @ keys.T / np.sqrt(D))
    crossed = mixing @ x
    hidden, output = np.asarray(block.hidden), np.asarray(block.output)
    mutated = np.maximum(crossed @ hidden[:, :D].T + hidden[:, D], 0) @ output[:, :D].T + output[:, D]
    w1, w2, w3 = np.asarray(block.row_scales)[:, :, None]
    expected = np.empty_like(points)
    expected[order] = w1 * x + w2 * crossed + w3 * mutated
    np.testing.assert_allclose(proposed(block, points, values), expected, rtol=2e-4, atol=2e-4)


def test_identity_hull_and_order(block, population) -> None:
    points, values = population
    np.testing.assert_allclose(proposed(with_scales(block, 1, 0, 0), points, values), points, rtol=1e-6)
    crossed = np.asarray(proposed(with_scales(block, 0, 1, 0), points, values))
    assert (crossed >= points.min(axis=0) - 1e-5).all()
    assert (crossed <= points.max(axis=0) + 1e-5).all()
    shuffled = np.random.default_rng(2).permutation(N)
    expected = np.asarray(proposed(block, points, values))[shuffled]
    np.testing.assert_allclose(proposed(block, points[shuffled], values[shuffled]), expected, rtol=1e-4, atol=1e-5)


def test_the_token_has_no_scale_and_is_not_one_hot(population) -> None:
    values = jnp.asarray(population[1])
    token = np.asarray(value_token(values))
    np.testing.assert_allclose(token.mean(), 1, rtol=1e-5)
    np.testing.assert_array_equal(np.argsort(token), np.argsort(values))
    assert token.max() < 0.5 * N
    np.testing.assert_allclose(value_token(1e6 * values + 3), token, rtol=1e-3)
    failed = value_token(values.at[0].set(jnp.inf))
    assert np.isfinite(failed).all()
    assert int(jnp.argmax(failed)) == 0


def test_a_child_replaces_its_parent_only_if_it_is_better(block) -> None:
    optimizer = B2OPT(Shared(block), N)
    tell = eqx.filter_jit(B2OPT.tell)
    space = Box(jnp.full(D, -5.0), jnp.full(D, 5.0))
    state = eqx.filter_jit(B2OPT.init)(optimizer, space, jax.random.key(1))
    first = np.asarray(state.children)
    values = np.arange(N, dtype=float)
    state = tell(optimizer, state, values)
    np.testing.assert_array_equal(state.points, first)
    children = np.asarray(state.children)
    assert ((children >= 0) & (children <= 1)).all()
    told = np.where(np.arange(N) % 2 == 0, values - 0.5, values)  # ties keep the parent
    told[4] = np.inf
    state = tell(optimizer, state, told)
    better = np.array([True, False, True, False, False, False, True, False])
    np.testing.assert_array_equal(state.points, np.where(better[:, None], children, first))
    np.testing.assert_array_equal(state.values, np.where(better, told, values))

"""GLHF: mutation and crossover against the formulas, who is compared with whom, any dimension."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.learned import glhf
from l2e.algorithms.learned.glhf import GLHF
from l2e.core.box import Box

pytestmark = pytest.mark.usefixtures("quick_compilation")

N = 40
value_tokens, similarities = jax.jit(glhf.value_tokens), jax.jit(glhf.similarities)


@pytest.fixture(scope="module")
def model() -> GLHF:
    return GLHF(N, width=30, key=jax.random.key(0))


def test_tokens_are_standard_scores_and_the_failed_are_the_worst() -> None:
    values = np.sort(np.random.default_rng(1).uniform(size=N)).astype(np.float32)
    tokens = np.asarray(value_tokens(values))
    np.testing.assert_allclose(tokens[:, 0], (values - values.mean()) / values.std(), rtol=1e-3, atol=1e-4)
    ranks = np.arange(N)
    np.testing.assert_allclose(tokens[:, 1], (ranks - ranks.mean()) / ranks.std(ddof=1), rtol=1e-5, atol=1e-6)
    failed = np.asarray(value_tokens(np.where(np.arange(N) < N - 3, values, np.inf).astype(np.float32)))
    np.testing.assert_allclose(failed[-3:, 0], failed[-4, 0])
    assert np.isfinite(np.asarray(value_tokens(np.full(N, np.inf, np.float32)))).all()


def test_half_of_the_matrix_takes_part_and_the_diagonal_always(model) -> None:
    tokens = value_tokens(np.arange(N, dtype=np.float32) ** 2)
    masked = np.asarray(
        eqx.filter_jit(GLHF._mutants)(model, jnp.eye(N), tokens, jax.random.key(3))
    )  # V = S X with X = 1
    ones = np.ones((N, 1))
    hidden = np.tanh(np.hstack([tokens, ones]) @ np.asarray(model.tokens).T)
    queries, keys = (np.tanh(np.hstack([hidden, ones]) @ np.asarray(m).T) for m in (model.query, model.key))
    matrix = np.tanh(queries @ keys.T / np.sqrt(30))
    kept = masked != 0
    np.testing.assert_allclose(masked[kept], matrix[kept], rtol=1e-4, atol=1e-5)
    assert kept.diagonal().all()
    assert 0.4 < kept[~np.eye(N, dtype=bool)].mean() < 0.6


def test_the_similarity_is_a_cosine_after_standardisation() -> None:
    x, v = np.random.default_rng(4).normal(2, 1, (2, N, 5)).astype(np.float32)
    both = np.concatenate([x, v], axis=1)
    both = (both - both.mean(axis=1, keepdims=True)) / both.std(axis=1, keepdims=True)
    left, right = both[:, :5], both[:, 5:]
    cosine = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    np.testing.assert_allclose(similarities(x, v), cosine, rtol=1e-3, atol=1e-4)


def test_genes_are_the_parents_own_or_the_mutants(model) -> None:
    """With S = 0 the mutants are the mean, so whatever else a child has must be of the parent in the same row."""
    nothing = eqx.tree_at(lambda m: m.query, model, jnp.zeros_like(model.query))
    generator = np.random.default_rng(5)
    points = jnp.asarray(generator.uniform(1, 5, (N, 6)), jnp.float32)
    values = jnp.asarray(generator.permutation(N), jnp.float32)
    children = np.asarray(eqx.filter_jit(GLHF.propose)(nothing, points, values, jax.random.key(6)))
    mean = np.asarray(points).mean(axis=0)
    kept = np.abs(children - mean) > 1e-4
    np.testing.assert_allclose(children, np.where(kept, points, mean), rtol=1e-4, atol=1e-4)
    # logits in [0, 1] against uniform numbers in [0, 1]: the chance of keeping a gene lies between these
    assert 0.27 < kept.mean() < 0.73


def test_gradients_reach_all_weights_through_the_choice(model) -> None:
    points = jax.random.uniform(jax.random.key(7), (N, 4), minval=-5, maxval=5)
    values = jnp.sum(points**2, axis=1)

    def loss(m):
        return jnp.mean(jnp.sum(m.propose(points, values, jax.random.key(8)) ** 2, axis=1))

    for leaf in jax.tree.leaves(eqx.filter_jit(eqx.filter_grad(loss))(model)):
        assert np.isfinite(leaf).all()
        assert np.any(np.asarray(leaf) != 0)


def test_the_same_weights_work_in_another_dimension(model) -> None:
    dimension = 7
    space = Box(jnp.full(dimension, -1.0), jnp.full(dimension, 3.0))
    state = eqx.filter_jit(GLHF.init)(model, space, jax.random.key(0))
    for _ in range(2):
        points = model.ask(state)
        assert points.shape == (N, dimension)
        assert ((points >= -1) & (points <= 3)).all()
        state = eqx.filter_jit(GLHF.tell)(model, state, jnp.sum(points**2, axis=1))
    assert float(state.values.max()) <= 9 * dimension

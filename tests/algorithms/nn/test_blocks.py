import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.nn import ParallelSelective, PathWeights, SelfAttention, SpectralLinear
from l2e.algorithms.nn.selective import layer_norm


@pytest.fixture
def tokens():
    return jax.random.normal(jax.random.key(9), (7, 8))


def test_attention_equals_the_formula(tokens) -> None:
    block = SelfAttention(8, 2, key=jax.random.key(0))
    query, key, value = (np.asarray(part(tokens)) for part in (block.query, block.key, block.value))
    heads = []
    for head in (slice(0, 4), slice(4, 8)):
        scores = query[:, head] @ key[:, head].T / 2
        weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        heads.append(weights @ value[:, head])
    expected = np.concatenate(heads, axis=1) @ np.asarray(block.output.bounded).T + np.asarray(block.output.bias)
    np.testing.assert_allclose(block(tokens), expected, rtol=1e-4, atol=1e-5)


def test_attention_is_equivariant(tokens) -> None:
    block = SelfAttention(8, 4, key=jax.random.key(0))
    order = np.random.default_rng(0).permutation(7)
    np.testing.assert_allclose(block(tokens[order]), block(tokens)[order], atol=1e-6)


def test_attention_refuses_a_width_its_heads_do_not_divide() -> None:
    with pytest.raises(ValueError, match="multiple of the 3 heads, got 8"):
        SelfAttention(8, 3, key=jax.random.key(0))


def test_selective_block_equals_the_formula(tokens) -> None:
    block = ParallelSelective(8, key=jax.random.key(1))
    parameters = np.asarray(block.parameters(tokens))
    expanded = parameters[:, :8] * parameters[:, 8:] * np.asarray(tokens)
    z = 1 / (1 + np.exp(-np.asarray(block.gate(tokens))))
    blended = z * expanded + (1 - z) * np.asarray(block.passthrough(tokens))
    centred = blended - blended.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(block(tokens), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("state_output", ["unused", "used"])
def test_the_third_parameter_of_the_selective_block(tokens, state_output) -> None:
    block = ParallelSelective(8, state_output=state_output, key=jax.random.key(2))
    timescale, transform, output = np.split(np.asarray(block.parameters(tokens)), 3, axis=-1)
    expanded = timescale * transform * np.asarray(tokens) * (output if state_output == "used" else 1)
    z = 1 / (1 + np.exp(-np.asarray(block.gate(tokens))))
    expected = layer_norm(z * expanded + (1 - z) * np.asarray(block.passthrough(tokens)))
    np.testing.assert_allclose(block(tokens), expected, rtol=1e-4, atol=1e-5)


def test_selective_block_works_token_by_token(tokens) -> None:
    block = ParallelSelective(8, key=jax.random.key(1))
    np.testing.assert_allclose(block(tokens)[3], block(tokens[3]), atol=1e-6)


def test_router_gives_a_distribution_equal_at_first() -> None:
    router = PathWeights(5, 3, key=jax.random.key(2))
    np.testing.assert_allclose(router(jnp.arange(5.0)), np.full(3, 1 / 3), rtol=1e-6)
    weight = jax.random.normal(jax.random.key(3), router.output.weight.shape)
    moved = eqx.tree_at(lambda r: r.output.weight, router, weight)
    shares = np.asarray(moved(jnp.arange(5.0)))
    assert shares.sum() == pytest.approx(1, abs=1e-6)
    assert shares.std() > 0.01


@pytest.mark.parametrize(
    "block",
    [
        SelfAttention(8, 2, coefficient=0.5, key=jax.random.key(0)),
        ParallelSelective(8, coefficient=0.5, key=jax.random.key(0)),
        PathWeights(5, 3, coefficient=0.5, key=jax.random.key(0)),
    ],
    ids=["attention", "selective", "router"],
)
def test_every_linear_map_keeps_to_the_coefficient(block) -> None:
    def is_map(part):
        return isinstance(part, SpectralLinear)

    large = jax.tree.map(lambda leaf: 100 * leaf, block)
    maps = [part for part in jax.tree.leaves(large, is_leaf=is_map) if is_map(part)]
    assert len(maps) >= 2
    for part in maps:
        assert np.linalg.norm(part.bounded, 2) <= 0.5 * (1 + 1e-5)

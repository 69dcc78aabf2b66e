"""The structured Mamba operator as a whole equals its formula, written out here in plain numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import StructuredMamba
from l2e.core.traced import runtime

N, D, WIDTH, HEADS = 9, 3, 8, 2
KEY = jax.random.key(11)


def softmax(rows):
    weights = np.exp(rows - rows.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def linear(part, rows):
    """An affine map whose weight is scaled down to a spectral norm of one, by the operator's own smooth bound."""
    return rows @ np.asarray(part.bounded).T + np.asarray(part.bias)


def selective(block, tokens):
    timescale, transform = np.split(linear(block.parameters, tokens), 2, axis=-1)
    z = 1 / (1 + np.exp(-linear(block.gate, tokens)))
    mixed = z * timescale * transform * tokens + (1 - z) * linear(block.passthrough, tokens)
    centred = mixed - mixed.mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-6)
    return normed * np.asarray(block.scale) + np.asarray(block.shift)


def attention(block, tokens):
    query, key, value = (
        linear(part, tokens).reshape(N, HEADS, -1).swapaxes(0, 1) for part in (block.query, block.key, block.value)
    )
    mixed = softmax(query @ key.swapaxes(1, 2) / np.sqrt(WIDTH // HEADS)) @ value
    return linear(block.output, mixed.swapaxes(0, 1).reshape(N, WIDTH))


def statistics(x, scores):
    logarithms = np.log10(x.std(axis=0))
    offset = (x[0] - x.mean(axis=0)) / x.std(axis=0)
    middle = scores[(N - 1) // 2]
    return np.asarray(
        [logarithms.mean() / 4, logarithms.std(), np.sqrt((offset**2).mean()), scores[0], middle, 0.0],
    )


def formula(operator, x, f, residual=True, swapped=False):
    """`x + step * unit * (l_ssm tanh(Psi_m(H_mamba)) + l_attn tanh(Psi_a(H_attn)))` of a population sorted by value."""
    scores = np.tanh((f - f.mean()) / f.std())
    values = np.stack([np.linspace(-1, 1, N), scores], axis=1)
    if operator.absolute:
        unit, tokens = np.ones(D), np.concatenate([2 * x - 1, values], axis=1)
    else:
        unit = x.std(axis=0)
        tokens = np.concatenate([(x - x.mean(axis=0)) / unit, (x - x[0]) / unit, values], axis=1)
    embedded = linear(operator.embedding, tokens)
    attended = attention(operator.attention, embedded) + (embedded if residual else 0)
    by_selection = np.tanh(linear(operator.selective_head, selective(operator.selective, embedded)))
    by_attention = np.tanh(linear(operator.attention_head, attended))
    hidden = np.tanh(linear(operator.router.hidden, statistics(x, scores)))
    routes = softmax(linear(operator.router.output, hidden))
    first, second = routes[::-1] if swapped else routes
    return x + float(operator.step) * unit * (first * by_selection + second * by_attention)


@pytest.fixture(params=[False, True], ids=["relative", "absolute"])
def case(request):
    """An operator whose weights are all away from their first values, and a sorted population, in float64."""
    with runtime.float64():
        operator = StructuredMamba(D, width=WIDTH, heads=HEADS, absolute=request.param, noise=False, key=KEY)
        leaves, structure = jax.tree.flatten(operator)
        keys = jax.random.split(KEY, len(leaves))
        moved = [
            leaf.astype(jnp.float64) + 0.7 * jax.random.normal(key, leaf.shape)
            for leaf, key in zip(leaves, keys, strict=True)
        ]
        operator = jax.tree.unflatten(structure, moved)
        points = np.random.default_rng(2).uniform(size=(N, D))
        f = ((points - 0.3) ** 2).sum(axis=1)
        order = np.argsort(f)
        x, f = points[order], f[order]
        proposed = np.asarray(operator(jnp.asarray(x), jnp.asarray(f), KEY))
        yield operator, x, f, proposed


def test_the_whole_operator_equals_its_formula(case) -> None:
    operator, x, f, proposed = case
    np.testing.assert_allclose(proposed, formula(operator, x, f), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("mutant", [{"residual": False}, {"swapped": True}], ids=["without + E", "routes swapped"])
def test_a_formula_with_a_term_missing_or_swapped_is_told_apart(case, mutant) -> None:
    operator, x, f, proposed = case
    assert np.abs(proposed - formula(operator, x, f, **mutant)).max() > 1e-4

"""What a function of one row becomes with the batch as the last axis is what `jax.vmap` makes of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from l2e.problems._neuroevolution.batch_last import LONGEST, batch_last

ROWS = 7
MATRIX = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
PLACES = np.asarray([2, 0, 2])


def places(x):
    return x[PLACES], x.at[PLACES].add(1.5), x.at[jnp.asarray([1, 1])].add(x[:2]), jnp.zeros(4).at[PLACES].add(x[:3])


def loop(x):
    def body(carry, row):
        total, constant = carry
        return (total * 0.5 + row.sum() + x[0], constant), (total, constant)

    return lax.scan(body, (x.sum(), 1.0), jnp.outer(x, x)), lax.scan(body, (x.sum(), 1.0), MATRIX, reverse=True)


FUNCTIONS = {
    "arithmetic": lambda x: (jnp.where(x > 0, x, jnp.sin(x)), -x / (2 + x**2), 3.0, jnp.atan2(x, 1 + x[::-1])),
    "types": lambda x: ((x > 0).astype(jnp.int32), jnp.round(x).astype(jnp.int32) % 3, x.argmax()),
    "shapes": lambda x: (x.reshape(2, 2).T, x[None, 1:3, None], jnp.pad(x, (1, 2)), jnp.tile(x, (2, 3)), x[::-1]),
    "joined": lambda x: (jnp.concatenate([x, MATRIX[0], x[:0]]), jnp.stack([x, jnp.ones(4)], 1), x[:, None] + MATRIX.T),
    "reductions": lambda x: (x.sum(), x.max(), (x > 0).any(), jnp.outer(x, x).min(0), (x > -9).all(), x[:0].sum()),
    "a long sum": lambda x: jnp.outer(x, jnp.arange(LONGEST + 1.0)).sum(axis=(0, 1)),
    "products": lambda x: (
        MATRIX @ x,
        x @ MATRIX.T,
        x @ x,
        jnp.outer(x, x) @ MATRIX.T,
        jnp.einsum("i,kj->jik", x, MATRIX),
    ),
    "products of parts": lambda x: jax.vmap(lambda row, y: y @ row)(jnp.outer(x, x).reshape(2, 2, 4), x.reshape(2, 2)),
    "places": places,
    "places that differ between rows": lambda x: (x[jnp.argsort(x)], x.at[x.argmax()].set(0), lax.cumsum(x)),
    "loop": loop,
    "a loop that ends by itself": lambda x: lax.while_loop(lambda y: y.sum() < 9, lambda y: y + 1, x),
    "branches": lambda x: (lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), lax.switch(1, [jnp.sin, jnp.cos], x)),
    "functions with their own derivative": lambda x: (jax.nn.relu(x), jax.nn.softplus(x), jnp.linalg.norm(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("outer", [jax.jit, lambda function: function])
def test_results_are_those_of_vmap(name, outer):
    function = FUNCTIONS[name]
    points = np.random.default_rng(0).normal(size=(ROWS, 4)).astype(np.float32)
    found = outer(batch_last(function, ROWS))(points.T)
    expected = jax.vmap(function, out_axes=-1)(points)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)


def test_trees_go_in_and_come_out():
    found = batch_last(lambda tree, shift: {"sum": tree["a"] + tree["b"][0] + shift}, 3)(
        {"a": jnp.arange(3.0), "b": jnp.ones((2, 3))}, jnp.zeros(3)
    )
    np.testing.assert_array_equal(found["sum"], [1, 2, 3])

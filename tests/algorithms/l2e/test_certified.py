"""The bound of the certified operator: for any weights, over pairs, along runs, and down to the fixed point."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import L2E, Shared, diagnostics
from l2e.algorithms.l2e.operators.certified import Certified, balanced, sorted_pairs, unit_norm
from l2e.core.traced import runtime

N, D = 12, 4
ROUNDING = 1 + 1e-9


@pytest.fixture(autouse=True)
def _double():
    with runtime.float64():
        yield


def wild(operator, key, scale):
    """The operator with weights of any size."""
    leaves, structure = jax.tree.flatten(operator)
    keys = jax.random.split(key, len(leaves))
    drawn = [scale * jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, drawn)


def population(key, spread=1.0):
    first, second = jax.random.split(key)
    points = jnp.clip(0.5 + spread * (jax.random.uniform(first, (N, D)) - 0.5), 0, 1)
    return points, jax.random.normal(second, (N,)) * 10.0


@eqx.filter_jit
def ratios(operator, values, key, pairs):
    first, second, lengths = jax.random.split(key, 3)
    x = jax.random.uniform(first, (pairs, N, D))
    steps = jax.random.normal(second, (pairs, N, D)) * 10 ** jax.random.uniform(lengths, (pairs, 1, 1), minval=-6)
    moved = jax.vmap(lambda p: operator(p, values, key))
    return jnp.linalg.norm(moved(x + steps) - moved(x), axis=(1, 2)) / jnp.linalg.norm(steps, axis=(1, 2))


@eqx.filter_jit
def jacobian(operator, points, values, key):
    return jax.jacfwd(lambda x: operator(x, values, key))(points).reshape(N * D, N * D)


@eqx.filter_jit
def squares_gradient(operator, points, values, key):
    return eqx.filter_grad(lambda o: jnp.sum(o(points, values, key) ** 2))(operator)


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
def test_the_bound_holds_over_pairs_for_any_weights(scale, noise):
    for seed in range(6):
        key = jax.random.key(seed)
        operator = wild(Certified(D, contraction=0.8, noise=noise, key=key), key, scale)
        values = population(key)[1].at[:seed].set(jnp.inf)
        found = ratios(operator, values, key, 300)
        assert float(found.max()) <= 0.8 * ROUNDING
        assert float(found.max()) > 0.05  # the operator is not constant: the bound is about something


def test_the_whole_jacobian_is_within_the_bound_and_the_bound_is_reached():
    key = jax.random.key(3)
    points, values = population(key)
    largest = []
    for seed in range(5):
        operator = wild(Certified(D, contraction=0.8, key=key), jax.random.key(seed), 3.0)
        largest.append(float(jnp.linalg.norm(jacobian(operator, points, values, key), 2)))
    assert max(largest) <= 0.8 * ROUNDING
    closed = eqx.tree_at(lambda o: o.share, Certified(D, contraction=0.8, key=key), jnp.asarray([0.0, 0.0, -50.0]))
    norm = float(jnp.linalg.norm(jacobian(closed, points, values, key), 2))
    assert norm == pytest.approx(0.8, rel=1e-4)  # shifts of all individuals together


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.0])
def test_averaged_iterations_reach_the_fixed_point_within_the_predicted_distance(alpha):
    for seed in range(4):
        key = jax.random.key(seed)
        operator = wild(Certified(D, contraction=0.9, key=key), key, 2.0)
        optimizer = L2E(Shared(operator), alpha=alpha, population_size=N)
        points, values = population(key)
        found = diagnostics.contraction(optimizer, points, values, key, 60)
        assert found.rate == pytest.approx(1 - alpha + alpha * 0.9)
        assert found.residual < 1e-12  # x* exists
        assert found.holds
        assert found.predicted is not None
        assert np.all(found.measured <= found.predicted * ROUNDING + 1e-12)
        assert found.measured_rate <= found.rate


def test_two_runs_from_anywhere_end_at_the_same_point():
    key = jax.random.key(7)
    operator = wild(Certified(D, contraction=0.7, key=key), key, 1.0)
    values = population(key)[1]
    step = eqx.filter_jit(lambda x: 0.1 * x + 0.9 * operator(x, values, key))
    x, y = population(key)[0], 100 * jax.random.normal(key, (N, D))
    for _ in range(120):
        apart, (x, y) = jnp.linalg.norm(x - y), (step(x), step(y))
        assert float(jnp.linalg.norm(x - y)) <= float(apart) * operator.rate(0.9) * ROUNDING + 1e-12
    np.testing.assert_allclose(x, y, atol=1e-9)


def test_runs_that_share_keys_approach_each_other_with_noise():
    key = jax.random.key(8)
    operator = Certified(D, contraction=0.9, noise=True, key=key)
    values = population(key)[1]
    step = eqx.filter_jit(lambda x, k: operator(x, values, k))
    x, y = population(key)[0], population(jax.random.key(9))[0]
    assert not np.allclose(step(x, jax.random.key(0)), step(x, jax.random.key(1)))
    for seed in range(30):
        apart = jnp.linalg.norm(x - y)
        x, y = step(x, jax.random.key(seed)), step(y, jax.random.key(seed))
        assert float(jnp.linalg.norm(x - y)) <= float(apart) * 0.9 * ROUNDING


def test_order_of_individuals_does_not_matter():
    key = jax.random.key(1)
    operator = Certified(D, key=key)
    points, values = population(key)
    shuffled = jax.random.permutation(key, N)
    np.testing.assert_allclose(
        operator(points, values, key)[shuffled], operator(points[shuffled], values[shuffled], key), atol=1e-12
    )


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1000.0])
def test_mixing_has_norm_at_most_1(scale):
    for seed in range(5):
        weights = balanced(scale * jax.random.normal(jax.random.key(seed), (N, N)))
        assert float(jnp.linalg.norm(weights, 2)) <= ROUNDING
        assert float(weights.min()) >= 0
    if scale <= 1:  # balanced in ten steps
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-3)
        np.testing.assert_allclose(weights.sum(0), 1, atol=1e-3)


def test_rows_that_sum_to_1_are_not_enough():
    greedy = jnp.zeros((N, N)).at[:, 0].set(1.0)
    assert float(jnp.linalg.norm(greedy, 2)) == pytest.approx(np.sqrt(N))
    assert float(jnp.linalg.norm(balanced(50 * greedy), 2)) <= ROUNDING


def test_layers():
    weight = jax.random.normal(jax.random.key(0), (6, 3))
    assert float(jnp.linalg.norm(unit_norm(10 * weight), 2)) == pytest.approx(1)
    np.testing.assert_array_equal(unit_norm(0.01 * weight), 0.01 * weight)
    np.testing.assert_array_equal(sorted_pairs(jnp.asarray([[3.0, 1.0, 2.0, 5.0]])), [[1.0, 3.0, 2.0, 5.0]])


def test_weights_have_finite_gradients():
    key = jax.random.key(2)
    points, values = population(key)
    operator = Certified(D, noise=True, key=key)
    gradients = squares_gradient(operator, points, values.at[0].set(jnp.inf), key)
    leaves = jax.tree.leaves(gradients)
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    assert all(float(jnp.abs(leaf).max()) > 0 for leaf in leaves)


@pytest.mark.parametrize("wrong", [{"contraction": 1.0}, {"contraction": -0.1}, {"width": 3}, {"width": 0}])
def test_what_cannot_be_certified_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        Certified(D, key=jax.random.key(0), **wrong)

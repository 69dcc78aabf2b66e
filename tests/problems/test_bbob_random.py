"""Random BBOB-like tasks: known optimum, drawn inside compiled code, a function of their key."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.problems import BBOB, random_bbob, sample_bbob
from l2e.problems._bbob.random import HARDNESS

FUNCTIONS = range(1, 25)
DIMENSION = 4


@functools.partial(jax.jit, static_argnums=0)
def sample_and_evaluate(function, keys, points):
    """Draw a task per key, and give the tasks with their values at the points and, last, at x_opt."""

    def one(key):
        task = sample_bbob(key, function, DIMENSION)
        return task, task.evaluate(jnp.concatenate([points, task.parameters.x_opt[None]]))

    return jax.vmap(one)(keys)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_tasks_are_drawn_under_jit_and_vmap_and_know_their_optimum(function):
    points = np.random.default_rng(0).uniform(-5, 5, (64, DIMENSION)).astype(np.float32)
    tasks, values = sample_and_evaluate(function, jax.random.split(jax.random.key(function), 5), points)
    assert values.shape == (5, 65)
    assert values.dtype == jnp.float32
    assert bool(jnp.all(jnp.isfinite(values)))
    f_opt = tasks.parameters.f_opt
    np.testing.assert_allclose(values[:, -1], f_opt, rtol=0, atol=1e-5)
    assert bool(jnp.all(values >= f_opt[:, None] - 1e-5))
    assert len({tuple(row) for row in np.asarray(values).tolist()}) == 5, "different keys must give different tasks"
    assert bool(jnp.all(jnp.abs(tasks.parameters.x_opt) <= (5 if function == 5 else 4)))


@pytest.mark.parametrize("function", [1, 5, 15, 20, 22, 24])
def test_eager_form_is_float64_and_a_function_of_its_seed(function):
    first, again, other = (random_bbob(seed, function, DIMENSION) for seed in (7, 7, 8))
    assert isinstance(first, BBOB)
    assert first.parameters.x_opt.dtype == np.float64
    points = np.random.default_rng(0).uniform(-5, 5, (30, DIMENSION))
    np.testing.assert_array_equal(first(points), again(points))
    assert not np.allclose(first(points), other(points))
    assert first(first.optimum.x) == pytest.approx(first.optimum.f, rel=0, abs=1e-12)
    assert np.all(first(points) > first.optimum.f)


def test_rotations_are_orthogonal_and_conditioning_varies():
    keys = jax.random.split(jax.random.key(0), 200)
    tasks = jax.jit(jax.vmap(lambda key: sample_bbob(key, 10, DIMENSION)))(keys)
    rotations = np.asarray(tasks.parameters.inner, np.float64)
    np.testing.assert_allclose(rotations @ rotations.swapaxes(1, 2), np.tile(np.eye(DIMENSION), (200, 1, 1)), atol=1e-5)
    # Haar: every entry has mean 0 and variance 1/d
    assert np.max(np.abs(rotations.mean(axis=0))) < 5 * np.sqrt(1 / DIMENSION / 200)
    np.testing.assert_allclose((rotations**2).mean(axis=0), np.full((DIMENSION, DIMENSION), 1 / DIMENSION), atol=0.1)
    exponents = np.log10(np.asarray(tasks.parameters.weights)[:, -1]) / 6
    assert exponents.min() == pytest.approx(HARDNESS[0], abs=0.02)
    assert exponents.max() == pytest.approx(HARDNESS[1], abs=0.02)


@pytest.mark.parametrize(("function", "dimension"), [(0, 5), (25, 5), (3, 1)])
def test_arguments_out_of_range_are_refused(function, dimension):
    with pytest.raises(ValueError, match=r"must be (at least|between)"):
        random_bbob(0, function, dimension)


@pytest.mark.parametrize(("function", "turns"), [(2, True), (3, True), (4, True), (1, False), (10, False)])
def test_rotated_is_for_the_separable_functions(function, turns) -> None:
    points = jax.random.uniform(jax.random.key(1), (5, DIMENSION), minval=-5, maxval=5)
    key = jax.random.key(0)
    plain, rotated = (sample_bbob(key, function, DIMENSION, rotated=rotated) for rotated in (False, True))
    same = np.array_equal(plain.evaluate(points), rotated.evaluate(points))
    assert same is not turns
    np.testing.assert_allclose(plain.optimum.x, rotated.optimum.x)

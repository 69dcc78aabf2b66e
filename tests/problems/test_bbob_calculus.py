"""BBOB as JAX code: gradients, compiled = eager, mapped = looped, float32, one compilation, clear errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.core.traced import runtime
from l2e.core.traced.problem import stack
from l2e.problems import bbob, paper_bbob

FUNCTIONS = range(1, 25)
DIMENSION = 5
# f16 and f19 have waves of length 1e-6, so differences must be taken over much less
STEPS = {16: 1e-9, 19: 1e-9}
# what float32 gives, in units of max(|f|, |f_opt|); measured on 500 points: 2.1e-4 for f16, 2.9e-3 for f19, 2e-4 for
# f23, whose fine structure float32 cannot follow, and 3.1e-5 or less for the others
FLOAT32 = {16: 1e-3, 19: 1e-2, 23: 1e-3}


@jax.jit
def gradients(problem, points):
    return jax.vmap(jax.grad(lambda point: problem.evaluate(point[None])[0]))(points)


@jax.jit
def evaluate(problem, points):
    return problem.evaluate(points)


def sample(n, width=5.0):
    return np.random.default_rng(0).uniform(-width, width, (n, DIMENSION))


def central_differences(problem, points, step):
    steps = step * np.eye(DIMENSION)
    columns = [(problem(points + row) - problem(points - row)) / (2 * step) for row in steps]
    return np.stack(columns, axis=1)


def katsuura_gradient(problem, point):
    """The derivative of f23 term by term: its kinks are too close for differences."""
    matrix = np.asarray(problem.parameters.inner)
    z = matrix @ (point - problem.optimum.x)
    phases = 2.0 ** np.arange(1, 33)[:, None] * z
    rests = phases - np.round(phases)
    sums = np.sum(np.abs(rests) / 2.0 ** np.arange(1, 33)[:, None], axis=0)
    ranks = np.arange(1, DIMENSION + 1)
    exponent = 10 / DIMENSION**1.2
    product = np.prod((1 + ranks * sums) ** exponent)
    by_z = 10 / DIMENSION**2 * product * exponent * ranks / (1 + ranks * sums) * np.sum(np.sign(rests), axis=0)
    return matrix.T @ by_z + 2 * np.sign(point) * np.maximum(np.abs(point) - 5, 0)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_central_differences(function):
    problem, points = bbob(function, 1, DIMENSION), sample(12, 6.0)
    with runtime.float64():
        ours = np.asarray(gradients(problem, points))
    if function == 23:
        expected = np.stack([katsuura_gradient(problem, point) for point in points])
    else:
        expected = central_differences(problem, points, STEPS.get(function, 1e-6))
    scale = np.maximum(np.max(np.abs(expected), axis=1, keepdims=True), 1e-9)  # f7 is flat
    np.testing.assert_allclose(ours / scale, expected / scale, rtol=0, atol=1e-4)


def test_step_ellipsoid_is_flat_in_the_box():
    with runtime.float64():
        np.testing.assert_array_equal(gradients(bbob(7, 1, DIMENSION), sample(50)), np.zeros((50, DIMENSION)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_finite_at_the_optimum_and_on_a_grid(function):
    problem = bbob(function, 1, DIMENSION)
    axes = problem.optimum.x + np.concatenate([np.zeros((1, DIMENSION)), np.eye(DIMENSION), -np.eye(DIMENSION)])
    special = np.concatenate([axes, np.zeros((1, DIMENSION))])  # coordinates of z that are exactly zero
    with runtime.float64():
        assert bool(jnp.all(jnp.isfinite(gradients(problem, special))))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled_eager_and_mapped_values_agree(function):
    problems, points = [bbob(function, instance, DIMENSION) for instance in (1, 2, 3)], sample(20)
    compiled = np.stack([problem(points) for problem in problems])
    with runtime.float64():
        eager = problems[0].evaluate(jnp.asarray(points))
        mapped = jax.vmap(lambda problem: evaluate(problem, points))(stack(problems))
    np.testing.assert_allclose(eager, compiled[0], rtol=1e-10)
    np.testing.assert_allclose(mapped, compiled, rtol=1e-10)
    assert problems[0](points[0]) == pytest.approx(compiled[0, 0], rel=1e-10)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_float32_points_give_close_float32_values(function):
    problem, points = bbob(function, 1, DIMENSION), sample(200, 6.0).astype(np.float32)
    exact, x_opt = problem(points), problem.optimum.x.astype(np.float32)
    rough = evaluate(problem, points)
    assert rough.dtype == jnp.float32
    error = np.abs(np.asarray(rough, np.float64) - exact) / np.maximum(np.abs(exact), abs(problem.optimum.f))
    assert np.max(error) < FLOAT32.get(function, 1e-4)
    assert bool(jnp.all(jnp.isfinite(gradients(problem, np.stack([*points[:10], x_opt])))))
    with runtime.float64():
        np.testing.assert_array_equal(evaluate(problem, points), rough)


def test_instances_share_one_compilation():
    traces = []

    @jax.jit
    def counted(problem, points):
        traces.append(problem.name)
        return problem.evaluate(points)

    for instance in (1, 2, 3):
        counted(bbob(15, instance, DIMENSION), sample(3))
    assert len(traces) == 1


def test_one_point_gives_a_float_and_a_batch_an_array():
    problem = bbob(function=10, instance=3, dimension=20)
    assert isinstance(problem(np.zeros(20)), float)
    assert problem([[0] * 20, [1] * 20]).shape == (2,)
    assert problem.dimension == 20
    np.testing.assert_array_equal(problem.space.lower, np.full(20, -5.0))
    np.testing.assert_array_equal(problem.space.upper, np.full(20, 5.0))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"function": 25}, ValueError, "function must be between 1 and 24, got 25"),
        ({"function": 0}, ValueError, "function must be at least 1, got 0"),
        ({"function": "sphere"}, TypeError, "function must be an integer, got 'sphere'"),
        ({"function": 1, "instance": 0}, ValueError, "instance must be at least 1, got 0"),
        ({"function": 1, "instance": 1.5}, TypeError, "instance must be an integer, got 1.5"),
        ({"function": 1, "dimension": 1}, ValueError, "dimension must be at least 2, got 1"),
        ({"function": 1, "dimension": True}, TypeError, "dimension must be an integer, got True"),
    ],
)
def test_errors_say_what_was_given_and_what_is_allowed(arguments, error, message):
    with pytest.raises(error, match=message):
        bbob(**arguments)


def test_paper_instances_refuse_bad_arguments_too():
    with pytest.raises(ValueError, match="function must be between 1 and 24, got 30"):
        paper_bbob(30)

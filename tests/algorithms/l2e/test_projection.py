"""The projection onto the cube in a metric, its inverse, and the derivatives of both."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from l2e.algorithms.l2e.projection import Diagonal, Euclidean, LearnedDiagonal, LearnedLowRank, LowRank
from l2e.core.traced import runtime


def random_metric(d: int, r: int, seed: int, spread: float = 1.0, strength: float = 3.0):
    generator = np.random.default_rng(seed)
    return 10 ** (spread * generator.normal(size=d)), strength * generator.normal(size=(d, r))


@eqx.filter_jit
def projected(metric, points):
    return metric.project(points)


def nearest(point, diagonal, factor):
    """The same quadratic programme as bounded least squares, solved by scipy to the last digits."""
    root = np.concatenate([np.diag(np.sqrt(diagonal)), factor.T])
    return lsq_linear(root, root @ point, (0, 1), method="bvls", tol=1e-15).x


@pytest.mark.parametrize(
    ("d", "r", "spread", "strength"),
    [(1, 1, 1, 3), (5, 2, 1, 3), (10, 10, 0.3, 3), (10, 3, 2, 100)],
)
def test_low_rank_projection_solves_the_quadratic_programme(d, r, spread, strength) -> None:
    for seed in range(5):
        diagonal, factor = random_metric(d, r, seed, spread, strength)
        points = np.random.default_rng(seed + 100).normal(0.5, 1.0, size=(6, d))
        with runtime.float64():
            metric = LowRank(jnp.asarray(diagonal), jnp.asarray(factor))
            found = np.asarray(projected(metric, jnp.asarray(points)))
        expected = np.stack([nearest(point, diagonal, factor) for point in points])
        assert (found >= 0).all()
        assert (found <= 1).all()
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_low_rank_differs_from_clipping_and_points_inside_stay() -> None:
    diagonal, factor = random_metric(4, 2, 0)
    with runtime.float64():
        metric = LowRank(jnp.asarray(diagonal), jnp.asarray(factor))
        outside, inside = jnp.asarray([[1.5, 0.2, -0.4, 0.6]]), jnp.asarray([[0.1, 0.2, 0.3, 0.9]])
        assert np.abs(metric.project(outside) - np.clip(outside, 0, 1)).max() > 0.01
        np.testing.assert_allclose(metric.project(inside), inside, atol=1e-14)


@pytest.mark.parametrize("metric", [Euclidean(), Diagonal(jnp.asarray([0.1, 5.0]))], ids=["euclidean", "diagonal"])
def test_diagonal_projection_is_clipping(metric) -> None:
    points = jnp.asarray([[1.5, -0.5], [0.2, 7.0]])
    np.testing.assert_array_equal(metric.project(points), np.clip(points, 0, 1))
    diagonal = np.asarray(getattr(metric, "diagonal", np.ones(2)), float)
    for point, projected in zip(np.asarray(points, float), np.asarray(metric.project(points)), strict=True):
        np.testing.assert_allclose(nearest(point, diagonal, np.zeros((2, 1))), projected, atol=1e-6)


def test_solve_is_the_inverse_of_the_metric() -> None:
    diagonal, factor = random_metric(6, 2, 3)
    vectors = np.random.default_rng(0).normal(size=(4, 6))
    with runtime.float64():
        low_rank = LowRank(jnp.asarray(diagonal), jnp.asarray(factor)).solve(jnp.asarray(vectors))
        scaled = Diagonal(jnp.asarray(diagonal)).solve(jnp.asarray(vectors))
        np.testing.assert_array_equal(Euclidean().solve(jnp.asarray(vectors)), vectors)
    full = np.diag(diagonal) + factor @ factor.T
    np.testing.assert_allclose(low_rank, np.linalg.solve(full, vectors.T).T, rtol=1e-9)
    np.testing.assert_allclose(scaled, vectors / diagonal, rtol=1e-12)


def test_derivative_of_the_projection_equals_central_differences() -> None:
    diagonal, factor = random_metric(5, 2, 1)
    generator = np.random.default_rng(2)
    with runtime.float64():
        start = (jnp.asarray(generator.normal(0.5, 1, (3, 5))), jnp.asarray(diagonal), jnp.asarray(factor))
        direction = jax.tree.map(lambda leaf: jnp.asarray(generator.normal(size=leaf.shape)), start)
        weights = jnp.asarray(generator.normal(size=(3, 5)))

        def total(points, diagonal, factor):
            return jnp.vdot(weights, LowRank(diagonal, factor).project(points))

        total = jax.jit(total)
        gradient = jax.jit(jax.grad(total, argnums=(0, 1, 2)))(*start)
        exact = sum(jnp.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
        h = 1e-6
        ahead, behind = (
            total(*jax.tree.map(lambda s, d, sign=sign: s + sign * h * d, start, direction)) for sign in (1, -1)
        )
    assert float(exact) == pytest.approx((float(ahead) - float(behind)) / (2 * h), rel=1e-5)
    assert abs(float(exact)) > 1e-3


def test_float32_stays_float32() -> None:
    diagonal, factor = random_metric(5, 2, 1)
    metric = LowRank(jnp.asarray(diagonal, jnp.float32), jnp.asarray(factor, jnp.float32))
    points = jax.random.normal(jax.random.key(0), (4, 5))
    found = projected(metric, points)
    assert found.dtype == jnp.float32
    expected = np.stack([nearest(np.asarray(point, float), diagonal, factor) for point in points])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_learned_metrics_begin_near_the_identity() -> None:
    points = jax.random.normal(jax.random.key(0), (4, 5))
    np.testing.assert_array_equal(LearnedDiagonal(5).solve(points), points)
    low_rank = LearnedLowRank(5, 2, key=jax.random.key(1))
    np.testing.assert_allclose(low_rank.solve(points), points, atol=0.3)
    assert np.abs(low_rank.factor).max() > 0  # where U is 0 it has no gradient

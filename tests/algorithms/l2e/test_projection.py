"""The projection of diagonal metrics onto the cube is clipping, and their steps are scaled by the inverse."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from l2e.algorithms.l2e.projection import Diagonal, Euclidean
from l2e.core.traced import runtime


def nearest(point, diagonal):
    """The nearest point of the cube in the norm of a diagonal matrix, as bounded least squares solved by scipy."""
    root = np.diag(np.sqrt(diagonal))
    return lsq_linear(root, root @ point, (0, 1), method="bvls", tol=1e-15).x


@pytest.mark.parametrize("metric", [Euclidean(), Diagonal(jnp.asarray([0.1, 5.0]))], ids=["euclidean", "diagonal"])
def test_diagonal_projection_is_clipping(metric) -> None:
    points = jnp.asarray([[1.5, -0.5], [0.2, 7.0]])
    np.testing.assert_array_equal(metric.project(points), np.clip(points, 0, 1))
    diagonal = np.asarray(getattr(metric, "diagonal", np.ones(2)), float)
    for point, projected in zip(np.asarray(points, float), np.asarray(metric.project(points)), strict=True):
        np.testing.assert_allclose(nearest(point, diagonal), projected, atol=1e-6)


def test_solve_is_the_inverse_of_the_metric() -> None:
    generator = np.random.default_rng(3)
    diagonal, vectors = 10 ** generator.normal(size=6), generator.normal(size=(4, 6))
    with runtime.float64():
        scaled = Diagonal(jnp.asarray(diagonal)).solve(jnp.asarray(vectors))
        np.testing.assert_array_equal(Euclidean().solve(jnp.asarray(vectors)), vectors)
    np.testing.assert_allclose(scaled, vectors / diagonal, rtol=1e-12)

"""Projection onto the unit cube in the metric of a preconditioner P: `argmin (z - x)^T P (z - x)`, `0 <= z <= 1`."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from l2e.core.traced.types import Point, Points


class AbstractMetric(eqx.Module):
    """A positive definite matrix P: it scales steps by its inverse, and measures distances to the cube."""

    @abstractmethod
    def solve(self, vectors: Points) -> Points:
        """`P^-1 v` for each row."""

    @abstractmethod
    def project(self, points: Points) -> Points:
        """The nearest point of the unit cube to each row, in the norm of P."""


class Euclidean(AbstractMetric):
    """P is the identity."""

    def solve(self, vectors: Points) -> Points:
        return vectors

    def project(self, points: Points) -> Points:
        return jnp.clip(points, 0, 1)


class Diagonal(AbstractMetric):
    """P is diagonal: its distance is a sum over coordinates, so each is clipped as in the Euclidean one.

    **Arguments:** `diagonal`: positive numbers, one per coordinate.
    """

    diagonal: Point

    def solve(self, vectors: Points) -> Points:
        return vectors / self.diagonal.astype(vectors.dtype)

    def project(self, points: Points) -> Points:
        return jnp.clip(points, 0, 1)

"""Projection onto the unit cube in the metric of a preconditioner P: `argmin (z - x)^T P (z - x)`, `0 <= z <= 1`."""

from abc import abstractmethod
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.nn import WEIGHTS
from l2e.core.traced.types import Key, Point, Points


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


class LowRank(AbstractMetric):
    """`P = diag(a) + U U^T`: the projection is a quadratic programme, solved in its r dual variables.

    **Arguments:** `diagonal`: a, positive numbers, one per coordinate; `factor`: U, shape (d, r).
    """

    diagonal: Point
    factor: Float[Array, "d r"]

    def solve(self, vectors: Points) -> Points:
        a, U = self.diagonal.astype(vectors.dtype), self.factor.astype(vectors.dtype)
        scaled = U / a[:, None]
        small = jnp.eye(U.shape[1], dtype=U.dtype) + U.T @ scaled  # Woodbury
        return vectors / a - jnp.linalg.solve(small, scaled.T @ vectors.T).T @ scaled.T

    def project(self, points: Points) -> Points:
        a, U = self.diagonal.astype(points.dtype), self.factor.astype(points.dtype)
        return jax.vmap(lambda x: _nearest(x, a, U))(points)


class LearnedDiagonal(AbstractMetric):
    """`P = diag(exp(w))`, with one weight per coordinate; at first the identity."""

    log_diagonal: Point

    def __init__(self, dimension: int):
        self.log_diagonal = jnp.zeros((dimension,), WEIGHTS)

    def solve(self, vectors: Points) -> Points:
        return Diagonal(jnp.exp(self.log_diagonal)).solve(vectors)

    def project(self, points: Points) -> Points:
        return Diagonal(jnp.exp(self.log_diagonal)).project(points)


class LearnedLowRank(AbstractMetric):
    """`P = diag(exp(w)) + U U^T`, both learned; U is small at first, and not 0, where it would have no gradient.

    **Arguments:** `dimension`: of a point; `rank`: columns of U; `key`: for the first U.
    """

    log_diagonal: Point
    factor: Float[Array, "d r"]

    def __init__(self, dimension: int, rank: int, *, key: Key):
        self.log_diagonal = jnp.zeros((dimension,), WEIGHTS)
        self.factor = FIRST_FACTOR * jax.random.normal(key, (dimension, rank), WEIGHTS)

    def solve(self, vectors: Points) -> Points:
        return LowRank(jnp.exp(self.log_diagonal), self.factor).solve(vectors)

    def project(self, points: Points) -> Points:
        return LowRank(jnp.exp(self.log_diagonal), self.factor).project(points)


FIRST_FACTOR = 0.1
"""Standard deviation of the first entries of U."""

MetricName = Literal["euclidean", "diagonal", "low-rank"]


def named_metric(name: MetricName, dimension: int, rank: int, key: Key) -> AbstractMetric:
    """A metric from the words of a training file."""
    match name:
        case "euclidean":
            return Euclidean()
        case "diagonal":
            return LearnedDiagonal(dimension)
        case _:
            return LearnedLowRank(dimension, rank, key=key)


NEWTON_STEPS = 100
"""Bound of the Newton steps; the dual is piecewise quadratic, so they end after as many as pieces are crossed."""

BISECTIONS = 60
"""How finely the length of a step is searched: 2^-BISECTIONS of the full one."""


def _nearest(x: Point, a: Point, U: Float[Array, "d r"]) -> Point:
    """Semi-smooth Newton on the dual of `min a (z - x)^2 + t^2, t = U^T (z - x)`.

    For multipliers m the minimiser is `z = clip(x - U m / a)`, `t = m`, and the dual's gradient `U^T (z - x) - m`. It
    is strongly concave, so steps to its maximum on each Newton direction lead to its one maximum. One more Newton step
    outside the search, at its end, does not move the result but gives it the right derivative (implicit
    differentiation).
    """
    free = jax.lax.stop_gradient((x, a, U))
    m = jax.lax.stop_gradient(_multipliers(*free))
    m = m + _newton_step(m, x, a, U)
    return jnp.clip(x - U @ m / a, 0, 1)


def _multipliers(x: Point, a: Point, U: Float[Array, "d r"]) -> Float[Array, "r"]:
    tolerance = 8 * jnp.finfo(x.dtype).eps

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        step, _, moved = carry
        return (step < NEWTON_STEPS) & (moved > tolerance)

    def advance(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        step, m, _ = carry
        direction = _newton_step(m, x, a, U)
        change = _step_length(m, direction, x, a, U) * direction
        return step + 1, m + change, jnp.max(jnp.abs(change)) / (1 + jnp.max(jnp.abs(m)))

    start = (jnp.zeros((), jnp.int32), jnp.zeros((U.shape[1],), x.dtype), jnp.asarray(jnp.inf, x.dtype))
    return jax.lax.while_loop(unfinished, advance, start)[1]


def _step_length(m: Array, direction: Array, x: Point, a: Point, U: Float[Array, "d r"]) -> Float[Array, ""]:
    """Where the dual is largest on the way of a Newton step, by bisection of its slope, which only falls."""
    place, across = x - U @ m / a, U @ direction

    def slope(length: Array) -> Array:
        moved = jnp.clip(place - length * across / a, 0, 1) - x
        return across @ moved - direction @ (m + length * direction)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        rising = slope(middle) > 0
        return jnp.where(rising, middle, low), jnp.where(rising, high, middle)

    zero, one = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    rounding = 1e3 * jnp.finfo(x.dtype).eps * jnp.abs(slope(zero))
    shorter = jax.lax.fori_loop(0, BISECTIONS, halve, (zero, one))[1]
    return jnp.where(slope(one) >= -rounding, one, shorter)


def _newton_step(m: Float[Array, "r"], x: Point, a: Point, U: Float[Array, "d r"]) -> Float[Array, "r"]:
    inside = x - U @ m / a
    gradient = U.T @ (jnp.clip(inside, 0, 1) - x) - m
    moving = jax.lax.stop_gradient(((inside > 0) & (inside < 1)) / a)
    curvature = jnp.eye(U.shape[1], dtype=x.dtype) + (U * moving[:, None]).T @ U
    return jnp.linalg.solve(jax.lax.stop_gradient(curvature), gradient)

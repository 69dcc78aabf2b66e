"""What operators see of a population: its order, its values without their scale, its spread, its statistics."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from l2e.core.traced.types import Key, Point, Points, Values

FLOOR = 1e-20
"""Added to variances: the spread of a collapsed population is 1e-10 of the cube, and its derivative is finite."""

STATISTICS = 6
"""How many numbers `statistics` gives."""


def ranking(values: Values) -> tuple[Int[Array, "n"], Int[Array, "n"]]:
    """The order from best to worst, failed last, and its inverse; equal values keep the order they came in."""
    order = jnp.argsort(values)
    places = jnp.arange(values.shape[0], dtype=order.dtype)
    return order, jnp.zeros_like(order).at[order].set(places)


def centred_ranks(values: Values) -> Values:
    """Ranks of sorted values from -1 for the best to 1 for the worst; 0 for a single one."""
    n = values.shape[0]
    return jnp.linspace(-1, 1, n, dtype=values.dtype) if n > 1 else jnp.zeros((n,), values.dtype)


def standard_scores(values: Values) -> Values:
    """`(f - mean f) / std f` over the values that are finite; failed ones get 0, and no gradient passes.

    Gradients through a normalised value say how the other individuals' values should move to change this one's
    standing, and explode where all values are nearly equal.
    """
    values = jax.lax.stop_gradient(values)
    finite = jnp.isfinite(values)
    count = jnp.maximum(jnp.sum(finite), 1)
    lowest = jnp.min(jnp.where(finite, values, jnp.inf))
    above = jnp.where(finite, values - jnp.where(jnp.isfinite(lowest), lowest, 0), 0)
    top = jnp.max(above)
    shares = above / jnp.where(top > 0, top, 1)  # in [0, 1]: squares of large values would overflow
    centred = jnp.where(finite, shares - jnp.sum(shares) / count, 0)
    deviation = jnp.sqrt(jnp.sum(centred**2) / count)
    return centred / jnp.where(deviation > 0, deviation, 1)


def squashed_scores(values: Values) -> Values:
    """`tanh` of the standard scores; failed ones get 1."""
    return jnp.where(jnp.isfinite(values), jnp.tanh(standard_scores(values)), 1)


def value_tokens(values: Values) -> Float[Array, "n 2"]:
    """Rank and squashed score of sorted values."""
    return jnp.stack([centred_ranks(values), squashed_scores(values)], axis=1)


def spread(points: Points) -> Point:
    """The standard deviation of each coordinate over the population, never 0."""
    return jnp.sqrt(jnp.var(points, axis=0) + FLOOR)


def statistics(points: Points, values: Values) -> Float[Array, "6"]:
    """Population statistics of a sorted population, each of the order of 1, for any size and dimension.

    How small and how uneven the spread is, how far the best is from the mean, how the values are distributed, and how
    many failed.
    """
    scale = spread(points)
    logarithms = jnp.log10(scale)
    offset = (points[0] - jnp.mean(points, axis=0)) / scale
    scores = squashed_scores(values)
    failed = jnp.mean(~jnp.isfinite(values), dtype=points.dtype)
    distance = jnp.sqrt(jnp.mean(offset**2) + FLOOR)
    unevenness = jnp.sqrt(jnp.var(logarithms) + FLOOR)
    middle = scores[(values.shape[0] - 1) // 2]
    return jnp.stack([jnp.mean(logarithms) / 4, unevenness, distance, scores[0], middle, failed])


def random_differences(key: Key, points: Points) -> Points:
    """For each individual the difference of two others drawn by the key, as in differential evolution.

    It scales and turns with the population, so it needs no step size of its own; the two may coincide.
    """
    n = points.shape[0]
    first, second = jax.random.randint(key, (2, n), 0, n, jnp.int32)
    return points[first] - points[second]

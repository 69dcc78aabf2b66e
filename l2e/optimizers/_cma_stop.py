"""When a CMA-ES run is over: Hansen's tutorial (2016), appendix B.3, with tolerances that follow the dtype."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e._types import Count, Point, Scalar, Values
from l2e.optimizers._cma_restarts import Schedule

STAGNATION_EVERY = 10
"""Stagnation is slow and its test the dearest: it is looked for every so many generations."""


class Watch(eqx.Module):
    """The latest best and median values, newest last, `+inf` before the first."""

    best: jax.Array
    median: jax.Array
    recent: int = eqx.field(static=True)  # how many of them the flatness test looks at
    seen: Count


def fresh_watch(dimension: int, population_size: int, dtype: jnp.dtype) -> Watch:
    """A watch that has seen nothing."""
    window = 120 + math.ceil(30 * dimension / population_size)
    recent = 10 + math.ceil(30 * dimension / population_size)
    empty = jnp.full((window,), jnp.inf, dtype)
    return Watch(best=empty, median=empty, recent=recent, seen=jnp.zeros((), jnp.int32))


def look(watch: Watch, ordered: Values, population: Count) -> Watch:
    """Add one generation, its values in ascending order."""
    median = ordered[(population - 1) // 2]
    return Watch(
        best=jnp.append(watch.best[1:], ordered[0]),
        median=jnp.append(watch.median[1:], median),
        recent=watch.recent,
        seen=watch.seen + 1,
    )


def is_over(
    watch: Watch, values: Values, sigma: Scalar, covariance: jax.Array, lengths: Point, schedule: Schedule
) -> jax.Array:
    """Whether the run has converged, stagnates, is degenerate, or has used what it was allowed."""
    d, dtype = lengths.shape[0], covariance.dtype
    epsilon = float(jnp.finfo(dtype).eps)
    small_step = sigma * jnp.sqrt(jnp.max(jnp.diag(covariance))) < max(1e-12, 20 * epsilon) * schedule.sigma
    degenerate = jnp.max(lengths) > min(1e7, 0.05 / epsilon) * jnp.min(lengths)
    iterations = 100 + 150 * (d + 3) ** 2 / jnp.sqrt(schedule.population.astype(dtype))
    too_long = watch.seen >= iterations
    broken = ~(jnp.isfinite(sigma) & jnp.all(jnp.isfinite(covariance)))
    used_up = schedule.run_used >= schedule.run_limit
    flat = _is_flat(watch, values, schedule.population, epsilon)
    due = (watch.seen >= watch.best.shape[0]) & (watch.seen % STAGNATION_EVERY == 0)
    stagnates = jax.lax.cond(due, _stagnates, lambda _: jnp.zeros((), bool), watch)
    return small_step | degenerate | too_long | broken | used_up | flat | stagnates


def _is_flat(watch: Watch, values: Values, population: Count, epsilon: float) -> jax.Array:
    """The best values of the last generations and all values of this one are equal up to a tolerance."""
    recent = watch.best[-watch.recent :]
    live = (jnp.arange(values.shape[0]) < population) & jnp.isfinite(values)
    lowest = jnp.minimum(jnp.min(recent), jnp.min(jnp.where(live, values, jnp.inf)))
    highest = jnp.maximum(jnp.max(recent), jnp.max(jnp.where(live, values, -jnp.inf)))
    tolerance = jnp.maximum(1e-11, 4 * epsilon * jnp.abs(lowest))
    return (watch.seen >= watch.recent) & (highest - lowest < tolerance)


def _stagnates(watch: Watch) -> jax.Array:
    """The newest 30% of best and median values are, in the median, no better than the oldest 30%."""
    part = watch.best.shape[0] * 3 // 10
    tracks = jnp.stack([watch.best[:part], watch.median[:part], watch.best[-part:], watch.median[-part:]])
    old_best, old_median, new_best, new_median = jnp.sort(tracks, axis=1)[:, part // 2]
    return (new_best >= old_best) & (new_median >= old_median)

"""When a CMA-ES run is over: Hansen's tutorial (2016), appendix B.3, with tolerances that follow the dtype.

Stagnation is looked for over 100 + 100 d^1.5 / lambda generations, pycma's number, and not over the tutorial's
120 + 30 d / lambda (or a fifth of the run): in 30-D that is 185 generations, within which a function that must first
teach CMA-ES its scales shows no progress yet, and such runs were given up. The history is kept as `SAMPLES` generations
evenly spread over the window, so its memory does not grow with the dimension and a restart with another population,
which has another window, shares the compilation.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.cmaes.restarts import Schedule
from l2e.core.traced.types import Count, Point, Scalar, Values

SAMPLES = 120
"""Generations of the window whose best and median values are kept."""


class Watch(eqx.Module):
    """The best values of the latest generations, and a history of best and median values; newest last."""

    recent: jax.Array  # of consecutive generations, for the flatness test
    best: jax.Array  # of one generation in each stride, as are the medians
    median: jax.Array
    seen: Count


def fresh_watch(dimension: int, population_size: int, dtype: jnp.dtype) -> Watch:
    """A watch that has seen nothing; `population_size` is that of the first run."""
    recent = jnp.full((10 + math.ceil(30 * dimension / population_size),), jnp.inf, dtype)
    history = jnp.full((SAMPLES,), jnp.inf, dtype)
    return Watch(recent=recent, best=history, median=history, seen=jnp.zeros((), jnp.int32))


def look(watch: Watch, ordered: Values, population: Count, dimension: int) -> Watch:
    """Add one generation, its values in ascending order."""
    best, median, seen = ordered[0], ordered[(population - 1) // 2], watch.seen + 1
    kept = seen % stride(population, dimension) == 0
    return Watch(
        recent=jnp.append(watch.recent[1:], best),
        best=jnp.where(kept, jnp.append(watch.best[1:], best), watch.best),
        median=jnp.where(kept, jnp.append(watch.median[1:], median), watch.median),
        seen=seen,
    )


def stride(population: Count, dimension: int) -> Count:
    """Every how many generations one is kept, so that the history spans the window of this population."""
    return 1 + (100 + jnp.floor(100 * dimension**1.5 / population).astype(jnp.int32)) // SAMPLES


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
    every = stride(schedule.population, d)
    due = (watch.seen >= SAMPLES * every) & (watch.seen % every == 0)
    stagnates = jax.lax.cond(due, _stagnates, lambda _: jnp.zeros((), bool), watch)
    return small_step | degenerate | too_long | broken | used_up | flat | stagnates


def _is_flat(watch: Watch, values: Values, population: Count, epsilon: float) -> jax.Array:
    """The best values of the last generations and all values of this one are equal up to a tolerance."""
    live = (jnp.arange(values.shape[0]) < population) & jnp.isfinite(values)
    lowest = jnp.minimum(jnp.min(watch.recent), jnp.min(jnp.where(live, values, jnp.inf)))
    highest = jnp.maximum(jnp.max(watch.recent), jnp.max(jnp.where(live, values, -jnp.inf)))
    tolerance = jnp.maximum(1e-11, 4 * epsilon * jnp.abs(lowest))
    return (watch.seen >= watch.recent.shape[0]) & (highest - lowest < tolerance)


def _stagnates(watch: Watch) -> jax.Array:
    """The newest 30% of best and median values are, in the median, no better than the oldest 30%."""
    part = SAMPLES * 3 // 10
    tracks = jnp.stack([watch.best[:part], watch.median[:part], watch.best[-part:], watch.median[-part:]])
    old_best, old_median, new_best, new_median = jnp.sort(tracks, axis=1)[:, part // 2]
    return (new_best >= old_best) & (new_median >= old_median)

"""Running algorithms inside JAX: one generation, and whole runs as one scan."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Key, Values


class Batch(NamedTuple):
    """The evaluated batch of one generation."""

    points: Any
    values: Any  # as told: +inf for rows that failed or were not evaluated
    asked: Any  # which rows were evaluated


def generation(
    algorithm: AbstractAlgorithm[Any],
    problem: AbstractTraceableProblem,
    state: Any,
    key: Key,
    rows: Any = None,
    tell: Callable[[Any, Values], Any] | None = None,
) -> tuple[Any, Batch]:
    """One generation: ask, evaluate, tell. Pure, so it may be jitted, vmapped, scanned and differentiated.

    **Arguments:**

    - `key`: for problems whose values are random.
    - `rows`: how many leading rows to evaluate; the algorithm's `wanted` if not given.
    - `tell`: called with the state and the values; `algorithm.tell` if not given.

    **Returns:** what `tell` returned, by default the next state, and the `Batch`.
    """
    points = algorithm.ask(state)
    raw = problem.evaluate(points, key)
    values, asked = told_values(raw, algorithm.wanted(state) if rows is None else rows)
    return (tell or algorithm.tell)(state, values), Batch(points, values, asked)


def told_values(raw: Values, rows: Any) -> tuple[Values, Bool[Array, "n"]]:
    """The values to tell, `+inf` beyond the leading `rows` and where a value is not finite; which rows were asked."""
    asked = jnp.arange(raw.shape[0]) < rows
    return jnp.where(asked & jnp.isfinite(raw), raw, jnp.inf), asked


class Trace(NamedTuple):
    """An unrolled run, with one entry per generation."""

    nfev: Any  # evaluations used so far
    fun: Any  # best value so far
    x: Any  # the best point at the end, shape (d,)


def unroll(
    algorithm: AbstractAlgorithm[Any],
    problem: AbstractTraceableProblem,
    state: Any,
    key: Key,
    generations: int,
    budget: Any = None,
) -> tuple[Any, Trace]:
    """Run generations of ask, evaluate, tell in one `lax.scan`; pure, so it may be jitted, vmapped, differentiated.

    With a budget, the batch that exhausts it is cut, and nothing is counted afterwards. Non-finite values rank last.
    Each generation is rematerialised in the backward pass, so memory grows with the state and not with the batch.

    **Returns:** the last state, and the `Trace`.
    """
    limit = jnp.asarray(2**31 - 1 if budget is None else budget)
    dimension = problem.space.dimension
    dtype = problem.space.lower.dtype

    @jax.checkpoint  # type: ignore[misc]
    def advance(carry: Any, step_key: Key) -> tuple[Any, Any]:
        state, used, best_f, best_x = carry
        allowed = jnp.minimum(algorithm.wanted(state), limit - used)
        allowed = jnp.where(algorithm.converged(state), 0, allowed)
        state, batch = generation(algorithm, problem, state, step_key, allowed)
        first = jnp.argmin(batch.values)
        better = batch.values[first] < best_f
        best_x = jnp.where(better, batch.points[first], best_x)
        best_f = jnp.where(better, batch.values[first], best_f)
        used = used + jnp.maximum(allowed, 0).astype(used.dtype)
        return (state, used, best_f, best_x), (used, best_f)

    zero = jnp.zeros((), jnp.int32)
    start = (state, zero, jnp.asarray(jnp.inf, dtype), jnp.full((dimension,), jnp.nan, dtype))
    (state, _, _, best_x), (nfev, fun) = jax.lax.scan(advance, start, jax.random.split(key, generations))
    return state, Trace(nfev, fun, best_x)


def next_batch(algorithm: AbstractAlgorithm[Any], state: Any) -> Any:
    """The next points, and below them a row that says how many are wanted, 0 once converged.

    One array, because each result of a compiled call costs microseconds.
    """
    wanted = jnp.where(algorithm.converged(state), 0, algorithm.wanted(state))
    points = algorithm.ask(state)
    return jnp.concatenate([points, jnp.full((1, points.shape[1]), wanted, points.dtype)])

"""Many problems of one structure solved by one compiled program, side by side.

Each run is that of the host loop, with the same key; only rounding may differ, since a program that runs them side by
side adds numbers in another order. For hundreds of small problems this saves what each compiled call on the host costs.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.box import Box
from l2e.core.traced import pack, runtime
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.compilations import Bounded
from l2e.core.traced.keys import as_key
from l2e.core.traced.loop import next_batch, told_values
from l2e.core.traced.problem import AbstractTraceableProblem, stack
from l2e.core.traced.types import Key

BUFFERED = 8_000_000
"""Numbers that one call may keep, 8 bytes each: points and values of all evaluations."""


class Solved(NamedTuple):
    """All evaluations of one run, in order: points (n, d) and what the problem returned (n,)."""

    points: np.ndarray
    values: np.ndarray


def structure(problem: AbstractTraceableProblem) -> tuple[Any, str]:
    """What is equal for problems that can be solved together."""
    arrays, static = pack.split(problem)
    return static, str([(np.shape(leaf), str(np.asarray(leaf).dtype)) for leaf in arrays])


def most_together(dimension: int, budget: int) -> int:
    """How many problems one call can hold."""
    return max(1, BUFFERED // ((dimension + 1) * budget))


def solve_together(
    algorithm: AbstractAlgorithm[Any], problems: Sequence[AbstractTraceableProblem], keys: Sequence[Any], budget: int
) -> list[Solved]:
    """Run an algorithm on each problem with its key and the same budget; all problems must have one `structure`."""
    arrays, static = pack.split(algorithm)
    leaves, facts = pack.split(stack(problems))
    TOGETHER.use((static, facts, len(problems), budget))
    with runtime.float64():
        stacked = jnp.stack([as_key(key) for key in keys])
        spaces = [problem.space for problem in problems]
        space = jax.tree.map(lambda *parts: jnp.stack([jnp.asarray(part, jnp.float64) for part in parts]), *spaces)
        used, points, values = _run(static, facts, budget, list(arrays), list(leaves), space, stacked)
    counts = np.asarray(used).tolist()
    return [Solved(x[:n], f[:n]) for n, x, f in zip(counts, np.asarray(points), np.asarray(values), strict=True)]


@functools.partial(runtime.small_jit, static_argnums=(0, 1, 2))
def _run(static: Any, facts: Any, budget: int, arrays: Any, leaves: Any, space: Box, keys: Any) -> Any:
    algorithm = pack.join(arrays, static)
    return jax.vmap(functools.partial(_one, algorithm, budget))(pack.join(leaves, facts), space, keys)


def _one(algorithm: AbstractAlgorithm[Any], budget: int, problem: Any, space: Box, key: Key) -> tuple[Any, Any, Any]:
    """One run: how many evaluations it used, and all of them."""
    state = algorithm.init(space, key, None)
    batch = next_batch(algorithm, state)
    rows, dimension = batch.shape[0] - 1, batch.shape[1]

    def going_on(carry: Any) -> Any:
        _, batch, used, _, _ = carry
        return (used < budget) & (batch[-1, 0] > 0)

    def generation(carry: Any) -> Any:
        state, batch, used, points, values = carry
        allowed = jnp.minimum(batch[-1, 0].astype(used.dtype), budget - used)
        raw = problem.evaluate(batch[:-1])
        state = algorithm.tell(state, told_values(raw, allowed)[0])
        points = jax.lax.dynamic_update_slice(points, batch[:-1], (used, jnp.zeros_like(used)))
        values = jax.lax.dynamic_update_slice(values, raw, (used,))
        return state, next_batch(algorithm, state), used + allowed, points, values

    empty = jnp.zeros((budget + rows, dimension)), jnp.zeros((budget + rows,))
    start = (state, batch, jnp.zeros((), jnp.int32), *empty)
    _, _, used, points, values = jax.lax.while_loop(going_on, generation, start)
    return used, points, values


TOGETHER = Bounded(most=8)
"""Programs of whole runs, which are large."""
TOGETHER.register(_run)

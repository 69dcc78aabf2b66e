"""Running optimizers: `unroll` inside JAX, `Driver` on the host."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from l2e import _runtime
from l2e._space import Box
from l2e._types import Key
from l2e.driver import AbstractDriver, padded
from l2e.optimizer import AbstractOptimizer
from l2e.problem import AbstractTraceableProblem


class Trace(NamedTuple):
    """What people read of an unrolled run, one entry per generation."""

    nfev: Any  # evaluations used so far
    fun: Any  # best value so far
    x: Any  # the best point at the end, shape (d,)


def unroll(
    optimizer: AbstractOptimizer[Any],
    problem: AbstractTraceableProblem,
    state: Any,
    key: Key,
    generations: int,
    budget: Any = None,
) -> tuple[Any, Trace]:
    """Run generations of ask, evaluate, tell in one `lax.scan`; pure, so it may be jitted, vmapped, differentiated.

    With a budget the batch in which it runs out is cut, and nothing is counted after it. Non-finite values rank last.
    Each generation is rematerialised in the backward pass, so memory grows with the state and not with the batch.

    **Returns:** the last state, and the `Trace`.
    """
    limit = jnp.asarray(2**31 - 1 if budget is None else budget)
    dimension = problem.space.dimension
    dtype = problem.space.lower.dtype

    @jax.checkpoint  # type: ignore[misc]
    def generation(carry: Any, step_key: Key) -> tuple[Any, Any]:
        state, used, best_f, best_x = carry
        points = optimizer.ask(state)
        rows = points.shape[0]
        allowed = jnp.minimum(optimizer.wanted(state), limit - used)
        allowed = jnp.where(optimizer.converged(state), 0, allowed)
        raw = problem.evaluate(points, step_key)
        live = (jnp.arange(rows) < allowed) & jnp.isfinite(raw)
        values = jnp.where(live, raw, jnp.inf)
        first = jnp.argmin(values)
        better = values[first] < best_f
        best_x = jnp.where(better, points[first], best_x)
        best_f = jnp.where(better, values[first], best_f)
        used = used + jnp.maximum(allowed, 0).astype(used.dtype)
        return (optimizer.tell(state, values), used, best_f, best_x), (used, best_f)

    zero = jnp.zeros((), jnp.int32)
    start = (state, zero, jnp.asarray(jnp.inf, dtype), jnp.full((dimension,), jnp.nan, dtype))
    (state, _, _, best_x), (nfev, fun) = jax.lax.scan(generation, start, jax.random.split(key, generations))
    return state, Trace(nfev, fun, best_x)


@functools.partial(jax.jit, static_argnums=0)
def _begin(static: _runtime.Static, arrays: Any, space: Box, key: Key, start: Any) -> Any:
    return _runtime.join(arrays, static).init(space, key, start)


_pack = jax.jit(_runtime.pack)


@functools.partial(_runtime.small_jit, static_argnums=(0, 1))
def _ask(static: _runtime.Static, layout: _runtime.Static, arrays: Any, packed: Any) -> Any:
    return _batch(_runtime.join(arrays, static), _runtime.unpack(packed, layout))


@functools.partial(_runtime.small_jit, static_argnums=(0, 1))
def _advance(static: _runtime.Static, layout: _runtime.Static, arrays: Any, packed: Any, values: Any) -> Any:
    optimizer = _runtime.join(arrays, static)
    state = optimizer.tell(_runtime.unpack(packed, layout), values)
    return _runtime.pack(state), _batch(optimizer, state)


def _batch(optimizer: AbstractOptimizer[Any], state: Any) -> Any:
    """The next points, and below them a row of how many are wanted, 0 once converged: one array costs less than two."""
    wanted = jnp.where(optimizer.converged(state), 0, optimizer.wanted(state))
    points = optimizer.ask(state)
    return jnp.concatenate([points, jnp.full((1, points.shape[1]), wanted, points.dtype)])


class Driver(AbstractDriver):
    """Runs one optimizer on the host: holds its state, gives numpy batches without padding.

    One compiled call per generation (tell and the next ask together). Equal optimizers share compilations.
    """

    def __init__(self, optimizer: AbstractOptimizer[Any], space: Box, key: Key, start: np.ndarray | None = None):
        _runtime.refuse_tracing()
        self._fit(optimizer.sized(1))
        self._count = 0
        with _runtime.float64():
            state = _begin(self._static, self._arrays, space, key, start)
        self.restore(state)

    @property
    def packed(self) -> Any:
        return self._packed

    def unpack(self, packed: Any) -> Any:
        with _runtime.float64():
            return _runtime.unpack(packed, self._layout)

    def assess(self) -> None:
        return None

    def tell(self, values: np.ndarray) -> None:
        whole = padded(values, self._rows)
        with _runtime.float64():
            self._packed, batch = _advance(self._static, self._layout, self._arrays, self._packed, whole)
        self._settle(batch)

    def restore(self, state: Any) -> None:
        with _runtime.float64():
            state = jax.tree.map(lambda leaf: leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf), state)
            self._packed, self._layout = _pack(state), _runtime.layout(state)
            batch = _ask(self._static, self._layout, self._arrays, self._packed)
        self._settle(batch)

    def _fit(self, optimizer: AbstractOptimizer[Any]) -> None:
        self.optimizer = optimizer
        arrays, self._static = _runtime.split(optimizer)
        with _runtime.float64():
            self._arrays = [jnp.asarray(array) for array in arrays]  # here, not again at each call

    def _settle(self, batch: Any) -> None:
        rows = np.asarray(batch, dtype=np.float64)
        count = int(rows[-1, 0])
        if count and count != self._count:
            rows = self._resize(rows, count)
        self._count = count
        self._rows = len(rows) - 1
        self._points = rows[:count]

    def _resize(self, batch: np.ndarray, count: int) -> np.ndarray:
        sized = self.optimizer.sized(count)
        if sized is self.optimizer:
            return batch
        self._fit(sized)
        with _runtime.float64():
            return np.asarray(_ask(self._static, self._layout, self._arrays, self._packed), dtype=np.float64)

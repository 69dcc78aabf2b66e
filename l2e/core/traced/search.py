"""Running an algorithm on the host, one compiled call per generation."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.box import Box
from l2e.core.search import AbstractSearch, padded
from l2e.core.traced import pack, runtime
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.compilations import PROGRAMS, refuse_after_fork
from l2e.core.traced.keys import as_key
from l2e.core.traced.loop import next_batch
from l2e.core.traced.types import Key


class AlgorithmSearch(AbstractSearch):
    """Runs one algorithm on the host: holds its state, gives numpy batches without padding.

    Telling and the next asking are one compiled call. Equal algorithms share compilations.

    **Arguments:** `algorithm`: what searches; `space`: the box; `key`: all randomness, a JAX key or what
    `l2e.core.traced.keys.as_key` takes for one; `start`: a point of the box at which to begin.
    """

    def __init__(self, algorithm: AbstractAlgorithm[Any], space: Box, key: Any, start: np.ndarray | None = None):
        refuse_after_fork()
        runtime.refuse_tracing()
        self._fit(algorithm.sized(1))
        self._count = 0
        PROGRAMS.use((self._static, space.dimension))
        with runtime.float64():
            state = _begin(self._static, self._arrays, space, as_key(key), start)
        self.restore(state)

    @property
    def state(self) -> Any:
        """The algorithm's state, for those who want to look inside."""
        with runtime.float64():
            return pack.unpack(self._packed, self._layout)

    def restore(self, state: Any) -> None:
        with runtime.float64():
            state = jax.tree.map(lambda leaf: leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf), state)
            self._packed, self._layout = _pack(state), pack.layout(state)
            batch = _ask(self._static, self._layout, self._arrays, self._packed)
        self._settle(batch)

    def tell(self, values: np.ndarray) -> None:
        whole = padded(values, self._rows)
        with runtime.float64():
            self._packed, batch = _advance(self._static, self._layout, self._arrays, self._packed, whole)
        self._settle(batch)

    def _fit(self, algorithm: AbstractAlgorithm[Any]) -> None:
        self.algorithm = algorithm
        arrays, self._static = pack.split(algorithm)
        with runtime.float64():
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
        sized = self.algorithm.sized(count)
        if sized is self.algorithm:
            return batch
        self._fit(sized)
        with runtime.float64():
            return np.asarray(_ask(self._static, self._layout, self._arrays, self._packed), dtype=np.float64)


@functools.partial(jax.jit, static_argnums=0)
def _begin(static: pack.Static, arrays: Any, space: Box, key: Key, start: Any) -> Any:
    return pack.join(arrays, static).init(space, key, start)


_pack = jax.jit(pack.pack)


@functools.partial(runtime.small_jit, static_argnums=(0, 1))
def _ask(static: pack.Static, layout: pack.Static, arrays: Any, packed: Any) -> Any:
    return next_batch(pack.join(arrays, static), pack.unpack(packed, layout))


@functools.partial(runtime.small_jit, static_argnums=(0, 1))
def _advance(static: pack.Static, layout: pack.Static, arrays: Any, packed: Any, values: Any) -> Any:
    algorithm = pack.join(arrays, static)
    state = algorithm.tell(pack.unpack(packed, layout), values)
    return pack.pack(state), next_batch(algorithm, state)


for _compiled in (_begin, _pack, _ask, _advance):
    PROGRAMS.register(_compiled)

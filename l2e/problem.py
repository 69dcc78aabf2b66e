"""What is minimised: a problem takes a batch of points and gives a batch of values."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy import ndarray

from l2e import _runtime
from l2e._space import Box
from l2e._types import Key, Points, Values


class Optimum(NamedTuple):
    """Where the minimum is, and what it is. For reports and tests; optimizers never see it."""

    x: Float[ndarray, "d"]
    f: float


class AbstractProblem(eqx.Module):
    """A function on a box, evaluated in batches."""

    space: eqx.AbstractVar[Box]

    @abstractmethod
    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        """Values of n points, shape (n, d) -> (n,); stochastic problems use the key, others ignore it."""

    @abstractmethod
    def __call__(self, points: Any) -> Any:
        """Plain numpy in, plain numpy out: one point (d,) -> float, or a batch (n, d) -> (n,)."""

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.space.dimension


class AbstractTraceableProblem(AbstractProblem):
    """A pure JAX problem: `evaluate` may be jitted, vmapped and differentiated, in the dtype of the points."""

    def __call__(self, points: Any) -> Any:
        batch, single = _as_batch(points, self.dimension)
        arrays, static = _runtime.split(self)
        rows = _rounded(len(batch))
        padded = batch if rows == len(batch) else np.concatenate([batch, np.repeat(batch[-1:], rows - len(batch), 0)])
        with _runtime.float64():
            values = np.asarray(_evaluate(static, arrays, padded))[: len(batch)]
        return float(values[0]) if single else values


def _rounded(rows: int) -> int:
    """The number of rows rounded up to four significant bits, so that few shapes are compiled, whatever sizes come.

    A shrinking population asks for hundreds of sizes; each would be a program of its own.
    """
    step = 1 << max(rows.bit_length() - 4, 0)
    return -(-rows // step) * step


@functools.partial(jax.jit, static_argnums=0)
def _evaluate(static: _runtime.Static, arrays: list[Any], points: Points) -> Values:
    return _runtime.join(arrays, static).evaluate(points)


class JAXFunction(AbstractTraceableProblem):
    """A user's JAX function of one point as a traceable problem.

    ```python
    problem = l2e.JAXFunction(lambda x: jnp.sum(x**2), l2e.box([(-5, 5)] * 3))
    ```
    """

    function: Callable[[Any], Any] = eqx.field(static=True)
    space: Box

    def __init__(self, function: Callable[[Any], Any], space: Box):
        self.function = function
        self.space = space

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        return jax.vmap(self.function)(points)


class HostFunction(AbstractProblem):
    """A user's Python function as a problem. With `vectorized=True` it takes a batch (n, d) and gives (n,)."""

    function: Callable[[Any], Any] = eqx.field(static=True)
    space: Box
    vectorized: bool = eqx.field(static=True)

    def __init__(self, function: Callable[[Any], Any], space: Box, vectorized: bool = False):
        self.function = function
        self.space = space
        self.vectorized = vectorized

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        batch = np.asarray(points)
        if self.vectorized:
            return self.function(batch)
        return jnp.asarray([float(self.function(point)) for point in batch])

    def __call__(self, points: Any) -> Any:
        batch, single = _as_batch(points, self.dimension)
        if self.vectorized:
            values = np.asarray(self.function(batch), dtype=np.float64)
        else:
            values = np.asarray([float(self.function(point)) for point in batch])
        return float(values[0]) if single else values


P = TypeVar("P", bound=AbstractTraceableProblem)


def stack(problems: Sequence[P]) -> P:
    """Stack problems of one structure (say instances of one function) along a new leading axis, for `jax.vmap`."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *problems)


def _as_batch(points: Any, dimension: int) -> tuple[ndarray, bool]:
    batch = np.asarray(points, dtype=np.float64)
    if batch.ndim not in (1, 2) or batch.shape[-1] != dimension:
        raise ValueError(f"points must have shape ({dimension},) or (n, {dimension}), got {batch.shape}")
    return (batch[None, :], True) if batch.ndim == 1 else (batch, False)

"""Problems that JAX can trace: jitted, vmapped and differentiated as a whole."""

import contextlib
import functools
import re
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import numpy as np

from l2e.core.box import Box
from l2e.core.errors import error_line
from l2e.core.problem import AbstractProblem, as_batch
from l2e.core.traced import pack, runtime
from l2e.core.traced.compilations import Bounded
from l2e.core.traced.types import Key, Points, Values


class AbstractTraceableProblem(eqx.Module, AbstractProblem):
    """A pure JAX problem: `evaluate` may be jitted, vmapped and differentiated, in the dtype of the points."""

    space: eqx.AbstractVar[Box]
    runs_on_host: ClassVar[bool] = False
    """Whether contests evaluate it batch by batch, instead of compiling it into every method's program."""

    @abstractmethod
    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        """Values of n points, shape (n, d) -> (n,); stochastic problems use the key, others ignore it."""

    def __call__(self, points: Any) -> Any:
        batch, single = as_batch(points, self.dimension)
        arrays, static = pack.split(self)
        rows = _rounded(len(batch), 4 if self.dimension <= SMALL else 2)
        if self.dimension > SMALL and len(batch) <= HUNDRED < rows:
            rows = HUNDRED
        padded = batch if rows == len(batch) else np.concatenate([batch, np.repeat(batch[-1:], rows - len(batch), 0)])
        PROBLEMS.use((static, padded.shape))
        with runtime.float64():
            values = np.asarray(_evaluate(static, arrays, padded))[: len(batch)]
        return float(values[0]) if single else values


SMALL = 100
"""Up to so many dimensions a program is compiled fast enough for sizes that differ by an eighth."""

HUNDRED = 100
"""A usual size of batches, which is not rounded to 128 where sizes are rounded to 64, 96, 128."""


def _rounded(rows: int, bits: int) -> int:
    """The number of rows rounded up to so many significant bits, so that few shapes are compiled, whatever sizes come.

    A shrinking population asks for hundreds of sizes; each would be a program of its own.
    """
    step = 1 << max(rows.bit_length() - bits, 0)
    return -(-rows // step) * step


@functools.partial(jax.jit, static_argnums=0)
def _evaluate(static: pack.Static, arrays: list[Any], points: Points) -> Values:
    return pack.join(arrays, static).evaluate(points)


PROBLEMS = Bounded(most=200)
"""Programs of problems, which are small."""
PROBLEMS.register(_evaluate)


class JAXFunction(AbstractTraceableProblem):
    """A user's JAX function of one point as a traceable problem.

    ```python
    problem = l2e.JAXFunction(lambda x: jnp.sum(x**2), l2e.box([(-5, 5)] * 3))
    shifted = [l2e.JAXFunction(f, l2e.box([(-5, 5)] * 3), shift) for shift in shifts]  # f(x, shift)
    ```

    **Arguments:** `function`: of a point, and of the parameters if there are any; `space`: the box; `parameters`:
    arrays that the function is also given: problems of one function that differ only in them share a compilation.
    """

    function: Callable[..., Any] = eqx.field(static=True)
    space: Box
    parameters: Any = None

    def __init__(self, function: Callable[..., Any], space: Box, parameters: Any = None):
        self.function = function
        self.space = space
        self.parameters = jax.tree.map(np.asarray, parameters)

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        if self.parameters is None:
            return jax.vmap(self.function)(points)
        given = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, points.dtype), self.parameters)
        return jax.vmap(lambda x: self.function(x, given))(points)


class CallbackFunction(AbstractTraceableProblem):
    """A plain Python function inside JAX programs, without gradients: for training by evolution strategies.

    ```python
    problem = CallbackFunction(lambda points, shift: ((points - shift) ** 2).sum(axis=1), l2e.box([(-5, 5)] * 3), shift)
    ```

    **Arguments:** `function`: takes a batch of points (n, d) in numpy, and the parameters, and returns n values;
    `space`: the box; `parameters`: an array that the function is also given, so that problems which differ only in it
    share a compilation, or none.
    """

    function: Callable[..., Any] = eqx.field(static=True)
    space: Box
    parameters: Any = None

    def __init__(self, function: Callable[..., Any], space: Box, parameters: Any = None):
        self.function = function
        self.space = space
        self.parameters = parameters

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        given = (points,) if self.parameters is None else (points, self.parameters)
        shape = jax.ShapeDtypeStruct(points.shape[:1], points.dtype)
        on_host = functools.partial(_on_host, self.function)
        return jax.pure_callback(on_host, shape, *given, vmap_method="sequential")


def _on_host(function: Callable[..., Any], points: Any, *parameters: Any) -> np.ndarray:
    """The values of a batch, or a `ValueError` that says what the function did instead."""
    given = (np.asarray(part, np.float64) for part in (points, *parameters))
    name = f"{function.__module__}.{function.__qualname__}" if hasattr(function, "__qualname__") else repr(function)
    try:
        values = np.asarray(function(*given), np.float64)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename}, line {last.lineno}: {last.line}"
        raise ValueError(f"the function {name} of a task failed: {error_line(error)} ({place})") from error
    if values.shape != (len(points),):
        wanted = f"{len(points)} values for {len(points)} points"
        raise ValueError(
            f"the function {name} of a task must return {wanted}, shape {(len(points),)}, got {values.shape}"
        )
    return values.astype(points.dtype)


@contextlib.contextmanager
def host_failures() -> Iterator[None]:
    """A `ValueError` in place of JAX's own error where a `CallbackFunction` failed; also a decorator."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        told = re.search(r"ValueError: (the function \S+ of a task .*)", str(error))
        if told is None:
            raise
        raise ValueError(told[1]) from error


P = TypeVar("P", bound=AbstractTraceableProblem)


def stack(problems: Sequence[P]) -> P:
    """Stack problems of one structure (say instances of one function) along a new leading axis, for `jax.vmap`."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *problems)

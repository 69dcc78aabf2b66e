"""What is minimised: a problem takes a batch of points and gives a batch of values."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from l2e.core.box import Box

GAP_FLOOR = 1e-8
"""A gap to the optimum below this counts as solved, as in the BBOB tables."""


class Optimum(NamedTuple):
    """Where the minimum is, and its value. For reports and tests; no method ever sees it."""

    x: np.ndarray
    f: float


class AbstractProblem(abc.ABC):
    """A function on a box, evaluated in batches."""

    space: Box

    @abc.abstractmethod
    def __call__(self, points: Any) -> Any:
        """Plain numpy in, plain numpy out: one point (d,) -> float, or a batch (n, d) -> (n,)."""

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.space.dimension


@dataclasses.dataclass(frozen=True)
class HostFunction(AbstractProblem):
    """A user's Python function as a problem. With `vectorized=True` it takes a batch (n, d) and returns (n,).

    `optimum`, if known, is for the reports of contests; no method ever sees it.
    """

    function: Callable[[Any], Any]
    space: Box
    vectorized: bool = False
    optimum: Optimum | None = None

    def __call__(self, points: Any) -> Any:
        batch, single = as_batch(points, self.dimension)
        if self.vectorized:
            values = np.asarray(self.function(batch), dtype=np.float64)
        else:
            values = np.asarray([float(self.function(point)) for point in batch])
        return float(values[0]) if single else values


def as_batch(points: Any, dimension: int) -> tuple[np.ndarray, bool]:
    """Points as a float64 batch (n, d), and whether a single point (d,) was given."""
    batch = np.asarray(points, dtype=np.float64)
    if batch.ndim not in (1, 2) or batch.shape[-1] != dimension:
        raise ValueError(f"points must have shape ({dimension},) or (n, {dimension}), got {batch.shape}")
    return (batch[None, :], True) if batch.ndim == 1 else (batch, False)

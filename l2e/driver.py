"""The contract of what runs a search on the host batch by batch, and the loop that does it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from l2e.evaluator import Evaluator


class Assessment(NamedTuple):
    """What a method says of its own run: how far to trust it, and why not further."""

    confidence: float
    warnings: tuple[str, ...]


class AbstractDriver(ABC):
    """A search between two batches: it holds the points to evaluate next, and states to go on from."""

    _points: np.ndarray

    @property
    def state(self) -> Any:
        """All that is needed to go on from here."""
        return self.unpack(self.packed)

    @property
    @abstractmethod
    def packed(self) -> Any:
        """The state as it is kept; `unpack` makes a state of it."""

    @abstractmethod
    def unpack(self, packed: Any) -> Any:
        """The state of which `packed` was taken."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go on from this state of the same search."""

    @abstractmethod
    def tell(self, values: np.ndarray) -> None:
        """Give the values of the batch, `+inf` for failed ones; a shorter vector counts as `+inf` at its end."""

    @abstractmethod
    def assess(self) -> Assessment | None:
        """What the method says of the run so far, or None if it says nothing."""

    @property
    def converged(self) -> bool:
        """Whether nothing more is to be expected."""
        return len(self._points) == 0

    def ask(self) -> np.ndarray:
        """The batch to evaluate; the same until `tell`; empty once converged."""
        return self._points.copy()


def padded(values: Any, size: int) -> np.ndarray:
    """The values of a batch of this size, `+inf` where they are missing at its end."""
    given = np.asarray(values, dtype=np.float64)
    return given if len(given) == size else np.append(given, np.full(size - len(given), np.inf))


def search(driver: AbstractDriver, evaluate: Evaluator, after: Callable[[], None] | None = None) -> str:
    """Ask, evaluate and tell until the search has converged, and say so, or the evaluator raises `StopSearch`.

    `after` is called after each generation.
    """
    while not driver.converged:
        points = driver.ask()
        driver.tell(evaluate(points[: max(evaluate.remaining, 1)]))
        if after is not None:
            after()
    return "the method expects no further improvement"

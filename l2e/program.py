"""Searches written as generators: they yield batches of points and are sent their values.

A generator reads like a search that calls the function, and can still be driven by ask and tell. Its state is what it
was told: replaying that brings it back exactly, so it can be saved without saving a running program.
"""

from abc import abstractmethod
from collections.abc import Generator
from typing import Any

import equinox as eqx
import numpy as np

from l2e._space import Box
from l2e.contestant import AbstractContestant
from l2e.evaluator import Evaluator


class AbstractProgram(AbstractContestant):
    """A search method as a generator of batches; the same arguments must give the same generator."""

    @abstractmethod
    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None
    ) -> Generator[np.ndarray, np.ndarray, str]:
        """Yield points of the box, shape (n, d); each is answered by their values, `+inf` where evaluation failed.

        The last of the budget may come shorter than asked; the generator ends with the reason, if ever.
        """

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        program = self.batches(space, seed, evaluate.remaining, start)
        values: Any = None
        while True:
            try:
                points = program.send(values)
            except StopIteration as end:
                return end.value
            values = _padded(evaluate(points[: max(evaluate.remaining, 1)]), len(points))


class Told(eqx.Module):
    """All values a program was told, in order; the first `count` of them are there."""

    values: np.ndarray
    count: np.ndarray


class ProgramDriver:
    """Runs one program on the host, with the ways of `l2e.solve.Driver`: ask, tell, and states to go on from."""

    def __init__(self, program: AbstractProgram, space: Box, seed: int, budget: int, start: np.ndarray | None):
        self._begin = lambda: program.batches(space, seed, budget, start)
        self._dimension = space.dimension
        self._told = Told(np.full(budget, np.nan), np.zeros((), np.int64))
        self.restore(self._told)

    @property
    def packed(self) -> Any:
        """A note of the present state; `unpack` makes a state of it."""
        return int(self._told.count)

    @property
    def state(self) -> Told:
        """What the program was told."""
        return self.unpack(self.packed)

    def unpack(self, packed: Any) -> Told:
        """The state of which `packed` was taken."""
        return Told(self._told.values, np.asarray(packed, np.int64))

    @property
    def converged(self) -> bool:
        """Whether the program has ended."""
        return len(self._points) == 0

    def ask(self) -> np.ndarray:
        """The batch to evaluate; the same until `tell`; empty once the program has ended."""
        return self._points.copy()

    def tell(self, values: np.ndarray) -> None:
        """Give the values of the batch, `+inf` for failed ones; a shorter vector counts as `+inf` at its end."""
        whole = _padded(np.asarray(values, dtype=np.float64), len(self._points))
        first, last = int(self._told.count), min(int(self._told.count) + len(whole), len(self._told.values))
        self._told.values[first:last] = whole[: last - first]
        self._told = Told(self._told.values, np.asarray(last, np.int64))
        self._advance(whole)

    def restore(self, state: Told) -> None:
        """Go on from this state of the same program, by telling it everything again."""
        values, count = np.array(state.values, dtype=np.float64), int(state.count)
        self._told = Told(values, np.asarray(count, np.int64))
        self._program = self._begin()
        self._advance(None)
        told = 0
        while told < count and len(self._points):
            size = len(self._points)
            batch = _padded(values[told : min(told + size, count)], size)
            told += size
            self._advance(batch)

    def _advance(self, values: Any) -> None:
        try:
            self._points = self._program.send(values)
        except StopIteration:
            self._points = np.empty((0, self._dimension))


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    return values if len(values) == size else np.append(values, np.full(size - len(values), np.inf))

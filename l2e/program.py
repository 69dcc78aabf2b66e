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
    """All values a program was told, in order."""

    values: np.ndarray


class ProgramDriver:
    """Runs one program on the host, with the ways of `l2e.solve.Driver`: ask, tell, and states to go on from."""

    def __init__(self, program: AbstractProgram, space: Box, seed: int, budget: int, start: np.ndarray | None):
        self._begin = lambda: program.batches(space, seed, budget, start)
        self._dimension = space.dimension
        self.restore(Told(np.empty(0)))

    @property
    def packed(self) -> Any:
        """A note of the present state; `unpack` makes a state of it."""
        return len(self._told)

    @property
    def state(self) -> Told:
        """What the program was told."""
        return self.unpack(self.packed)

    def unpack(self, packed: Any) -> Told:
        """The state of which `packed` was taken."""
        return Told(np.asarray(self._told[:packed], dtype=np.float64))

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
        self._told.extend(whole.tolist())
        try:
            self._points = self._program.send(whole)
        except StopIteration:
            self._points = np.empty((0, self._dimension))

    def restore(self, state: Told) -> None:
        """Go on from this state of the same program, by telling it everything again."""
        values = np.asarray(state.values, dtype=np.float64)
        self._told: list[float] = []
        self._program = self._begin()
        self._points = next(self._program)
        while len(self._told) < len(values) and not self.converged:
            self.tell(values[len(self._told) : len(self._told) + len(self._points)])


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    return values if len(values) == size else np.append(values, np.full(size - len(values), np.inf))

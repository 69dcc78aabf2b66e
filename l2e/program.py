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
from l2e.driver import AbstractDriver, Assessment, padded, search
from l2e.evaluator import Evaluator


class AbstractProgram(AbstractContestant):
    """A search method as a generator of batches; the same arguments must give the same generator."""

    @abstractmethod
    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, notes: set[str]
    ) -> Generator[np.ndarray, np.ndarray, None]:
        """Yield points of the box, shape (n, d); each is answered by their values, `+inf` where evaluation failed.

        The last of the budget may come shorter than asked; the generator ends, if ever, when it expects nothing more.
        Into `notes` it puts words for what it sees of the function, which `assess` reads.
        """

    @abstractmethod
    def assess(self, space: Box, budget: int, values: np.ndarray, notes: set[str]) -> Assessment | None:
        """What it says of a run, by all its values and notes; None if it says nothing."""

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        return search(ProgramDriver(self, space, seed, evaluate.remaining, start), evaluate)


class Told(eqx.Module):
    """All values a program was told, in order."""

    values: np.ndarray


class ProgramDriver(AbstractDriver):
    """Runs one program on the host; its state is what the program was told."""

    def __init__(self, program: AbstractProgram, space: Box, seed: int, budget: int, start: np.ndarray | None):
        self._begin = lambda notes: program.batches(space, seed, budget, start, notes)
        self._assess = lambda values, notes: program.assess(space, budget, values, notes)
        self._dimension = space.dimension
        self.restore(Told(np.empty(0)))

    @property
    def packed(self) -> Any:
        return len(self._told)

    def unpack(self, packed: Any) -> Told:
        return Told(np.asarray(self._told[:packed], dtype=np.float64))

    def assess(self) -> Assessment | None:
        return self._assess(np.asarray(self._told, dtype=np.float64), self._notes)

    def tell(self, values: np.ndarray) -> None:
        whole = padded(values, len(self._points))
        self._told.extend(whole.tolist())
        try:
            self._points = self._program.send(whole)
        except StopIteration:
            self._points = np.empty((0, self._dimension))

    def restore(self, state: Told) -> None:
        values = np.asarray(state.values, dtype=np.float64)
        self._told: list[float] = []
        self._notes: set[str] = set()
        self._program = self._begin(self._notes)
        self._points = next(self._program)
        while len(self._told) < len(values) and not self.converged:
            self.tell(values[len(self._told) : len(self._told) + len(self._points)])

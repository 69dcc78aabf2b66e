"""Searches written as generators: they yield batches of points and are sent their values.

A generator reads like a search that calls the function, and can still be driven by ask and tell.
"""

from abc import abstractmethod
from collections.abc import Generator

import numpy as np

from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.evaluator import Evaluator
from l2e.core.search import AbstractSearch, Account, Assessment, Known, padded, run


class AbstractProgram(AbstractAdapter):
    """A search method as a generator of batches; the same arguments must give the same generator."""

    @abstractmethod
    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        """Yield points of the box, shape (n, d); each is answered by their values, `+inf` where evaluation failed.

        The last of the budget may come shorter than asked; the generator ends, if ever, when it expects nothing more.
        `start` is one point, or several (m, d). Into `account` it writes what it sees of the function, which `assess`
        reads, and who had which evaluations.
        """

    def with_workers(self, workers: int) -> "AbstractProgram":
        """This program told how many points are evaluated at once; the same one if that makes no difference to it."""
        return self

    @abstractmethod
    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment | None:
        """Its own assessment of a run, from all values it was told and its account; None if it makes none."""

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        return run(ProgramSearch(self, space, seed, evaluate.remaining, start), evaluate)


class ProgramSearch(AbstractSearch):
    """Runs one program on the host."""

    def __init__(
        self,
        program: AbstractProgram,
        space: Box,
        seed: int,
        budget: int,
        start: np.ndarray | None,
        known: Known | None = None,
    ):
        self._program, self._space, self._budget = program, space, budget
        self._told: list[float] = []
        self._account = Account(known=[] if known is None else [known])
        self._batches = program.batches(space, seed, budget, start, self._account)
        self._points = next(self._batches)

    @property
    def account(self) -> Account:
        return self._account

    def know(self, known: Known) -> None:
        self._account.known.append(known)

    def assess(self) -> Assessment | None:
        return self._program.assess(self._space, self._budget, np.asarray(self._told), self._account)

    def tell(self, values: np.ndarray) -> None:
        whole = padded(values, len(self._points))
        self._told.extend(np.asarray(values, dtype=np.float64).tolist())
        try:
            self._points = self._batches.send(whole)
        except StopIteration:
            self._points = np.empty((0, self._space.dimension))

"""A search that is made again from what a study has stored, so that nothing but the study has to be kept.

A method asks for batches. Every trial says which point of which batch it is, so whoever reads the study, in whatever
process, can tell the method the batches that are complete, in order, and knows which points are still to be given out.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from l2e.api.ask_tell import Optimizer
from l2e.core.space import Space

Valued: TypeAlias = tuple[dict[str, Any], float]
"""Parameters and their value."""


class Place(NamedTuple):
    """Which point a trial is: of which search of the study, batch and row; rows below 0 are guesses ahead."""

    search: int
    batch: int
    row: int


class Replay:
    """One search of a study up to its present batch.

    **Arguments:** `space`; `budget`: what the method plans with; `seed`; `known`: parameters and values it begins with;
    `x0`: parameters at which it begins.
    """

    def __init__(
        self, space: Space, budget: int, seed: int, known: Sequence[Valued] = (), x0: dict[str, Any] | None = None
    ):
        self._space, self._budget, self._seed, self._known, self._x0 = space, budget, seed, list(known), x0
        self._optimizer = self._fresh()
        self._told: list[tuple[list[float], list[Valued]]] = []
        self.batch = 0
        """The number of the present batch."""

    @property
    def over(self) -> bool:
        """Whether it has used its budget."""
        return bool(self._optimizer.stop())

    def points(self) -> list[dict[str, Any]]:
        """The present batch, nothing once it is over."""
        return [] if self.over else self._optimizer.ask()

    def advance(
        self, values: Mapping[tuple[int, int], float], beside: Callable[[int], list[Valued]] = lambda batch: []
    ) -> None:
        """Tell all batches that are complete, from values by batch and row.

        **Arguments:** `beside`: what else was evaluated meanwhile, by the number of the batch.
        """
        while not self.over:
            batch = self._optimizer.ask()
            row = [values.get((self.batch, i)) for i in range(len(batch))]
            if any(value is None for value in row):
                return
            told = [float(value) for value in row if value is not None], beside(self.batch)
            _tell(self._optimizer, *told)
            self._told.append(told)
            self.batch += 1

    def ahead(self, values: Mapping[tuple[int, int], float], guess: float, taken: int) -> dict[str, Any] | None:
        """A point to evaluate while all of the present batch is out: what would be asked if it came to the guess.

        **Arguments:** `values`: those of the batch that are known; `taken`: how many such points were given out.
        """
        other = self._fresh()
        for told in self._told:
            _tell(other, *told)
        batch = other.ask()
        other.tell(batch, [values.get((self.batch, i), guess) for i in range(len(batch))])
        skipped = 0
        while not other.stop():
            batch = other.ask()
            if taken - skipped < len(batch):
                return batch[taken - skipped]
            skipped += len(batch)
            other.tell(batch, [guess] * len(batch))
        return None

    def _fresh(self) -> Optimizer:
        known = [one for one, _ in self._known], [value for _, value in self._known]
        options: dict[str, Any] = {"known": known if self._known else None, "x0": self._x0}
        return Optimizer(bounds=self._space, budget=self._budget, rng=self._seed, **options)


def _tell(optimizer: Optimizer, values: list[float], beside: list[Valued]) -> None:
    """Tell the present batch, and what else is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the study knows which trials failed
        optimizer.tell(optimizer.ask(), values)
    for params, value in beside:
        with contextlib.suppress(ValueError):  # it is one of the points that are asked for next
            optimizer.tell([params], [value])


def guess_of(values: Iterable[float]) -> float:
    """What a point that is out is taken to be worth: the mean of what is known (a constant liar)."""
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else 0.0

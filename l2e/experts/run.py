"""What the experts of one search share: the evaluations so far, what is left, and random numbers.

A search is a generator: it yields batches of points and is sent their values. So whoever drives it owns the loop (a
function to minimise, or ask and tell), and the experts read as if they called the function themselves. All of them
work in the cube [-5, 5]^D onto which the box is mapped, so lengths mean the same on every box.
"""

from collections.abc import Generator
from typing import Protocol, TypeAlias

import numpy as np

HALF = 5.0
"""The working cube is [-HALF, HALF]^D."""

Batches: TypeAlias = Generator[np.ndarray, np.ndarray, np.ndarray]
Steps: TypeAlias = Generator[np.ndarray, np.ndarray, str | None]
"""A step of an expert: it ends with None to go on, or with the reason why the expert is done."""


class Run:
    """The state that all experts of one search share.

    **Arguments:** `dimension`, `budget`: of the search; `rng`: the only source of random numbers; `memory`: how many
    of the latest evaluations are kept for models; `notes`: words for what experts see of the function are put here.
    """

    def __init__(
        self,
        dimension: int,
        budget: int,
        rng: np.random.Generator,
        memory: int | None = None,
        notes: set[str] | None = None,
    ):
        self.dimension = dimension
        self.budget = budget
        self.rng = rng
        self.notes = set() if notes is None else notes
        self.used = 0
        self.best_x = np.zeros(dimension)
        self.best_f = np.inf
        size = memory or (2 * (dimension + 1) * (dimension + 2) if dimension <= 24 else 10 * dimension) + 300
        self._points = np.empty((size, dimension))
        self._values = np.full(size, np.inf)
        self._remembered = 0

    @property
    def remaining(self) -> int:
        """Evaluations left."""
        return self.budget - self.used

    def evaluate(self, points: np.ndarray, remember: bool = True) -> Batches:
        """Have a batch evaluated at its mirror image inside the cube; failed evaluations are `+inf`.

        They are remembered where they were evaluated: the folded function has kinks that no model fits. Points of
        finite differences are better not remembered: a cluster of them outweighs all else in a fit.
        """
        batch = mirror(np.atleast_2d(points))
        values = np.asarray((yield batch), dtype=np.float64)
        values = np.where(np.isfinite(values), values, np.inf)
        self.used += len(batch)
        if remember:
            kept = min(len(batch), len(self._values))
            places = (self._remembered + np.arange(len(batch) - kept, len(batch))) % len(self._values)
            self._points[places], self._values[places] = batch[len(batch) - kept :], values[len(batch) - kept :]
            self._remembered += len(batch)
        first = int(np.argmin(values)) if len(values) else 0
        if len(values) and values[first] < self.best_f:
            self.best_f, self.best_x = float(values[first]), batch[first].copy()
        return values

    def forget(self) -> None:
        """Begin the memory anew; the best point stays known."""
        self._remembered = 0

    def memory(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The remembered finite evaluations: points, values, and how many remembered ones came after each."""
        count = min(self._remembered, len(self._values))
        age = (self._remembered - 1 - np.arange(count)) % len(self._values)
        finite = np.isfinite(self._values[:count])
        return self._points[:count][finite], self._values[:count][finite], age[finite]


class Expert(Protocol):
    """What takes steps until it has a reason to stop."""

    def step(self, run: Run) -> Steps:
        """One step; None to go on, or the reason why it is done."""
        ...


def finish(expert: Expert, run: Run, limit: float = np.inf) -> Steps:
    """Step an expert until it is done, or so many evaluations of the run are used."""
    reason = None
    while reason is None and run.used < limit:
        reason = yield from expert.step(run)
    return reason


def mirror(points: np.ndarray) -> np.ndarray:
    """Fold the whole space onto the cube by reflection at its faces."""
    return points if (np.abs(points) <= HALF).all() else fold(points)[0]


def fold(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mirror images inside the cube, and which coordinates run backwards there."""
    period = 4 * HALF
    shifted = np.mod(points + HALF, period)
    backwards = shifted > 2 * HALF
    return np.clip(np.where(backwards, period - shifted, shifted) - HALF, -HALF, HALF), backwards

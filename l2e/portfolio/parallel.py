"""A run whose points are evaluated several at once: what will probably be asked next is evaluated along."""

import math
from collections.abc import Generator, Mapping
from types import MappingProxyType

import numpy as np

from l2e.portfolio.run import Batches, Run, mirror

FULL_ENOUGH = 0.75
"""Workers that have something to do, as a share: with fewer, useful points are added; with more, none is wasted."""

MOST_WIDENED = 4
"""Populations are made at most this many times larger for the sake of workers."""

FEW_MORE = 0.2
"""A population is made smaller if no more than this share of its points would need another round of the workers."""


class ParallelRun(Run):
    """A `Run` for several workers. Points that are looked ahead at are part of the next batch, and are known later."""

    _ahead: np.ndarray | None = None
    _known: Mapping[bytes, float] = MappingProxyType({})

    def look_ahead(self, points: np.ndarray) -> None:
        self._ahead = mirror(points)

    def _ask(self, batch: np.ndarray) -> Batches:
        new = np.asarray([point for point in batch if point.tobytes() not in self._known]).reshape(-1, self.dimension)
        ahead = np.empty((0, self.dimension)) if self._ahead is None else self._ahead
        ahead, self._ahead = ahead[: max(self.remaining - len(new), 0)], None
        if len(new):
            asked = np.concatenate([new, ahead])
            values = yield from super()._ask(asked)
            known = dict(zip([point.tobytes() for point in asked], values.tolist(), strict=True))
            if not len(ahead):
                known |= self._known
            values = np.asarray([known.get(point.tobytes(), math.inf) for point in batch])
            self._known = known if len(ahead) else {}
            return values
        return np.asarray([self._known[point.tobytes()] for point in batch])


def spare(points: int, workers: int) -> int:
    """How many points to add to a batch of this size, so that enough of the workers have something to do."""
    if workers <= 1:
        return 0
    rounds = math.ceil(points / workers)
    return max(math.ceil(FULL_ENOUGH * rounds * workers) - points, 0)


def look_ahead_at(run: Run, probe: Generator[np.ndarray, np.ndarray, object]) -> None:
    """Look ahead at what a probe will ask for first; it draws the same random numbers again when it is made."""
    state = run.rng.bit_generator.state
    run.look_ahead(next(probe))
    run.rng.bit_generator.state = state


def widened(population: int, workers: int) -> int:
    """A larger population where half of the workers or more would be idle, but not too large to learn from; a somewhat
    smaller one where few of its points would need a round of their own."""
    if workers == 1:
        return population
    if workers >= 2 * population:
        return min(workers, MOST_WIDENED * population)
    whole = population // workers * workers
    return whole if 0 < population - whole <= FEW_MORE * population else population

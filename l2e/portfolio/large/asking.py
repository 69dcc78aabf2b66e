"""Batches in a thousand dimensions: many points that differ from one in few places, asked in pieces of bounded size."""

from collections.abc import Callable

import numpy as np

from l2e.portfolio.run import Batches, Run

PIECE = 128
"""Points of a batch: enough for a vectorised objective, and memory that is linear in the dimension."""


class Anchor:
    """A point, and moves from it that are too short for the coordinates of the cube.

    **Arguments:** `point`; `f`: its value.
    """

    def __init__(self, point: np.ndarray, f: float):
        self.point, self.f, self.moves = point.copy(), f, np.zeros(len(point))
        """The best moves known, and their value."""

    def evaluate(self, run: Run, moves: np.ndarray) -> Batches:
        """Have some moves evaluated."""
        values = yield from run.evaluate_beside(self.point, moves)
        first = int(np.argmin(values))
        if values[first] < self.f:
            self.f, self.moves = float(values[first]), moves[first].copy()
        return values


def ask(run: Run, count: int, build: Callable[[np.ndarray], np.ndarray], anchor: Anchor | None = None) -> Batches:
    """Values of `count` points, or moves from an anchor, which `build` makes from their numbers when their piece is
    due."""
    values = np.empty(count)
    for begin in range(0, count, PIECE):
        places = np.arange(begin, min(begin + PIECE, count))
        values[places] = yield from tell(run, build(places), anchor)
    return values


def tell(run: Run, points: np.ndarray, anchor: Anchor | None = None) -> Batches:
    """Values of a batch of points, or of moves from an anchor."""
    return (yield from run.evaluate_aside(points) if anchor is None else anchor.evaluate(run, points))


def copies(x: np.ndarray, count: int) -> np.ndarray:
    """A point so many times, as rows that may be changed."""
    rows = np.empty((count, len(x)))
    rows[:] = x
    return rows

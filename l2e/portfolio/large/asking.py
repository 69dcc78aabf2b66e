"""Batches in a thousand dimensions: many points that differ from one in few places, asked in pieces of bounded size."""

from collections.abc import Callable

import numpy as np

from l2e.portfolio.run import Batches, Run

PIECE = 128
"""Points of a batch: enough for a vectorised objective, and memory that is linear in the dimension."""


def ask(run: Run, count: int, build: Callable[[np.ndarray], np.ndarray]) -> Batches:
    """Values of `count` points, which `build` makes from their numbers when their piece is due."""
    values = np.empty(count)
    for begin in range(0, count, PIECE):
        places = np.arange(begin, min(begin + PIECE, count))
        values[places] = yield from run.evaluate_aside(build(places))
    return values


def copies(x: np.ndarray, count: int) -> np.ndarray:
    """A point so many times, as rows that may be changed."""
    rows = np.empty((count, len(x)))
    rows[:] = x
    return rows

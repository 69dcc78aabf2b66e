"""Where further searches begin: from the best of all points that were drawn for that and not begun from.

As in multi-level single linkage: points are cheap and searches are dear. A start costs 4 D random points, the search
that follows about 20 D.
"""

from collections.abc import Generator

import numpy as np

from l2e.experts.run import HALF, Run

DRAWN = 4
"""Points that are drawn for each start, per dimension."""

KEPT = 100
"""The best points not begun from that are kept."""


class Starts:
    """The starts of one search over the cube.

    **Arguments:** `dimension`.
    """

    def __init__(self, dimension: int):
        self._points = np.empty((0, dimension))
        self._values = np.empty(0)

    def take(self, run: Run) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float]]:
        """Draw some more points; the best one that is left is taken, with its value."""
        drawn = run.rng.uniform(-HALF, HALF, (DRAWN * run.dimension, run.dimension))
        values = yield from run.evaluate(drawn)
        points, values = np.concatenate([self._points, drawn]), np.concatenate([self._values, values])
        best, *others = np.argsort(values, kind="stable")[: KEPT + 1]
        self._points, self._values = points[others], values[others]
        return points[best], float(values[best])

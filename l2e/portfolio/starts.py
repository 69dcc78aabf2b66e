"""Start points for further searches: the best sampled point not used yet.

As in multi-level single linkage: points are cheap and searches are dear. A start costs 4 D random points, the search
that follows about 20 D.
"""

from collections.abc import Generator

import numpy as np

from l2e.portfolio.run import HALF, Run


class Starts:
    """The start points of one search over the cube.

    **Arguments:** `dimension`.
    """

    def __init__(self, dimension: int):
        self._points = np.empty((0, dimension))
        self._values = np.empty(0)

    def take(self, run: Run) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float]]:
        """Draw some more points; the best one not used yet is taken, with its value."""
        drawn = run.rng.uniform(-HALF, HALF, (run.policy.starts_drawn * run.dimension, run.dimension))
        values = yield from run.evaluate(drawn)
        points, values = np.concatenate([self._points, drawn]), np.concatenate([self._values, values])
        best, *others = np.argsort(values, kind="stable")[: run.policy.starts_kept + 1]
        self._points, self._values = points[others], values[others]
        return points[best], float(values[best])

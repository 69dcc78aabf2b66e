"""Start points for further searches: the best sampled point not used yet.

As in multi-level single linkage: points are cheap and searches are dear. A start costs 4 D random points, the search
that follows about 20 D.
"""

from collections.abc import Generator

import numpy as np

from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run

SOUND = (Reason.CONVERGED, Reason.SURPASSED, Reason.SLOW, Reason.LIMIT)
"""Ends of a quasi-Newton that had slopes to follow as far as it went."""

SAMPLE_MOST = 2000
"""Drawn points that are kept for the fit over the whole cube."""


class Starts:
    """The start points of one search over the cube.

    **Arguments:** `dimension`.
    """

    def __init__(self, dimension: int):
        self._points = np.empty((0, dimension))
        self._values = np.empty(0)
        self._sample: list[tuple[np.ndarray, np.ndarray]] = []
        self.ends: list[Reason] = []

    def take(self, run: Run) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float]]:
        """Draw some more points; the best one not used yet is taken, with its value."""
        drawn = run.rng.uniform(-HALF, HALF, (run.policy.starts_drawn * run.dimension, run.dimension))
        values = yield from run.evaluate(drawn)
        if run.rich and sum(len(batch) for batch, _ in self._sample) < SAMPLE_MOST:
            self._sample.append((drawn, values))
        points, values = np.concatenate([self._points, drawn]), np.concatenate([self._values, values])
        best, *others = np.argsort(values, kind="stable")[: run.policy.starts_kept + 1]
        self._points, self._values = points[others], values[others]
        return points[best], float(values[best])

    @property
    def soundness(self) -> float:
        """The share of searches that had slopes to follow as far as they went; 1 where none was made."""
        return float(np.mean([end in SOUND for end in self.ends])) if self.ends else 1.0

    def structure(self) -> float:
        """How much of the whole a quadratic explains: the adjusted R^2 of its fit to the ranks of all drawn points.

        0 if there are too few of them. Cross terms are in the fit where there are two points for each coefficient.
        """
        if not self._sample:
            return 0.0
        points, values = (np.concatenate(part) for part in zip(*self._sample, strict=True))
        finite = np.isfinite(values)
        points, values = points[finite], values[finite]
        n, d = points.shape
        columns = [np.ones((n, 1)), points, points**2]
        if n >= (d + 1) * (d + 2):
            columns.extend(points[:, i : i + 1] * points[:, i + 1 :] for i in range(d - 1))
        design = np.concatenate(columns, axis=1)
        freedom = n - design.shape[1]
        if freedom < design.shape[1]:
            return 0.0
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable") - (n - 1) / 2
        left = ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]
        return 1 - float(left @ left) / float(ranks @ ranks) * (n - 1) / freedom

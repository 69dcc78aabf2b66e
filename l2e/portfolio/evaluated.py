"""All evaluations of a search so far."""

import math

import numpy as np

from l2e.core.search import Known


class Evaluated:
    """All evaluations so far, kept batch by batch: to put them together each time would cost their square."""

    def __init__(self) -> None:
        self._points: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self.count = 0
        self.best_f = math.inf
        self.best_x = np.empty(0)

    def add(self, points: np.ndarray, values: np.ndarray) -> None:
        """One more batch; failures are `+inf`."""
        self._points.append(points)
        self._values.append(values)
        self.count += len(values)
        first = int(np.argmin(values)) if len(values) else 0
        if len(values) and values[first] < self.best_f:
            self.best_f, self.best_x = float(values[first]), points[first].copy()

    def known(self) -> Known:
        """Those with a value."""
        values = self.values
        kept = np.isfinite(values)
        return Known(self.points[kept], values[kept])

    @property
    def points(self) -> np.ndarray:
        """In order, shape (n, d)."""
        return np.concatenate(self._points)

    @property
    def values(self) -> np.ndarray:
        """In order."""
        return np.concatenate(self._values)

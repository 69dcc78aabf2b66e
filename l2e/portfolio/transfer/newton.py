"""Quasi-Newton that begins with the curvature of a family."""

import numpy as np

from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import WIDTH, Run, Steps
from l2e.portfolio.secants import Curvature, Pair


class MetricNewton(QuasiNewton):
    """Quasi-Newton whose first step is along the family's metric, which then is its first Hessian.

    **Arguments:** `x`, `f`: the point and its value; `metric`: positive definite, up to a scale; `length`: of the first
    step, as a share of the cube's width.
    """

    def __init__(self, x: np.ndarray, f: float, metric: np.ndarray, length: float):
        super().__init__(x, f)
        self._metric, self._length = metric, length

    def _first(self, run: Run, g: np.ndarray) -> Steps:
        """Along the metric's direction; its scale follows from how the gradient changed. Plain where that fails."""
        direction, _ = self._newton(g, self._metric)
        size = float(np.linalg.norm(direction))
        if self._was_reset or not 0 < size < np.inf:
            return (yield from super()._first(run, g))
        found = yield from self._search(run, g, direction * (self._length * WIDTH / size))
        if isinstance(found, Reason):
            return (yield from super()._first(run, g))
        old_x, old_g = self.x, g
        yield from self._move(run, found.x, found.value)
        assert self.gradient is not None
        s, y = self.x - old_x, self.gradient - old_g
        along = float(s @ self._metric @ s)
        scale = float(s @ y) / along if along > 0 else 0.0
        if not (np.isfinite(scale) and scale > 0):
            return None  # no curvature seen: the next step is a first one again
        self._curvature = Curvature(len(s), 1.0)
        self._curvature.hessian = scale * self._metric
        self._curvature.inverse = np.asarray(np.linalg.inv(self._curvature.hessian), dtype=np.float64)
        self._curvature.learn(Pair(s, y))
        return None

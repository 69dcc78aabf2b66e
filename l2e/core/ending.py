"""When a search has settled: nothing better by more than a tolerance for a while."""

from dataclasses import dataclass

import numpy as np

from l2e.core.meter import Meter
from l2e.core.stops import Settled

PATIENCE_PER_DIMENSION = 50
"""Without a number of its own, patience is at least this many evaluations per dimension,"""

PATIENCE_OF_USED = 1.0
"""and at least this many times the evaluations up to the last improvement: restarts have had their turn."""

LEAST_GAIN = 1e-10
"""Without a tolerance, an improvement counts from this share of all improvements so far."""


@dataclass
class Ending:
    """Says when a search has settled.

    The last improvement that counts is the last one that brought the best value down by more than the tolerance below
    where it was when the waiting began. The search has settled when `patience` evaluations came after it.

    **Arguments:** `dimension`; `tol`: improvements up to this count as none, None for 1e-10 of all improvements so far;
    `patience`: evaluations, None for 50 per dimension and as many as were needed until the last improvement.
    """

    dimension: int
    tol: float | None = None
    patience: int | None = None
    _first: float = np.inf
    _mark: float = np.inf
    _since: int = 0

    def check(self, meter: Meter) -> Settled | None:
        """The reason to end, once there is one."""
        best = meter.best_f
        if not np.isfinite(best):
            return None
        if not np.isfinite(self._mark):
            self._first, self._mark, self._since = best, best, meter.used
            return None
        tolerance = LEAST_GAIN * (self._first - best) if self.tol is None else self.tol
        if self._mark - best > tolerance:
            self._mark, self._since = best, meter.used
        waited = meter.used - self._since
        if waited < self._patience():
            return None
        return Settled(
            f"settled at {best:.6g}: no improvement by more than {tolerance:.3g} in the last {waited} evaluations"
        )

    def _patience(self) -> float:
        if self.patience is not None:
            return self.patience
        return max(PATIENCE_PER_DIMENSION * self.dimension, PATIENCE_OF_USED * self._since)

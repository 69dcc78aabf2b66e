"""The one meter: it counts evaluations and keeps the best point, every improvement and every failure."""

import warnings
from typing import Literal, NamedTuple

import numpy as np

from l2e.core.box import Box
from l2e.core.stops import ObjectiveError

OnError = Literal["penalize", "raise"]
MAX_RECORDED_FAILURES = 1000
LONGEST_REASON = 300
"""Characters of a failure's text that are kept."""


class Failure(NamedTuple):
    """One evaluation without a usable value: which one, where, and why."""

    evaluation: int
    x: np.ndarray
    reason: str


class History(NamedTuple):
    """The best value so far at each evaluation that improved it."""

    nfev: np.ndarray
    fun: np.ndarray


class Meter:
    """Counts the evaluations of one search, whoever makes them.

    A failed evaluation (an exception, NaN, an infinity, a time-out) counts, and its value is `+inf`, which ranks last.

    **Arguments:** `space`: the box; `budget`: how many evaluations there are, or None for no limit; `on_error`:
    "penalize" records failures, "raise" ends the search with `ObjectiveError` at the first.
    """

    def __init__(self, space: Box, budget: int | None, on_error: OnError = "penalize"):
        self.space = space
        self.budget = budget
        self.used = 0
        self.batches = 0
        self.best_x: np.ndarray | None = None
        self.best_f = np.inf
        self.failed = 0
        self.failures: list[Failure] = []
        self._on_error = on_error
        self._improved_at: list[int] = []
        self._improved_to: list[float] = []

    @property
    def remaining(self) -> int:
        """Evaluations left; a large number when there is no limit."""
        return 2**62 if self.budget is None else self.budget - self.used

    def know(self, points: np.ndarray, values: np.ndarray) -> None:
        """Take in evaluations that were made elsewhere: they cost nothing, and the best of them is the one to beat."""
        for point, value in zip(points, values.tolist(), strict=True):
            if value < self.best_f:
                self.best_x, self.best_f = point.copy(), value
        if np.isfinite(self.best_f):
            self._improved_at.append(self.used)
            self._improved_to.append(self.best_f)

    @property
    def history(self) -> History:
        """Best so far, at each improvement."""
        return History(np.asarray(self._improved_at, dtype=np.int64), np.asarray(self._improved_to))

    def count(self, point: np.ndarray, value: float, reason: str | None = None) -> float:
        """Count one evaluation; returns its value, `+inf` if it failed.

        **Arguments:** `reason`: why it gave no value, if it gave none.
        """
        self.used += 1
        if reason is None and np.isfinite(value):
            if value < self.best_f:
                self.best_f, self.best_x = float(value), point.copy()
                self._improved_at.append(self.used)
                self._improved_to.append(float(value))
            return float(value)
        self._fail(point, reason or f"returned {value}")
        return np.inf

    def count_all(self, points: np.ndarray, values: np.ndarray, reason: str | None = None) -> np.ndarray:
        """Count a batch, without counting the batch itself; returns its values, failed ones as `+inf`."""
        if reason is None and np.isfinite(values).all() and values.min() >= self.best_f:
            self.used += len(points)  # nothing to record: the common case, and the fast one
            return values
        return np.asarray([self.count(point, value, reason) for point, value in zip(points, values, strict=True)])

    def _fail(self, point: np.ndarray, reason: str) -> None:
        reason = reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 3] + "..."
        if self._on_error == "raise":
            raise ObjectiveError(f"the objective {reason} at evaluation {self.used}, x = {point}")
        self.failed += 1
        if self.failed == 1:
            warnings.warn(
                f"the objective {reason} at evaluation {self.used}; such points rank last and are listed in "
                "result.failures (on_error='penalize')",
                RuntimeWarning,
                stacklevel=2,
            )
        if len(self.failures) < MAX_RECORDED_FAILURES:
            self.failures.append(Failure(self.used, point.copy(), reason))

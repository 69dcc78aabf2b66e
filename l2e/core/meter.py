"""The one meter: it counts evaluations and keeps the best point, every improvement and every failure."""

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from l2e.core.box import Box
from l2e.core.record import Record
from l2e.core.stops import ObjectiveError

MAX_RECORDED_FAILURES = 1000
LONGEST_REASON = 300
"""Characters of a failure's text that are kept."""


Admits: TypeAlias = Callable[[np.ndarray, float], bool]
"""Whether a point with this value is allowed."""


class Failure(NamedTuple):
    """One evaluation without a usable value.

    **Fields:** `evaluation`: which one; `x`: the point; `reason`: why there is no value; `where`: the last line of the
    traceback, if it raised; `seconds`: what it took, NaN if that is not known.
    """

    evaluation: int
    x: np.ndarray
    reason: str
    where: str = ""
    seconds: float = float("nan")


class History(NamedTuple):
    """The best value so far at each evaluation that improved it."""

    nfev: np.ndarray
    fun: np.ndarray


class Meter:
    """Counts the evaluations of one search, whoever makes them.

    A failed evaluation (an exception, NaN, an infinity, a time-out) counts, and its value is `+inf`, which ranks last.

    **Arguments:** `space`: the box; `budget`: how many evaluations there are, or None for no limit; `penalize`:
    True records failures, False ends the search with `ObjectiveError` at the first; `admits`: whether a point may be
    the best one, all if not given.
    """

    def __init__(self, space: Box, budget: int | None, penalize: bool = True, admits: Admits | None = None):
        self.space = space
        self._admits = admits or _all
        self.budget = budget
        self.used = 0
        self.batches = 0
        self.best_x: np.ndarray | None = None
        self.best_f = np.inf
        self.failed = 0
        self.failures: list[Failure] = []
        self.record = Record(space.dimension)
        """Every evaluation."""
        self._penalize = penalize
        self._improved_at: list[int] = []
        self._improved_to: list[float] = []

    @property
    def remaining(self) -> int:
        """Evaluations left; a large number when there is no limit."""
        return 2**62 if self.budget is None else self.budget - self.used

    def know(self, points: np.ndarray, values: np.ndarray) -> None:
        """Take in evaluations that were made elsewhere: they cost nothing, and the best of them is the one to beat."""
        before = self.best_f
        for point, value in zip(points, values.tolist(), strict=True):
            if value < self.best_f and self._admits(point, value):
                self.best_x, self.best_f = point.copy(), value
        if self.best_f < before:
            self._improved_at.append(self.used)
            self._improved_to.append(self.best_f)

    @property
    def history(self) -> History:
        """Best so far, at each improvement."""
        return History(np.asarray(self._improved_at, dtype=np.int64), np.asarray(self._improved_to))

    def count(
        self,
        point: np.ndarray,
        value: float,
        reason: str | None = None,
        where: str = "",
        seconds: float = float("nan"),
    ) -> float:
        """Count one evaluation; returns its value, `+inf` if it failed.

        **Arguments:** `reason`: why it gave no value, if it gave none; `where`: in which line; `seconds`: it took.
        """
        self.used += 1
        if reason is None and math.isfinite(value):
            self.record.add_one(point, value, seconds)
            if value < self.best_f and self._admits(point, float(value)):
                self.best_f, self.best_x = float(value), point.copy()
                self._improved_at.append(self.used)
                self._improved_to.append(float(value))
            return float(value)
        self._fail(Failure(self.used, point.copy(), _short(reason or f"returned {value}"), where, seconds), value)
        return np.inf

    def count_all(
        self,
        points: np.ndarray,
        values: np.ndarray,
        reason: str | None = None,
        where: str = "",
        seconds: float = float("nan"),
    ) -> np.ndarray:
        """Count a batch, without counting the batch itself; returns its values, failed ones as `+inf`."""
        if reason is None and np.isfinite(values).all() and values.min() >= self.best_f:
            self.used += len(points)  # nothing to report: the common case, and the fast one
            self.record.add(points, values, seconds)
            return values
        each = zip(points, values, strict=True)
        return np.asarray([self.count(point, value, reason, where, seconds) for point, value in each])

    def _fail(self, failure: Failure, value: float) -> None:
        if not self._penalize:
            raise ObjectiveError(f"the objective {failure.reason} at evaluation {self.used}, x = {failure.x}")
        self.record.add(failure.x[None], value, failure.seconds, failure.reason)
        self.failed += 1
        if self.failed == 1:
            warnings.warn(
                f"the objective {failure.reason} at evaluation {self.used}; such points rank last and are listed in "
                "result.failures (on_error='penalize')",
                RuntimeWarning,
                stacklevel=2,
            )
        if len(self.failures) < MAX_RECORDED_FAILURES:
            self.failures.append(failure)


def _short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 3] + "..."


def _all(point: np.ndarray, value: float) -> bool:
    return True

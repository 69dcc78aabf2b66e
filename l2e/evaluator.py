"""The one meter. Whoever searches, pycma as much as our own optimizers, calls an `Evaluator`, and only it counts."""

import time
import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from scipy.optimize import OptimizeResult

from l2e import _runtime
from l2e._space import Box
from l2e._watchdog import TimedOutError, Watchdog

OnError = Literal["penalize", "raise"]
MAX_RECORDED_FAILURES = 1000


class StopSearch(Exception):  # noqa: N818 - a signal, not an error
    """The evaluator refuses further evaluations; `reason` is a short name of why."""

    reason = "stop"


class BudgetExhausted(StopSearch):
    """All evaluations are used."""

    reason = "budget"


class TargetReached(StopSearch):
    """The target value is reached."""

    reason = "target"


class OutOfTime(StopSearch):
    """The seconds given are over."""

    reason = "max_seconds"


class StoppedByCallback(StopSearch):
    """The user's callback raised `StopIteration`."""

    reason = "callback"


class ObjectiveError(RuntimeError):
    """The objective failed and `on_error="raise"` was chosen, or it returned something that is not a number.

    `result` is what `minimize` had found until then.
    """

    result: OptimizeResult | None = None


class Failure(NamedTuple):
    """One evaluation without a usable value: which one, where, and why."""

    evaluation: int
    x: np.ndarray
    reason: str


class History(NamedTuple):
    """The best value so far at each evaluation that improved it."""

    nfev: np.ndarray
    fun: np.ndarray


class Meter(NamedTuple):
    """What an evaluator has counted and recorded, for saving a run and going on with it."""

    used: int
    batches: int
    best_x: np.ndarray | None
    best_f: float
    failed: int
    failures: tuple[Failure, ...]
    history: History


class Evaluator:
    """Counts, limits and records the evaluations of one objective.

    It refuses the evaluation after the last with `BudgetExhausted`: a batch that is too long is evaluated as far as
    the budget goes, recorded, and then refused. It records the best point, every improvement and every failure. A
    failed evaluation (an exception, NaN, an infinity, a time-out) counts, and its value is `+inf`, which ranks last.

    **Arguments:**

    - `function`: takes a point (d,), or a batch (n, d) if `vectorized`.
    - `space`: the box; points outside it are refused with `ValueError`, since a searcher must keep to the box.
    - `budget`: how many evaluations there are, or None for no limit.
    - `target`: stop once a value is at or below it.
    - `max_seconds`: stop that much wall time after the first evaluation began; also ends one that hangs.
    - `timeout`: seconds one call of the function may take before it counts as failed. With either of the two the
      function is called in a thread of its own.
    - `on_error`: "penalize" or "raise".
    - `callback`: called with an `OptimizeResult` after each batch; its `StopIteration` stops the search.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        space: Box,
        budget: int | None,
        *,
        vectorized: bool = False,
        target: float | None = None,
        max_seconds: float | None = None,
        timeout: float | None = None,
        on_error: OnError = "penalize",
        callback: Callable[[OptimizeResult], Any] | None = None,
    ):
        self.space = space
        self.budget = budget
        self.target = target
        self.used = 0
        self.batches = 0
        self.best_x: np.ndarray | None = None
        self.best_f = np.inf
        self.failed = 0
        self.failures: list[Failure] = []
        self.stop: StopSearch | None = None
        self._function = function
        self._x64 = _runtime.float64_is_on()  # the user's setting, in which the function runs whoever calls it
        self._vectorized = vectorized
        self._on_error = on_error
        self._callback = callback
        self._timeout = timeout
        self._max_seconds = max_seconds
        self._deadline: float | None = None
        self._watchdog = None if timeout is None and max_seconds is None else Watchdog()
        self._lower, self._upper = np.asarray(space.lower), np.asarray(space.upper)
        self._improved_at: list[int] = []
        self._improved_to: list[float] = []

    @property
    def remaining(self) -> int:
        """Evaluations left; a large number when there is no limit."""
        return 2**62 if self.budget is None else self.budget - self.used

    @property
    def history(self) -> History:
        """Best so far, at each improvement."""
        return History(np.asarray(self._improved_at, dtype=np.int64), np.asarray(self._improved_to))

    def __call__(self, points: Any) -> Any:
        """Evaluate a point (d,) -> float or a batch (n, d) -> (n,), and count it."""
        batch = np.array(points, dtype=np.float64)
        single = batch.ndim == 1
        batch = batch[None, :] if single else batch
        self._check(batch)
        allowed = batch[: self.remaining]
        values = self._evaluate(allowed) if len(allowed) else np.empty(0)
        if len(allowed):
            self._finish_batch()
        if len(allowed) < len(batch):
            self._refuse(BudgetExhausted(f"all {self.budget} evaluations are used"))
        return float(values[0]) if single else values

    def record(self, points: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Count a batch that was evaluated elsewhere (ask/tell); returns its values, failed ones as `+inf`."""
        recorded = [self._count(point, value, None) for point, value in zip(points, values, strict=True)]
        self.batches += 1
        return np.asarray(recorded)

    def read(self) -> Meter:
        """The meter as it stands."""
        failures = tuple(self.failures)
        return Meter(self.used, self.batches, self.best_x, self.best_f, self.failed, failures, self.history)

    def resume(self, meter: Meter) -> None:
        """Go on counting from an earlier reading."""
        self.used, self.batches, self.best_x, self.best_f, self.failed = meter[:5]
        self.failures = list(meter.failures)
        self._improved_at = meter.history.nfev.tolist()
        self._improved_to = meter.history.fun.tolist()

    def close(self) -> None:
        """Release the helper thread, if there is one."""
        if self._watchdog is not None:
            self._watchdog.close()

    def _check(self, batch: np.ndarray) -> None:
        if self.stop is not None:
            raise self.stop
        if batch.ndim != 2 or batch.shape[1] != self._lower.size:
            raise ValueError(f"points must have shape (n, {self._lower.size}), got {batch.shape}")
        if not ((batch >= self._lower).all() and (batch <= self._upper).all()):
            raise ValueError("a point to evaluate is outside the box or not a number")
        if self._max_seconds is not None and self._deadline is None:
            self._deadline = time.monotonic() + self._max_seconds
        self._check_time()

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._refuse(OutOfTime(f"the {self._max_seconds:g} seconds given are over"))

    def _refuse(self, stop: StopSearch) -> None:
        self.stop = stop
        raise stop

    def _finish_batch(self) -> None:
        self.batches += 1
        if self._callback is not None:
            best = None if self.best_x is None else self.best_x.copy()
            try:
                self._callback(OptimizeResult(x=best, fun=self.best_f, nfev=self.used, nit=self.batches))
            except StopIteration:
                self.stop = StoppedByCallback("stopped by the callback")
        if self.target is not None and self.best_f <= self.target:
            self.stop = TargetReached(f"reached the target {self.target}")
        if self.stop is not None:
            raise self.stop

    def _evaluate(self, batch: np.ndarray) -> np.ndarray:
        if self._vectorized:
            return self._evaluate_together(batch)
        values = np.empty(len(batch))
        for i, point in enumerate(batch):
            self._check_time()
            answer, reason = self._call(point.copy())
            value = np.nan if reason else _numbers(answer, 1)[0]
            values[i] = self._count(point, value, reason)
            if self.target is not None and values[i] <= self.target:
                values[i + 1 :] = np.inf  # the rest of the batch is not evaluated and not counted
                break
        return values

    def _evaluate_together(self, batch: np.ndarray) -> np.ndarray:
        answer, reason = self._call(batch.copy())
        values = np.full(len(batch), np.nan) if reason else _numbers(answer, len(batch))
        if not (np.isfinite(values).all() and values.min() >= self.best_f):
            return np.asarray([self._count(point, value, reason) for point, value in zip(batch, values, strict=True)])
        self.used += len(batch)  # nothing to record: the common case, and the fast one
        return values

    def _call(self, argument: np.ndarray) -> tuple[Any, str | None]:
        """The function's answer and None, or nothing and the reason of its failure."""
        try:
            if self._watchdog is None:
                return self._apply(argument), None
            return self._watchdog(lambda: self._apply(argument), self._patience()), None
        except TimedOutError as error:
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self.used += 1 if argument.ndim == 1 else len(argument)  # begun, so counted; not the point's fault
                self._check_time()
            return None, f"timed out: {error}"
        except Exception as error:
            if self._on_error == "raise":
                raise ObjectiveError(f"the objective raised {error!r} at evaluation {self.used + 1}") from error
            return None, f"raised {error!r}"

    def _apply(self, argument: np.ndarray) -> Any:
        if _runtime.float64_is_on() == self._x64:
            return self._function(argument)
        with jax.enable_x64(self._x64):
            return self._function(argument)

    def _patience(self) -> float:
        left = np.inf if self._deadline is None else self._deadline - time.monotonic()
        return min(left, self._timeout or np.inf, 1e8)

    def _count(self, point: np.ndarray, value: float, reason: str | None) -> float:
        self.used += 1
        if reason is None and np.isfinite(value):
            if value < self.best_f:
                self.best_f, self.best_x = float(value), point.copy()
                self._improved_at.append(self.used)
                self._improved_to.append(float(value))
            return float(value)
        self._fail(point, reason or f"returned {value}")
        return np.inf

    def _fail(self, point: np.ndarray, reason: str) -> None:
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


def _numbers(answer: Any, n: int) -> np.ndarray:
    """What the function answered for n points as n floats, or an error that says what it answered instead."""
    wanted = "one real number" if n == 1 else f"{n} real numbers"
    array = np.asarray(answer)
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError(f"not of a real type: {array.dtype}")
        numbers = np.asarray([float(value) for value in array.ravel()]) if array.dtype.kind == "O" else array.ravel()
    except (TypeError, ValueError) as error:
        raise ObjectiveError(f"the objective must return {wanted}, it returned {answer!r:.80}") from error
    if array.size != n or array.ndim > 2:
        raise ObjectiveError(f"the objective must return {wanted}, it returned an array of shape {array.shape}")
    return numbers.astype(np.float64)

"""The metered function: whoever searches, pycma as much as our own methods, calls an `Evaluator`."""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from l2e.core.answers import as_numbers, description
from l2e.core.box import Box
from l2e.core.journal import DEADLY, Evaluation, Journal
from l2e.core.meter import Failure, History, Meter, OnError
from l2e.core.stops import (
    BudgetExhausted,
    ObjectiveError,
    OutOfTime,
    StoppedByCallback,
    StopSearch,
    TargetReached,
)
from l2e.core.watchdog import TimedOutError, Watchdog

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


class OtherPoints(StopSearch):
    """A replayed search asks for other points than those in its journal."""

    reason = "replay"


class Evaluator:
    """Calls one objective, and counts, limits and records its evaluations.

    It refuses the evaluation after the last with `BudgetExhausted`: a batch that is too long is evaluated as far as
    the budget goes, recorded, and then refused.

    **Arguments:**

    - `function`: takes a point (d,), or a batch (n, d) if `vectorized`.
    - `space`: the box; points outside it are refused with `ValueError`, since a method must keep to the box.
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
        callback: "Callable[[OptimizeResult], Any] | None" = None,
    ):
        self.meter = Meter(space, budget, on_error)
        self.target = target
        self.stop: StopSearch | None = None
        self._function = function
        self._x64 = _x64_here()  # the user's setting, in which the function runs whoever calls it
        self._vectorized = vectorized
        self._on_error: OnError = on_error
        self._callback = callback
        self._timeout = timeout
        self._max_seconds = max_seconds
        self._deadline: float | None = None
        self._watchdog = None if timeout is None and max_seconds is None else Watchdog()
        self._lower, self._upper = np.asarray(space.lower), np.asarray(space.upper)
        self._journal: Journal | None = None
        self._recorded: deque[Evaluation] = deque()
        self._deaths: dict[bytes, int] = {}
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def space(self) -> Box:
        """The box."""
        return self.meter.space

    @property
    def budget(self) -> int | None:
        """How many evaluations there are."""
        return self.meter.budget

    @property
    def used(self) -> int:
        """Evaluations made so far."""
        return self.meter.used

    @property
    def remaining(self) -> int:
        """Evaluations left; a large number when there is no limit."""
        return self.meter.remaining

    @property
    def best_x(self) -> np.ndarray | None:
        """The best point so far."""
        return self.meter.best_x

    @property
    def best_f(self) -> float:
        """The best value so far."""
        return self.meter.best_f

    @property
    def failed(self) -> int:
        """Evaluations without a usable value."""
        return self.meter.failed

    @property
    def failures(self) -> list[Failure]:
        """The first of them, with their reasons."""
        return self.meter.failures

    @property
    def history(self) -> History:
        """Best so far, at each improvement."""
        return self.meter.history

    def __call__(self, points: Any) -> Any:
        """Evaluate a point (d,) -> float or a batch (n, d) -> (n,), and count it."""
        batch = np.array(points, dtype=np.float64)
        single = batch.ndim == 1
        batch = batch[None, :] if single else batch
        self._check(batch)
        allowed = batch[: self.remaining]
        if len(allowed):
            replayed = len(self._recorded) >= len(allowed)
            values = self._evaluate(allowed)
            self._finish_batch(tell=not replayed)
        else:
            values = np.empty(0)
        if len(allowed) < len(batch):
            self._refuse(BudgetExhausted(f"all {self.budget} evaluations are used"))
        return float(values[0]) if single else values

    def follow(self, journal: Journal, recorded: Iterable[Evaluation]) -> None:
        """Record evaluations in a journal, and answer the first ones from it instead of calling the function."""
        self._journal = journal
        self._recorded = deque(recorded)
        self._deaths = journal.recorded.deaths

    def know(self, points: np.ndarray, values: np.ndarray) -> None:
        """Take in evaluations that were made elsewhere, which cost nothing."""
        self._known = (points, values)
        self.meter.know(points, values)

    def start_over(self, evaluations: Iterable[Evaluation]) -> None:
        """Forget the count, then count evaluations of earlier searches, which are not asked for again."""
        self.meter = Meter(self.space, self.budget, self._on_error)
        if self._known is not None:
            self.meter.know(*self._known)
        self._recorded.clear()
        self.stop = None
        for evaluation in evaluations:
            self.meter.count(evaluation.x, evaluation.value, evaluation.reason)

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
        if self._max_seconds is not None and self._deadline is None and not self._recorded:
            self._deadline = time.monotonic() + self._max_seconds
        self._check_time()

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._refuse(OutOfTime(f"the {self._max_seconds:g} seconds given are over"))

    def _refuse(self, stop: StopSearch) -> None:
        self.stop = stop
        raise stop

    def _finish_batch(self, tell: bool) -> None:
        self.meter.batches += 1
        if tell and self._callback is not None:
            from scipy.optimize import OptimizeResult

            best = None if self.best_x is None else self.best_x.copy()
            try:
                self._callback(OptimizeResult(x=best, fun=self.best_f, nfev=self.used, nit=self.meter.batches))
            except StopIteration:
                self.stop = StoppedByCallback("stopped by the callback")
        if self.target is not None and self.best_f <= self.target:
            self.stop = TargetReached(f"reached the target {self.target}")
        if self.stop is not None:
            raise self.stop

    def _evaluate(self, batch: np.ndarray) -> np.ndarray:
        if self._vectorized:
            known = min(len(self._recorded), len(batch))
            values = [self._recall(point) for point in batch[:known]]
            fresh = self._evaluate_together(batch[known:]) if known < len(batch) else np.empty(0)
            return np.concatenate([values, fresh]) if known else fresh
        values = np.empty(len(batch))
        for i, point in enumerate(batch):
            values[i] = self._recall(point) if self._recorded else self._evaluate_one(point)
            if self.target is not None and values[i] <= self.target:
                values[i + 1 :] = np.inf  # the rest of the batch is not evaluated and not counted
                break
        return values

    def _recall(self, point: np.ndarray) -> float:
        """The recorded answer to the question that is asked again."""
        evaluation = self._recorded.popleft()
        if not np.array_equal(evaluation.x, point):
            raise OtherPoints("the search asks for other points than those in its journal")
        return self.meter.count(point, evaluation.value, evaluation.reason)

    def _evaluate_one(self, point: np.ndarray) -> float:
        self._check_time()
        if self._deaths.get(point.tobytes(), 0) >= DEADLY:
            return self._killer(point)
        with self._journaled(point[None]):
            answer, reason = self._call(point.copy())
        value = np.nan if reason else float(answer[0])
        self._note(np.asarray([value]), reason)
        return self.meter.count(point, value, reason)

    def _evaluate_together(self, batch: np.ndarray) -> np.ndarray:
        deadly = [self._deaths.get(point.tobytes(), 0) >= DEADLY for point in batch] if self._deaths else []
        if any(deadly):
            return np.asarray([self._killer(point) for point in batch])
        with self._journaled(batch):
            answer, reason = self._call(batch.copy())
        values = np.full(len(batch), np.nan) if reason else answer
        self._note(values, reason)
        return self.meter.count_all(batch, values, reason)

    def _killer(self, point: np.ndarray) -> float:
        """A point that ended its process each time it was evaluated is not evaluated again."""
        reason = f"ended its process {DEADLY} times"
        if self._journal is not None:
            self._journal.begin(point[None])
            self._journal.end(np.nan, reason)
        return self.meter.count(point, np.nan, reason)

    @contextlib.contextmanager
    def _journaled(self, batch: np.ndarray) -> Any:
        """Write down what is about to be evaluated; if the user gives up, that the points are not to blame."""
        if self._journal is None:
            yield
            return
        self._journal.begin(batch)
        try:
            yield
        except BaseException:
            self._journal.abandon()
            raise

    def _note(self, values: np.ndarray, reason: str | None) -> None:
        if self._journal is not None:
            for value in values.tolist():
                self._journal.end(value, reason if reason else None if np.isfinite(value) else f"returned {value}")

    def _call(self, argument: np.ndarray) -> tuple[Any, str | None]:
        """The function's answers as numbers and None, or nothing and the reason of its failure."""
        n = 1 if argument.ndim == 1 else len(argument)
        try:
            if self._watchdog is None:
                answer = self._apply(argument)
            else:
                answer = self._watchdog(lambda: self._apply(argument), self._patience())
        except TimedOutError as error:
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self.meter.used += n  # begun, so counted; not the point's fault
                self._check_time()
            return None, f"timed out: {error}"
        except (Exception, SystemExit) as error:
            if self._on_error == "raise":
                raise ObjectiveError(
                    f"the objective raised {description(error)} at evaluation {self.used + 1}"
                ) from error
            return None, f"raised {description(error)}"
        return as_numbers(answer, n), None

    def _apply(self, argument: np.ndarray) -> Any:
        if self._x64 is None and "jax" in sys.modules:  # imported since: what the user's process has by default
            self._x64 = bool(sys.modules["jax"].config.values["jax_enable_x64"])
        with contextlib.ExitStack() as settings:
            if self._x64 != _x64_here():
                settings.enter_context(sys.modules["jax"].enable_x64(self._x64))
            ours = sys.modules.get("l2e.core.traced.compilations")
            if ours is not None and ours.KEPT.entered:  # what the user compiles is none of our cache's business
                settings.enter_context(ours.KEPT.paused())
            return self._function(argument)

    def _patience(self) -> float:
        left = np.inf if self._deadline is None else self._deadline - time.monotonic()
        return min(left, self._timeout or np.inf, 1e8)


def _x64_here() -> bool | None:
    """Whether JAX computes in float64 here and now; None while nobody has imported it."""
    jax = sys.modules.get("jax")
    return None if jax is None else jax.config.jax_enable_x64

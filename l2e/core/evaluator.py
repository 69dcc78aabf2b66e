"""The metered function: whoever searches, pycma as much as our own methods, calls an `Evaluator`."""

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from l2e.core.answers import description, values_and_rows
from l2e.core.apart import Apart
from l2e.core.box import Box
from l2e.core.caller import Caller
from l2e.core.ending import Ending
from l2e.core.errors import MissingExtraError
from l2e.core.failing import SameErrors, on_error_policy
from l2e.core.journal import DEADLY, Journal
from l2e.core.journal_frames import Evaluation, Segment
from l2e.core.meter import Admits, Failure, History, Meter
from l2e.core.stops import (
    BudgetExhausted,
    ObjectiveError,
    OutOfTime,
    SameError,
    StoppedByCallback,
    StopSearch,
    TargetReached,
)
from l2e.core.watchdog import TimedOutError
from l2e.core.workers.contract import AbstractCrew, Outcome, last_line

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


class OtherPoints(StopSearch):
    """A replayed search asks for other points than those in its journal."""

    reason = "replay"


class _Answered(NamedTuple):
    """What a call of the function gave: values and what came with them, or why there are none, and where it failed."""

    values: np.ndarray | None
    rows: np.ndarray | None = None
    reason: str | None = None
    where: str = ""


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
      function is called in a thread of its own; with a crew, which has its own time-out, not.
    - `on_error`: "penalize", "raise", "retry" or "retry(3)": a failed evaluation is tried again so often, and counted
      once.
    - `callback`: called with an `OptimizeResult` after each batch; True or `StopIteration` stops the search.
    - `crew`: evaluates the points of a batch at once, in other processes; they are counted in the order of the batch.
    - `ending`: says when the search has settled.
    - `observer`: called after each evaluation, with this object.
    - `admits`: whether a point may be the best one.
    - `keep`: told of points and the further numbers that the function returned with their values, before these count.
    """

    part = ""
    """Who asks now, for the record."""

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
        on_error: str = "penalize",
        callback: "Callable[[OptimizeResult], Any] | None" = None,
        crew: AbstractCrew | None = None,
        ending: Ending | None = None,
        observer: "Callable[[Evaluator], None] | None" = None,
        admits: Admits | None = None,
        keep: Callable[[np.ndarray, np.ndarray], None] | None = None,
    ):
        self._admits, self._keep = admits, keep
        self._on_error = on_error_policy(on_error)
        self.meter = Meter(space, budget, self._on_error.penalize, admits)
        self.target = target
        self.stop: StopSearch | None = None
        self._vectorized = vectorized
        self._callback = callback
        self._ending, self._observer = ending, observer
        self.apart = None if crew is None else Apart(self, crew, self._on_error.retries)
        """Evaluates in other processes, if there are workers."""
        self._errors = SameErrors()
        self._max_seconds = max_seconds
        self.deadline: float | None = None
        """When the time is over, on the monotonic clock."""
        watched = crew is None and not (timeout is None and max_seconds is None)
        self._caller = Caller(function, timeout, watched)
        self._lower, self._upper = np.asarray(space.lower), np.asarray(space.upper)
        self._journal: Journal | None = None
        self._recorded: dict[int, Evaluation] = {}
        self._asked = 0  # points of this search so far: the number of the next one
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
            numbers = range(self._asked, self._asked + len(allowed))
            replayed = bool(self._recorded) and all(number in self._recorded for number in numbers)
            self.meter.record.part(self.part)
            values = self._evaluate(allowed)
            self._asked += len(allowed)
            self.finish(allowed, values, tell=not replayed)
        else:
            values = np.empty(0)
        if len(allowed) < len(batch):
            self.refuse_more()
        return float(values[0]) if single else values

    def refuse_more(self) -> None:
        """End the search: there are no evaluations left."""
        self._refuse(BudgetExhausted(f"all {self.budget} evaluations are used"))

    def begin_clock(self) -> None:
        """The time limit counts from now on, unless it does already."""
        if self._max_seconds is not None and self.deadline is None:
            self.deadline = time.monotonic() + self._max_seconds

    def follow(self, journal: Journal, segment: Segment) -> None:
        """Record evaluations in a journal, and answer from it what it knows instead of calling the function."""
        self._journal = journal
        self._recorded = dict(segment.finished)
        self._deaths = journal.recorded.deaths

    def know(self, points: np.ndarray, values: np.ndarray) -> None:
        """Take in evaluations that were made elsewhere, which cost nothing."""
        self._known = (points, values)
        self.meter.know(points, values)

    def start_over(self, evaluations: Iterable[Evaluation]) -> None:
        """Forget the count, then count evaluations of earlier searches, which are not asked for again."""
        self.meter = Meter(self.space, self.budget, self._on_error.penalize, self._admits)
        if self._known is not None:
            self.meter.know(*self._known)
        self._recorded, self._asked = {}, 0
        self.stop = None
        for evaluation in evaluations:
            self._count_known(evaluation)

    def close(self) -> None:
        """Release the helper thread and the workers, if there are any."""
        self._caller.close()
        if self.apart is not None:
            self.apart.crew.close()

    def _check(self, batch: np.ndarray) -> None:
        if self.stop is not None:
            raise self.stop
        if batch.ndim != 2 or batch.shape[1] != self._lower.size:
            raise ValueError(f"points must have shape (n, {self._lower.size}), got {batch.shape}")
        if not ((batch >= self._lower).all() and (batch <= self._upper).all()):
            raise ValueError("a point to evaluate is outside the box or not a number")
        if self._asked not in self._recorded:
            self.begin_clock()
        self.check_time()

    def check_time(self) -> None:
        """Refuse further evaluations once the time limit has passed."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self._refuse(OutOfTime(f"the {self._max_seconds:g} seconds given are over"))

    def _refuse(self, stop: StopSearch) -> None:
        self.stop = stop
        raise stop

    def finish(self, batch: np.ndarray, values: np.ndarray, tell: bool = True) -> None:
        """A batch is done: call back unless it was replayed, and end the search if it is time."""
        self.meter.batches += 1
        if tell and self._callback is not None:
            self._call_back(self._callback, batch, values)
        self._settle()
        if self.target is not None and self.best_f <= self.target:
            self.stop = TargetReached(f"reached the target {self.target}")
        if self.stop is not None:
            raise self.stop

    def _settle(self) -> None:
        if self._ending is not None and self.stop is None:
            self.stop = self._ending.check(self.meter)

    def _call_back(self, callback: Callable[..., Any], batch: np.ndarray, values: np.ndarray) -> None:
        from scipy.optimize import OptimizeResult

        best = None if self.best_x is None else self.best_x.copy()
        state = OptimizeResult(x=best, fun=self.best_f, nfev=self.used, nit=self.meter.batches)
        state.points, state.values_of_points = batch.copy(), values.copy()
        try:
            answer = callback(state)
        except StopIteration:
            answer = True
        if isinstance(answer, bool | np.bool_) and answer and self.stop is None:
            self.stop = StoppedByCallback("stopped by the callback")

    def _evaluate(self, batch: np.ndarray) -> np.ndarray:
        if self.apart is not None:
            return self.apart.batch(batch, self._asked)
        if self._vectorized:
            known = next((i for i in range(len(batch)) if self._asked + i not in self._recorded), len(batch))
            values = [self.recall(point, self._asked + i) for i, point in enumerate(batch[:known])]
            fresh = self._evaluate_together(batch[known:]) if known < len(batch) else np.empty(0)
            return np.concatenate([values, fresh]) if known else fresh
        values = np.full(len(batch), np.inf)  # what is not evaluated is not counted
        for i, point in enumerate(batch):
            number = self._asked + i
            values[i] = self.recall(point, number) if number in self._recorded else self._evaluate_one(point)
            if self.is_over(values[i]):
                break
        return values

    def is_over(self, value: float) -> bool:
        """Whether the rest of a batch need not be evaluated."""
        self._settle()
        return (self.target is not None and value <= self.target) or self.stop is not None

    def recall(self, point: np.ndarray, number: int) -> float:
        """The recorded answer to the question that is asked again."""
        evaluation = self._recorded.pop(number)
        if not np.array_equal(evaluation.x, point):
            raise OtherPoints("the search asks for other points than those in its journal")
        return self._count_known(evaluation)

    def _count_known(self, evaluation: Evaluation) -> float:
        self._take_rows(evaluation.x[None], None if evaluation.rows is None else evaluation.rows[None])
        return self.meter.count(evaluation.x, evaluation.value, evaluation.reason, "", evaluation.seconds)

    def _take_rows(self, points: np.ndarray, rows: np.ndarray | None) -> None:
        if self._keep is not None and rows is not None:
            self._keep(points, rows)

    def knows(self, number: int) -> bool:
        """Whether the journal has the value of the point of this number."""
        return number in self._recorded

    def note_begin(self, group: list[tuple[int, np.ndarray]], part: str) -> None:
        """Write down that workers are about to evaluate these points."""
        if self._journal is not None:
            numbers = [number for number, _ in group]
            self._journal.begin(np.asarray([point for _, point in group]), numbers, part, apart=True)

    def note_end(self, outcome: Outcome) -> None:
        """Write down what a worker has found."""
        if self._journal is not None:
            reason = why(outcome.value, outcome.reason)
            self._journal.end(outcome.value, reason, outcome.number, outcome.seconds, outcome.rows)

    def count_outcome(self, point: np.ndarray, outcome: Outcome) -> float:
        """Count what a worker has found; its value, `+inf` if it failed."""
        reason = self.forgiven(ObjectiveError(outcome.reason)) if outcome.wrong else outcome.reason
        self._look_for_errors(reason, outcome.where)
        self._take_rows(point[None], None if outcome.rows is None else np.asarray(outcome.rows)[None])
        value = self.meter.count(point, outcome.value, reason, outcome.where, outcome.seconds)
        self._observe()
        return value

    def run_out_of_time(self, running: int) -> None:
        """End the search at its time limit, with so many evaluations under way, which were begun and so count."""
        self.meter.used += running
        self.check_time()

    def _evaluate_one(self, point: np.ndarray) -> float:
        self.check_time()
        if self._deaths and self._deaths.get(point.tobytes(), 0) >= DEADLY:
            return self._killer(point)
        began = time.perf_counter()
        if self._journal is None:
            values, rows, reason, where = self._try(point)
        else:
            with self._journaled(point[None]):
                values, rows, reason, where = self._try(point)
        seconds = time.perf_counter() - began
        value = np.nan if values is None else float(values[0])
        if self._journal is not None:
            self._note(np.asarray([value]), rows, reason, seconds)
        self._look_for_errors(reason, where)
        self._take_rows(point[None], rows)
        value = self.meter.count(point, value, reason, where, seconds)
        self._observe()
        return value

    def _evaluate_together(self, batch: np.ndarray) -> np.ndarray:
        deadly = [self._deaths.get(point.tobytes(), 0) >= DEADLY for point in batch] if self._deaths else []
        if any(deadly):
            return np.asarray([self._killer(point) for point in batch])
        began = time.perf_counter()
        with self._journaled(batch):
            answer, rows, reason, where = self._try(batch)
        seconds = (time.perf_counter() - began) / len(batch)
        values = np.full(len(batch), np.nan) if answer is None else answer
        self._note(values, rows, reason, seconds)
        self._look_for_errors(reason, where)
        self._take_rows(batch, rows)
        values = self.meter.count_all(batch, values, reason, where, seconds)
        self._observe()
        return values

    def _look_for_errors(self, reason: str | None, where: str) -> None:
        message = self._errors.saw(reason, where)
        if message is not None and self._on_error.penalize:
            self.stop = SameError(message)

    def _observe(self) -> None:
        if self._observer is not None:
            self._observer(self)

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
        self._journal.begin(batch, part=self.part)
        try:
            yield
        except BaseException:
            self._journal.abandon()
            raise

    def _note(self, values: np.ndarray, rows: np.ndarray | None, reason: str | None, seconds: float) -> None:
        if self._journal is not None:
            for i, value in enumerate(values.tolist()):
                further = None if rows is None else rows[i].tolist()
                self._journal.end(value, why(value, reason), None, seconds, further)

    def _try(self, argument: np.ndarray) -> _Answered:
        """`_call`, again while it fails and the policy is to retry."""
        for _ in range(self._on_error.retries):
            answered = self._call(argument.copy())
            if answered.values is not None and np.isfinite(answered.values).all():
                return answered
        return self._call(argument.copy())

    def _call(self, argument: np.ndarray) -> _Answered:
        """The function's answers as numbers, or the reason of its failure and where it happened."""
        n = 1 if argument.ndim == 1 else len(argument)
        try:
            answer = self._caller(argument, self.deadline)
        except TimedOutError as error:
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.meter.used += n  # begun, so counted; not the point's fault
                self.check_time()
            return _Answered(None, reason=f"timed out: {error}")
        except MissingExtraError:
            raise  # no point is at fault, and no other one would do better
        except (Exception, SystemExit) as error:
            if not self._on_error.penalize:
                raise ObjectiveError(
                    f"the objective raised {description(error)} at evaluation {self.used + 1}"
                ) from error
            return _Answered(None, None, f"raised {description(error)}", last_line(error))
        try:
            return _Answered(*values_and_rows(answer, n))
        except ObjectiveError as error:
            return _Answered(None, reason=self.forgiven(error))

    def forgiven(self, error: ObjectiveError) -> str:
        """The reason why an evaluation failed whose answer is no number.

        A function that has given numbers before may fail at a point. One that has not is wrong itself: that is raised.
        """
        gave_numbers = self.used > self.failed or np.isfinite(self.best_f)
        if not (self._on_error.penalize and gave_numbers):
            raise error
        return str(error).removeprefix("the objective ")


def why(value: float, reason: str | None) -> str | None:
    """Why there is no usable value: the reason given, or what was returned."""
    return reason or (None if np.isfinite(value) else f"returned {value}")

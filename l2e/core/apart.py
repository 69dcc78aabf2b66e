"""Evaluation by a crew: the points of a batch at once, counted in the order of the batch, or each as it arrives."""

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from l2e.core.workers.contract import AbstractCrew, Outcome, Ticket
from l2e.core.workers.round import DEADLY, outcomes

if TYPE_CHECKING:
    from l2e.core.evaluator import Evaluator


class Apart:
    """Evaluates points for an `Evaluator` by a crew; whatever it finds is journaled before it is counted.

    **Arguments:** `evaluate`: counts; `crew`: works; `retries`: how often a failed evaluation is tried again.
    """

    def __init__(self, evaluate: "Evaluator", crew: AbstractCrew, retries: int):
        self.crew = crew
        self._evaluate, self._retries = evaluate, retries
        self._tickets: dict[int, Ticket] = {}
        self._tries: dict[int, int] = {}

    def batch(self, points: np.ndarray, first: int) -> np.ndarray:
        """The values of a batch whose first point has this number; it is counted in its own order.

        What comes after a point that ends the search is neither counted nor waited for.
        """
        round_ = _Round(self._evaluate, points, first)
        try:
            round_.count()
            ends = outcomes(self.crew, round_.fresh, self._begin, self._retries, self._evaluate.deadline)
            for outcome in ends if round_.fresh and not round_.over else ():
                self._evaluate.note_end(outcome)
                round_.take(outcome)
                if round_.over:
                    break
        except BaseException:
            round_.count_the_rest()
            raise
        finally:
            self.crew.abandon()
        if not round_.over and len(round_.values) < len(points):  # begun, so counted; not the points' fault
            self._evaluate.run_out_of_time(min(len(points) - len(round_.values), self.crew.size))
        return np.asarray(round_.values + [math.inf] * (len(points) - len(round_.values)))

    @property
    def free(self) -> int:
        """How many more points may be submitted; no more than the crew has workers."""
        return min(self.crew.free, self.crew.size - len(self._tickets))

    def submit(self, ticket: Ticket) -> None:
        """Begin to evaluate a point whose value is told when it arrives."""
        self._tickets[ticket.number], self._tries[ticket.number] = ticket, 1
        self._evaluate.note_begin([(ticket.number, ticket.point)], ticket.part)
        self.crew.submit(ticket.number, ticket.point.copy())

    def arrived(self) -> list[tuple[int, float]]:
        """The next values, at least one, by the numbers of their points; they are counted."""
        self._evaluate.check_time()
        values: list[tuple[int, float]] = []
        while not values:
            deadline = self._evaluate.deadline
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            for outcome in self.crew.wait(left):
                if not self._again(outcome):
                    values.append(self._take(outcome))
            if not values and deadline is not None and time.monotonic() >= deadline:
                self._evaluate.run_out_of_time(len(self._tickets))
        return values

    def _again(self, outcome: Outcome) -> bool:
        number = outcome.number
        failed = outcome.reason is not None or not math.isfinite(outcome.value)
        allowed = max(1 + self._retries, DEADLY if outcome.died else 1)
        if outcome.wrong or not failed or self._tries[number] >= allowed:
            return False
        self._tries[number] += 1
        self.crew.submit(number, self._tickets[number].point.copy())
        return True

    def _take(self, outcome: Outcome) -> tuple[int, float]:
        ticket = self._tickets.pop(outcome.number)
        del self._tries[outcome.number]
        self._evaluate.note_end(outcome)
        self._evaluate.meter.record.part(ticket.part)
        return outcome.number, self._evaluate.count_outcome(ticket.point, outcome)

    def _begin(self, group: list[tuple[int, np.ndarray]]) -> None:
        self._evaluate.note_begin(group, self._evaluate.part)


class _Round:
    """The evaluation of one batch: which values are known, and which of them are counted."""

    def __init__(self, evaluate: "Evaluator", points: np.ndarray, first: int):
        self._evaluate, self._points, self._first = evaluate, points, first
        self.fresh = [(first + i, x) for i, x in enumerate(points) if not evaluate.knows(first + i)]
        self.values: list[float] = []
        self._ended: dict[int, Outcome] = {}

    @property
    def over(self) -> bool:
        """Whether the last value counted ends the search."""
        return bool(self.values) and self._evaluate.is_over(self.values[-1])

    def take(self, outcome: Outcome) -> None:
        """One more outcome; whatever can be counted now, is."""
        self._ended[outcome.number] = outcome
        self.count()

    def count(self) -> None:
        """Count, in the order of the batch, up to the first point without a value."""
        while len(self.values) < len(self._points) and not self.over:
            row = len(self.values)
            number, point = self._first + row, self._points[row]
            if self._evaluate.knows(number):
                self.values.append(self._evaluate.recall(point, number))
            elif number in self._ended:
                self.values.append(self._evaluate.count_outcome(point, self._ended.pop(number)))
            else:
                return

    def count_the_rest(self) -> None:
        """After an interruption: what was paid for counts, whatever its order."""
        for number, outcome in sorted(self._ended.items()):
            if outcome.reason is None:
                self._evaluate.count_outcome(self._points[number - self._first], outcome)

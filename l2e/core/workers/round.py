"""One round of evaluations by a crew: points go out as workers are free, failed ones perhaps again."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from l2e.core.workers.contract import AbstractCrew, Outcome

Numbered = tuple[int, np.ndarray]

DEADLY = 2
"""A point during whose evaluation a process died this often counts as failed."""


def outcomes(
    crew: AbstractCrew,
    points: Sequence[Numbered],
    begin: Callable[[list[Numbered]], None],
    retries: int,
    deadline: float | None,
) -> Iterator[Outcome]:
    """The end of each evaluation, in the order in which they end; it stops when the deadline has passed.

    **Arguments:** `begin`: is told of points before they are evaluated for the first time; `retries`: how often one
    that failed is tried again. One whose process died is tried once more in any case: the point may not be to blame.
    """
    waiting, tries = deque(points), dict.fromkeys((number for number, _ in points), 0)
    running: dict[int, np.ndarray] = {}
    while waiting or running:
        _send(crew, waiting, running, tries, begin)
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return
        for outcome in crew.wait(left):
            point = running.pop(outcome.number)
            if tries[outcome.number] < _allowed(outcome, retries):
                waiting.appendleft((outcome.number, point))
            else:
                yield outcome


def _send(
    crew: AbstractCrew,
    waiting: deque[Numbered],
    running: dict[int, np.ndarray],
    tries: dict[int, int],
    begin: Callable[[list[Numbered]], None],
) -> None:
    group = [waiting.popleft() for _ in range(min(max(crew.free, 0), len(waiting)))]
    new = [(number, point) for number, point in group if not tries[number]]
    if new:
        begin(new)
    for number, point in group:
        tries[number] += 1
        running[number] = point
        crew.submit(number, point.copy())


def _allowed(outcome: Outcome, retries: int) -> int:
    """How often a point may be tried that ended like this."""
    if outcome.wrong or (outcome.reason is None and math.isfinite(outcome.value)):
        return 1
    return max(1 + retries, DEADLY if outcome.died else 1)

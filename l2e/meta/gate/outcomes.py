"""What the learned gate is trained on: for one problem, the score of staying and of leaving at each moment.

All searches of a problem are equal up to where they leave, so one that stays shows the features of all moments, and
one more for each moment shows what leaving there would have been worth.
"""

from typing import NamedTuple

import numpy as np

from l2e.meta.episodes import Task, gap_of, score
from l2e.portfolio.gate import FEATURES, MOMENTS, AsksToLeave, features
from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.probes import Line
from l2e.portfolio.router import Router
from l2e.portfolio.run import Run


class Outcomes(NamedTuple):
    """Of n problems with up to m moments: features (n, m, f), which moments came (n, m), scores of leaving and staying.

    Scores of moments that did not come are 0.
    """

    seen: np.ndarray
    came: np.ndarray
    left: np.ndarray
    stayed: np.ndarray


class Scripted:
    """A gate that leaves when it is asked for the n-th time, from 0, and keeps what it saw; None: it never leaves."""

    def __init__(self, leave_at: int | None):
        self.leave_at = leave_at
        self.seen: list[np.ndarray] = []

    def leaves(self, run: Run, newton: QuasiNewton, line: Line) -> bool:
        """Whether it is time."""
        self.seen.append(features(run, newton, line))
        return len(self.seen) - 1 == self.leave_at


def outcomes_of(task: Task) -> Outcomes:
    """Play a problem as often as it has moments, and once more."""
    watch = Scripted(None)
    stayed = _score(task, watch)
    count = len(watch.seen)
    seen, came, left = empty(1)[:3]
    if count:
        seen[0, :count], came[0, :count] = watch.seen, 1
        left[0, :count] = [_score(task, Scripted(moment)) for moment in range(count)]
    return Outcomes(seen, came, left, np.asarray([stayed]))


def empty(problems: int) -> Outcomes:
    """Zero-filled outcomes for this many problems."""
    moments = (problems, len(MOMENTS))
    return Outcomes(np.zeros((*moments, len(FEATURES))), np.zeros(moments), np.zeros(moments), np.zeros(problems))


def joined(parts: list[Outcomes]) -> Outcomes:
    """All problems of several."""
    return Outcomes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _score(task: Task, gate: AsksToLeave) -> float:
    """The share of targets at the end of the budget."""
    return score(gap_of(task, Router(gate=gate).search))

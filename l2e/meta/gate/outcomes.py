"""What the learned gate is trained on: for one problem, what it sees when it is asked and the score of each action.

All searches of a problem are equal up to the choice, so one search for each action shows all there is to know.
"""

from typing import NamedTuple

import numpy as np

from l2e.meta.episodes import Task, gap_of, score
from l2e.portfolio.evolution import Evolution
from l2e.portfolio.gate import ACTIONS, FEATURES, Action, allowed, features
from l2e.portfolio.router import Router
from l2e.portfolio.run import Run
from l2e.portfolio.trust_region import TrustRegion


class Outcomes(NamedTuple):
    """Of n problems: features (n, f), which actions may follow (n, a), and their scores (n, a).

    Where the gate was not asked, features are 0 and all actions have the same score; those that may not follow have 0.
    """

    seen: np.ndarray
    open: np.ndarray
    scores: np.ndarray


class Scripted:
    """A gate that always takes one action, and keeps what it saw."""

    def __init__(self, action: Action):
        self.action = action
        self.seen: np.ndarray | None = None
        self.open = 0

    def choose(self, run: Run, seen: TrustRegion | Evolution) -> Action:
        """The action of the script."""
        self.seen, self.open = features(run, seen), allowed(seen)
        return self.action


def outcomes_of(task: Task) -> Outcomes:
    """Play a problem once with each action that may follow, or only once if the gate is never asked."""
    outcomes = empty(1)
    may_follow = len(ACTIONS)
    for place, action in enumerate(ACTIONS):
        if place >= may_follow:
            break
        gate = Scripted(action)
        outcomes.scores[0, place] = score(gap_of(task, Router(gate=gate).search))
        if gate.seen is None:
            outcomes.scores[0, :] = outcomes.scores[0, place]
            break
        outcomes.seen[0], may_follow = gate.seen, gate.open
    outcomes.open[0, :may_follow] = 1
    return outcomes


def empty(problems: int) -> Outcomes:
    """Zero-filled outcomes for this many problems."""
    actions = (problems, len(ACTIONS))
    return Outcomes(np.zeros((problems, len(FEATURES))), np.zeros(actions), np.zeros(actions))


def joined(parts: list[Outcomes]) -> Outcomes:
    """All problems of several."""
    return Outcomes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

"""Lines along single variables and along the eigenvectors of a group's curvature."""

import math
from collections.abc import Generator

import numpy as np

from l2e.portfolio.large.asking import Anchor, ask, copies
from l2e.portfolio.large.lines import Effort, Lines
from l2e.portfolio.large.steps import STEPS, fitting
from l2e.portfolio.run import HALF, WIDTH, Batches, Run, Steps

GLOBAL = Effort(grid=12, more=24, zooms=3, steps=5)
LOCAL = Effort(grid=0, more=0, zooms=0, steps=6)
"""Lines over the whole cube, or near the point."""

FEW_WAVY = 0.05
"""Where no more than this share of the lines was wavy, further turns are local ones; else every second is along axes,
and none along eigenvectors, whose directions are new ones in every turn."""

SOME, ONE_IN = 32, 16
"""Variables that `SomeAxes` searches in its first turn: at most so many, and one in so many."""

ADDITIVE = 0.7
"""Where a few variables, moved in common, gain this share of what they gain alone, more are searched at once."""

FINE = 1e-11
"""When half of the steps along axes are shorter than this, points of the cube are too far apart."""

GOLDEN = (5**0.5 - 1) / 2
"""Its multiples are spread evenly."""

CURVATURES = (1e-12, 1e-9, 1e-5, 1e-3)
"""Second differences are to be this share of the value, in turns: small ones see the function near the point, large
ones see over its ripples. The first is not far from rounding: the value may be that of many groups."""

FIRST_STEP, FURTHEST = 1e-3 * WIDTH, 0.05 * WIDTH
"""Of second differences before anything is known, and how far away from faces they are taken at most."""


class Axes:
    """Searches variables that interact with no other, all lines at once.

    **Arguments:** `members`: the variables.
    """

    name = "axes"

    def __init__(self, members: np.ndarray):
        self.members = members
        self._look = Look()
        self._step = np.full(len(members), 0.01 * WIDTH)
        self._ended = -math.inf  # the value when the last turn ended with steps that are short for the cube
        self._anchor: Anchor | None = None
        self._finished = 0  # turns that were searched beside the anchor

    def cost(self) -> float:
        return len(self.members) * self._look.cost()

    def turn(self, run: Run) -> Steps:
        if run.best_f == self._ended:
            return (yield from self._turn_beside(run))
        lines = Lines(run.best_x, run.best_f, self.members, None, self._step)
        reason = yield from lines.search(run, self._look.effort())
        self._look.saw(lines)
        self._step = np.maximum(lines.step, 1e-9)
        self._ended = run.best_f if np.median(lines.step) < FINE else -math.inf
        return reason

    def _turn_beside(self, run: Run) -> Steps:
        """The last digits: lines of moves from the best point."""
        anchor = self._anchor
        if anchor is None or anchor.f != run.best_f:
            anchor = self._anchor = Anchor(run.best_x, run.best_f)
        first = FINE * 0.5 ** (GOLDEN * self._finished % 1)  # other steps each time, or the same digits are missed
        self._finished += 1
        lines = Lines(anchor.moves, anchor.f, self.members, None, first, anchor)
        reason = yield from lines.search(run, LOCAL)
        self._ended = run.best_f
        return reason


class SomeAxes:
    """Searches a few random variables in each turn, for functions of which nothing says that they are separable; more
    and more as long as moves in common gain what they gain alone, and all of them when that was so for all.

    **Arguments:** `members`: the variables of which they are.
    """

    name = "some axes"

    def __init__(self, members: np.ndarray):
        self.members = members
        self.additive = True
        """Whether the moves of each turn gained in common most of what they gained alone."""
        self._all = Axes(members)
        self._first = self._count = min(SOME, math.ceil(len(members) / ONE_IN))
        self._waiting = members[:0]
        self._proven = 0

    @property
    def whole(self) -> bool:
        """Whether all variables are searched in every turn."""
        return self._proven >= len(self.members)

    def cost(self) -> float:
        return self._all.cost() if self.whole else self._count * Look().cost()

    def turn(self, run: Run) -> Steps:
        if self.whole:
            return (yield from self._all.turn(run))
        if not len(self._waiting):
            self._waiting = run.rng.permutation(self.members)
        chosen, self._waiting = self._waiting[: self._count], self._waiting[self._count :]
        lines = Lines(run.best_x, run.best_f, chosen, None, 0.01 * WIDTH)
        reason = yield from lines.search(run, GLOBAL)
        adds_up = lines.additive > ADDITIVE
        self.additive = self.additive and adds_up
        self._proven = self._proven + len(chosen) if adds_up else 0
        self._count = 2 * self._count if adds_up else max(self._count // 2, self._first)
        return reason


class Eigenvectors:
    """Searches a group along the eigenvectors of its curvature: the hidden axes of a rotated sum, else its main axes.

    **Arguments:** `members`: the variables of the group.
    """

    name = "eigenvectors"

    def __init__(self, members: np.ndarray):
        self.members = members
        self._look = Look(alternating=False)
        self._turns = 0
        self._basis = np.eye(len(members))  # directions as rows
        self._step = np.full(len(members), FIRST_STEP)
        self._along = np.full(len(members), 0.01 * WIDTH)

    def cost(self) -> float:
        size = len(self.members)
        return size * (size / 2 + 4 + self._look.cost())

    def turn(self, run: Run) -> Steps:
        share = CURVATURES[self._turns % len(CURVATURES)]
        yield from self._turn_basis(run, share)
        lines = Lines(run.best_x, run.best_f, self.members, self._basis, self._along)
        effort = self._look.effort()
        self._turns += 1
        reason = yield from lines.search(run, effort)
        self._look.saw(lines)
        self._along = np.maximum(lines.step, 1e-9)
        return reason

    def _turn_basis(self, run: Run, share: float) -> Steps:
        """Second differences along the present directions, which become their eigenvectors."""
        x, f = yield from self._inside(run)
        both = yield from self._beside(run, x)
        self._step = fitting(self._step, both[0] + both[1] - 2 * f, share * abs(f))
        x, f = yield from self._inside(run)
        ahead, behind = yield from self._beside(run, x)
        first, second = np.triu_indices(len(self.members), 1)
        corners = yield from self._corners(run, x, first, second)
        h = self._step
        hessian = np.diag((ahead + behind - 2 * f) / h**2)
        mixed = (corners - ahead[first] - ahead[second] + f) / (h[first] * h[second])
        hessian[first, second] = hessian[second, first] = mixed
        if not np.isfinite(hessian).all() or not hessian.any():
            return None
        values, vectors = np.linalg.eigh(hessian / np.abs(hessian).max())
        order = np.argsort(-np.abs(values))
        self._basis = vectors[:, order].T @ self._basis
        self._step = np.clip(np.exp(vectors[:, order].T ** 2 @ np.log(h)), *STEPS)
        return None

    def _inside(self, run: Run) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float]]:
        """The best point and its value, moved away from the faces by two steps: the function is mirrored there, and a
        face would count as curvature."""
        x, most = run.best_x.copy(), HALF - min(2 * float(self._step.max()), FURTHEST)
        x[self.members] = np.clip(x[self.members], -most, most)
        if np.array_equal(x, run.best_x):
            return x, run.best_f
        value = yield from run.evaluate_aside(x)
        return x, float(value[0])

    def _beside(self, run: Run, x: np.ndarray) -> Batches:
        """Values one step ahead and behind along each direction, as two rows."""
        count = len(self.members)

        def build(numbers: np.ndarray) -> np.ndarray:
            rows, lines = copies(x, len(numbers)), numbers % count
            steps = np.where(numbers < count, 1, -1) * self._step[lines]
            rows[:, self.members] += steps[:, None] * self._basis[lines]
            return rows

        values = yield from ask(run, 2 * count, build)
        return values.reshape(2, count)

    def _corners(self, run: Run, x: np.ndarray, first: np.ndarray, second: np.ndarray) -> Batches:
        """Values one step ahead along both of two directions."""
        moves = self._step[:, None] * self._basis

        def build(numbers: np.ndarray) -> np.ndarray:
            rows = copies(x, len(numbers))
            rows[:, self.members] += moves[first[numbers]] + moves[second[numbers]]
            return rows

        return (yield from ask(run, len(first), build))


class Look:
    """Decides whether the next lines are searched over the whole cube, from how wavy the last ones were.

    **Arguments:** `alternating`: whether every second turn on wavy lines is a local one.
    """

    def __init__(self, alternating: bool = True) -> None:
        self._alternating = alternating
        self._global, self._wavy = True, True

    def effort(self) -> Effort:
        """Of the next lines."""
        return GLOBAL if self._global else LOCAL

    def cost(self) -> float:
        """About how many points each line takes."""
        effort = self.effort()
        return (
            effort.grid + (effort.more + 6 * effort.zooms / 2 if self._wavy and effort.grid else 0) + 2.5 * effort.steps
        )

    def saw(self, lines: Lines) -> None:
        """Lines have been searched."""
        if self._global:
            self._wavy = bool(lines.wavy.mean() > FEW_WAVY)
        self._global = self._wavy and not (self._alternating and self._global)

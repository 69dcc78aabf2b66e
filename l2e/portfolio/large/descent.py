"""L-BFGS with finite differences on some of the variables, its memory kept between turns.

J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35 (1980). Steps are cut
at the faces of the cube, and variables that a face holds are left out of the direction.
"""

from collections import deque
from collections.abc import Generator
from typing import TypeAlias

import numpy as np

from l2e.portfolio.large.asking import ask, copies
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, Batches, Run, Steps

MEMORY = 24
"""Pairs of steps and changes of the gradient that are kept."""

STEP, CENTRAL = 1.5e-8, 300.0
"""Of forward differences, relative to coordinates beyond 1, and how many times longer central ones are."""

LADDER = (1.0, 0.35, 0.1, 2.5)
SHORTER = (0.5, 0.2, 0.05, 0.01, 1e-3, 1e-5)
LONGER = (6.0, 15.0, 40.0)
"""Places along a direction that are tried together: first these, then shorter ones if none is better, or longer ones if
the last was best."""

LOWEST, NEAR, HIGHEST = 0.05, (0.8, 1.25), 8.0
"""The vertex of the parabola over the best place is tried if it lies this far along, and not next to it."""

Found: TypeAlias = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float] | None]
"""A line search: a better point and its value, or None."""

Tried: TypeAlias = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float, float] | None]
"""The same with the place along the direction."""

LEAST = 1e-280
"""Products below this are not divided by."""

FLAT = 1e-15
"""A gain below this share of the value is none."""


class Descent:
    """Steps of L-BFGS from the best point known.

    **Arguments:** `members`: the variables; `gradients`: steps per turn; `name`: in the trace.
    """

    def __init__(self, members: np.ndarray, gradients: int, name: str = "L-BFGS"):
        self.members, self.gradients, self.name = members, gradients, name
        self.alone = False
        """Whether it goes on from its own last point, even if a better one is known."""
        self.x = np.zeros(0)
        self.f = np.inf  # the best value along its own way
        self.gradient: np.ndarray | None = None
        self.latest: np.ndarray | None = None
        """The last gradient that was measured, wherever that was."""
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
        self._metric: np.ndarray | None = None
        self._central = False
        self._left = np.inf  # the best value known when a turn ended that began at no worse a point

    @property
    def level(self) -> float:
        """How far it has come by itself."""
        return self.f

    def cost(self) -> float:
        return self.gradients * (len(self.members) * (2 if self._central else 1) + len(LADDER))

    def use(self, metric: np.ndarray) -> None:
        """Begin with this inverse of the curvature, and learn the rest anew."""
        self._metric = metric
        self._pairs.clear()

    def turn(self, run: Run) -> Steps:
        if not np.isfinite(run.best_f):
            return Reason.NO_VALUES
        behind = run.best_f < min(self.f, self._left)
        if behind and not (self.alone and len(self.x)):
            self._jump(run.best_x, run.best_f)
            behind = False
        reason = None
        for _ in range(self.gradients):
            reason = yield from self._step(run)
            if reason is not None:
                break
        if not behind:
            self._left = run.best_f
        return reason

    def _jump(self, x: np.ndarray, f: float) -> None:
        """Go on elsewhere: the memory stays, the gradient does not."""
        self.x, self.f, self.gradient, self._central = x.copy(), f, None, False

    def _step(self, run: Run) -> Steps:
        if self.gradient is None:
            self.gradient = self.latest = yield from self._differences(run)
        g = np.where(np.isfinite(self.gradient), self.gradient, 0.0)
        place = self.x[self.members]
        free = ~(((place >= HALF) & (g < 0)) | ((place <= -HALF) & (g > 0)))
        g = np.where(free, g, 0.0)
        if not g.any():
            return Reason.FLAT
        direction = self._direction(run, g, free)
        found = yield from self._search(run, g, direction)
        if found is None:
            return self._refused()
        before_x, before_f, before_g = place, self.f, self.gradient
        self.x, self.f = found
        self.gradient = self.latest = yield from self._differences(run)
        self._learn(self.x[self.members] - before_x, self.gradient - before_g)
        small = before_f - self.f <= FLAT * abs(self.f)
        return self._refused() if small else None

    def _differences(self, run: Run) -> Batches:
        x, count = self.x[self.members], len(self.members)
        h = STEP * np.maximum(1.0, np.abs(x)) * (CENTRAL if self._central else 1.0)
        ahead = np.where(x + h <= HALF, x + h, x - h)
        values = yield from self._moved(run, ahead)
        if not self._central:
            return (values - self.f) / (ahead - x)
        behind = np.clip(2 * x - ahead, -HALF, HALF)
        others = yield from self._moved(run, behind)
        return (values - others) / np.where(ahead == behind, 1.0, ahead - behind) if count else values

    def _moved(self, run: Run, places: np.ndarray) -> Batches:
        """Values with one member at a time at its place."""

        def build(numbers: np.ndarray) -> np.ndarray:
            rows = copies(self.x, len(numbers))
            rows[np.arange(len(numbers)), self.members[numbers]] = places[numbers]
            return rows

        return (yield from ask(run, len(places), build))

    def _direction(self, run: Run, g: np.ndarray, free: np.ndarray) -> np.ndarray:
        """The two-loop recursion; along the gradient by a share of the cube while nothing is known."""
        if self._pairs or self._metric is not None:
            direction = np.where(free, -_times_inverse(self._pairs, g, self._metric), 0.0)
            if np.isfinite(direction).all() and direction @ g < 0:
                return direction
            self._pairs.clear()
        scaled = g / np.abs(g).max()
        return -scaled * (run.policy.first_step * WIDTH / np.linalg.norm(scaled))

    def _search(self, run: Run, g: np.ndarray, direction: np.ndarray) -> Found:
        """A better point along a direction, cut at the faces: the best of a few places and the parabola's vertex."""
        found = yield from self._tried(run, direction, LADDER)
        if found is None:
            found = yield from self._tried(run, direction, SHORTER)
        elif found[2] == LADDER[-1]:
            longer = yield from self._tried(run, direction, LONGER)
            found = longer if longer is not None and longer[1] < found[1] else found
        if found is None:
            return None
        x, value, place = found
        vertex = _vertex(float(g @ direction), value - self.f, place)
        if NEAR[0] < vertex / place < NEAR[1] or not LOWEST < vertex / place < HIGHEST:
            return x, value
        other = yield from self._tried(run, direction, (vertex,))
        return other[:2] if other is not None and other[1] < value else (x, value)

    def _tried(self, run: Run, direction: np.ndarray, places: tuple[float, ...]) -> Tried:
        """The best of these places: point, value, place; None if none is better."""
        if not places:
            return None
        points = copies(self.x, len(places))
        points[:, self.members] += np.outer(places, direction)
        points = np.clip(points, -HALF, HALF)
        values = yield from run.evaluate_aside(points)
        first = int(np.argmin(values))
        return (points[first].copy(), float(values[first]), places[first]) if values[first] < self.f else None

    def _learn(self, s: np.ndarray, y: np.ndarray) -> None:
        product, square = float(s @ y), float(y @ y)
        if min(product, square) > LEAST and product > 1e-12 * float(np.linalg.norm(s)) * np.sqrt(square) < np.inf:
            self._pairs.append((s, y, 1 / product))

    def _refused(self) -> Reason | None:
        """No step down: first better differences, then a fresh memory, then the end."""
        self.gradient = None
        if not self._central:
            self._central = True
            return None
        if self._pairs:
            self._pairs.clear()
            return None
        self._central = False
        return Reason.STUCK


def _vertex(slope: float, change: float, place: float) -> float:
    """Where the parabola with this slope and this change of the value at a place has its vertex; infinity for none."""
    bend = change - slope * place
    return -slope * place**2 / (2 * bend) if bend > 0 else np.inf


def _times_inverse(
    pairs: deque[tuple[np.ndarray, np.ndarray, float]], g: np.ndarray, metric: np.ndarray | None
) -> np.ndarray:
    """The inverse Hessian of the pairs times a vector; it begins with the metric, or else with a length."""
    shares = []
    q = g.copy()
    for s, y, rho in reversed(pairs):
        share = rho * float(s @ q)
        shares.append(share)
        q -= share * y
    if metric is None:
        s, y, _ = pairs[-1]
        q *= float(s @ y) / float(y @ y)
    else:
        q = metric @ q
    for (s, y, rho), share in zip(pairs, reversed(shares), strict=True):
        q += (share - rho * float(y @ q)) * s
    return q

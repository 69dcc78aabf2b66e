"""Sequential quadratic programming with gradients by finite differences.

Each step minimises a quadratic model of the Lagrangian under linearised constraints (Nocedal and Wright, "Numerical
optimization", 2006, chapter 18). The model's Hessian is that of `l2e.portfolio.secants`. The step is accepted by an
exact penalty function, after a second-order correction if need be. Where constraints are cheap their derivatives are
free; else they come with the differences of f.
"""

from collections.abc import Generator
from typing import NamedTuple, Protocol

import numpy as np

from l2e.portfolio.constrained.distance import Step, quadratic_program
from l2e.portfolio.constrained.run import Constrained
from l2e.portfolio.newton import CENTRAL, STEP
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF
from l2e.portfolio.secants import Curvature, Pair

MOST_STEPS = 300
"""Of one descent."""

ARMIJO = 1e-4
TRIALS = 10
"""Points that a line search tries."""

FIRST_REACH, LEAST_REACH = 2.0, 1e-9
"""How far a step may go along a coordinate at first; it doubles with full steps."""

MARGIN = 1e-13
"""Inequalities are kept by this share of what they usually are, so that rounding does not break them."""

HEAVIER = 1.5
"""The weight of a violation in the penalty function over its multiplier."""

LEAST_PROMISE = 1e-12
"""Steps that promise to gain less than this share of the value end a search."""

CHEAP_STEP = 1e-6
"""Of differences of cheap constraints, central ones."""

LEAST_CHANGE = 1e-6
"""A first step along which gradients change by less than this share tells of no curvature, only of rounding."""

SCALES = (1e-10, 1e10)
FIRST_SCALE = 1.0


class Measures(Protocol):
    """What a descent needs of a run."""

    state: Constrained
    used: int

    def measure(self, points: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Values and constraints of points."""
        ...

    def look_aside(self, points: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The same for points that models must not see."""
        ...


class Local(NamedTuple):
    """A point with its value, constraints, and their derivatives."""

    x: np.ndarray
    f: float
    c: np.ndarray
    g: np.ndarray
    jacobian: np.ndarray


class Sqp:
    """One descent; `go` until it ends, then `x`, `f`, `c`, `multipliers` are where.

    **Arguments:** `x`, `f`, `c`: a point of the cube, its value and constraints.
    """

    def __init__(self, x: np.ndarray, f: float, c: np.ndarray, columns: np.ndarray | None = None):
        self.x, self.f, self.c = x.copy(), f, c.copy()
        self.multipliers = np.zeros(len(c))
        self.used = 0
        self._columns = np.arange(len(x)) if columns is None else columns
        self._weights = np.zeros(len(c))
        self._reach = FIRST_REACH
        self._central = False
        self._was_reset = False
        self._curvature: Curvature | None = None

    def go(self, run: Measures, limit: float) -> Generator[np.ndarray, np.ndarray, Reason]:
        """Steps until none is promising, or the run has used so much."""
        if not np.isfinite(self.f):
            return Reason.NO_VALUES
        here = yield from self._look(run)
        for _ in range(MOST_STEPS):
            if run.used >= limit:
                break
            if not (np.isfinite(here.g).all() and np.isfinite(here.jacobian).all()):
                return Reason.NO_VALUES
            step = self._step(run, here)
            self.multipliers = step.multipliers
            self._weights = np.maximum(HEAVIER * step.multipliers, (self._weights + HEAVIER * step.multipliers) / 2)
            promise = self._promise(run, here, step)
            moved = None
            if promise > LEAST_PROMISE * max(abs(here.f), LEAST_PROMISE):
                moved = yield from self._search(run, here, step, promise)
            if moved is None:
                again = yield from self._after_failure(run, here)
                if again is None:
                    return Reason.CONVERGED
                here = again
                continue
            self.x, self.f, self.c = moved
            there = yield from self._look(run)
            self._learn(here, there)
            here = there
        return Reason.LIMIT

    def _look(self, run: Measures) -> Generator[np.ndarray, np.ndarray, Local]:
        """Derivatives at the present point."""
        columns, d = self._columns, len(self._columns)
        ahead, back = self._sides(run)
        two = (back != self.x).any(axis=1)
        f, c = yield from run.look_aside(np.concatenate([ahead, back[two]]))
        behind_f, behind_c = np.full(d, self.f), np.repeat(self.c[None], d, axis=0)
        behind_f[two], behind_c[two] = f[d:], c[d:]
        steps = ahead[np.arange(d), columns] - back[np.arange(d), columns]
        g, jacobian = (f[:d] - behind_f) / steps, ((c[:d] - behind_c) / steps[:, None]).T
        if run.state.constraints.cheap:
            jacobian = self._cheap(run)
        linear = len(run.state.rows)
        if linear:
            jacobian[:linear] = run.state.rows[:, columns]
        return Local(self.x, self.f, self.c, g, jacobian)

    def _sides(self, run: Measures) -> tuple[np.ndarray, np.ndarray]:
        """Two points for each difference, the second where we stand unless differences are central.

        They keep to the cube and the linear constraints; in a corner of these, the step is as short as it can be.
        """
        columns, d = self._columns, len(self._columns)
        short = STEP * np.maximum(1.0, np.abs(self.x[columns]))
        h = short * (CENTRAL if self._central else 1.0)
        up, down = self._shifted(h), self._shifted(-h)
        up_allowed, down_allowed = self._allowed(run, up), self._allowed(run, down)
        neither = ~(up_allowed | down_allowed)
        shorter = self._shifted(np.where(self.x[columns] + short <= HALF, short, -short))
        ahead = np.where(neither[:, None], shorter, np.where(up_allowed[:, None], up, down))
        both = up_allowed & down_allowed & self._central
        return ahead, np.where(both[:, None], down, np.repeat(self.x[None], d, axis=0))

    def _shifted(self, steps: np.ndarray) -> np.ndarray:
        """One point for each coordinate, which it is shifted along."""
        points = np.repeat(self.x[None], len(steps), axis=0)
        points[np.arange(len(steps)), self._columns] += steps
        return points

    def _allowed(self, run: Measures, points: np.ndarray) -> np.ndarray:
        inside = (np.abs(points) <= HALF).all(axis=1)
        return np.asarray(inside & (points @ run.state.rows.T <= run.state.limits).all(axis=1))

    def _cheap(self, run: Measures) -> np.ndarray:
        columns, d = self._columns, len(self._columns)
        points = np.repeat(self.x[None], 2 * d, axis=0)
        points[np.arange(d), columns] = np.minimum(self.x[columns] + CHEAP_STEP, HALF)
        points[d + np.arange(d), columns] = np.maximum(self.x[columns] - CHEAP_STEP, -HALF)
        c = run.state.at(points)
        steps = points[np.arange(d), columns] - points[d + np.arange(d), columns]
        return ((c[:d] - c[d:]) / steps[:, None]).T

    def _step(self, run: Measures, here: Local, c: np.ndarray | None = None) -> Step:
        """The step of the quadratic program, with the multipliers of all constraints."""
        equal, units = run.state.constraints.equal, run.state.merit.units
        rows, limits = _as_inequalities(here.jacobian, here.c if c is None else c, equal, units)
        if self._curvature is None:
            size = max(float(np.linalg.norm(here.g)), 1e-12)
            hessian = np.eye(len(here.g)) * size / FIRST_REACH
        else:
            hessian = self._curvature.matrix()
        x = self.x[self._columns]
        low, high = np.maximum(-HALF - x, -self._reach), np.minimum(HALF - x, self._reach)
        step = quadratic_program(hessian, here.g, rows, limits, low, high)
        both = step.multipliers[len(equal) :]
        multipliers = step.multipliers[: len(equal)].copy()
        multipliers[equal] -= both
        return step._replace(multipliers=multipliers)

    def _promise(self, run: Measures, here: Local, step: Step) -> float:
        """By how much the penalty function should fall."""
        out = self._out(run, here.c)
        gained = (1 - step.left) * float(np.abs(self._weights) @ out) if np.isfinite(out).all() else np.inf
        self._heavier(here, step, out, gained)
        return -float(here.g @ step.d) + (1 - step.left) * float(self._weights @ out)

    def _heavier(self, here: Local, step: Step, out: np.ndarray, gained: float) -> None:
        """Weights under which the step leads down, where it repairs violations at the expense of f."""
        self._weights = np.maximum(self._weights, np.abs(step.multipliers))
        rise = float(here.g @ step.d)
        total = float(out.sum())
        if total > 0 and rise > 0.5 * gained and step.left < 1:
            self._weights = self._weights + 2 * rise / ((1 - step.left) * total)

    def _penalised(self, run: Measures, f: float, c: np.ndarray) -> float:
        return f + float(self._weights @ self._out(run, c))

    def _out(self, run: Measures, c: np.ndarray) -> np.ndarray:
        return np.where(run.state.constraints.equal, np.abs(c), np.maximum(c, 0.0))

    def _search(
        self, run: Measures, here: Local, step: Step, promise: float
    ) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float, np.ndarray] | None]:
        """Along the step until the penalty function falls; None if it does not."""
        base = self._penalised(run, here.f, here.c)
        place = 1.0
        for trial in range(TRIALS):
            x = self._moved(place * step.d)
            f, c = yield from run.measure(x)
            value = self._penalised(run, float(f[0]), c[0])
            if value <= base - ARMIJO * place * promise:
                self._reach = min(self._reach * 2, 2 * HALF) if trial == 0 else self._reach
                return x, float(f[0]), c[0]
            if trial == 0 and np.isfinite(value) and self._out(run, c[0]).any():
                corrected = self._step(run, here, c[0] - here.jacobian @ step.d)
                x = self._moved(corrected.d)
                f, c = yield from run.measure(x)
                if self._penalised(run, float(f[0]), c[0]) <= base - ARMIJO * promise:
                    return x, float(f[0]), c[0]
            change = value - base
            vertex = promise / (2 * (change + promise)) if np.isfinite(change) and change + promise > 0 else 0.2
            place *= float(np.clip(vertex, 0.1, 0.5))
        self._reach = max(self._reach * place, LEAST_REACH)
        return None

    def _moved(self, step: np.ndarray) -> np.ndarray:
        x = self.x.copy()
        x[self._columns] = np.clip(x[self._columns] + step, -HALF, HALF)
        return x

    def _learn(self, before: Local, after: Local) -> None:
        """The curvature of the Lagrangian along the last step."""
        s = (after.x - before.x)[self._columns]
        m = self.multipliers
        was, is_now = before.g + m @ before.jacobian, after.g + m @ after.jacobian
        y = is_now - was
        if not s.any() or not np.isfinite(y).all():
            return
        if self._curvature is None:
            if np.linalg.norm(y) <= LEAST_CHANGE * max(np.linalg.norm(was), np.linalg.norm(is_now)):
                return
            bend = float(s @ y)
            scale = (
                FIRST_SCALE * float(s @ s) / bend
                if bend > 0
                else float(np.linalg.norm(s) / max(np.linalg.norm(y), 1e-12))
            )
            self._curvature = Curvature(len(s), float(np.clip(scale, *SCALES)))
        self._curvature.learn(Pair(s, y))

    def _after_failure(self, run: Measures, here: Local) -> Generator[np.ndarray, np.ndarray, Local | None]:
        """No step down: first better differences, then a fresh metric, then the end."""
        if not self._central:
            self._central = True
            return (yield from self._look(run))
        if not self._was_reset:
            self._was_reset, self._curvature, self._reach = True, None, FIRST_REACH
            self._weights = self._weights * 0
            return here
        return None


def _as_inequalities(
    jacobian: np.ndarray, c: np.ndarray, equal: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and right sides of the linearised constraints; each equation is two inequalities, the second ones last."""
    rows = np.concatenate([jacobian, -jacobian[equal]])
    limits = -c - np.where(equal, 0.0, MARGIN * units)
    return rows, np.concatenate([limits, c[equal]])

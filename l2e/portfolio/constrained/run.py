"""The shared state of a constrained search: values and constraints of all points, and the merit experts work on.

The merit is an augmented Lagrangian (R. T. Rockafellar, 1973): f + sum of (max(0, m + r c)^2 - m^2) / (2 r) over the
inequalities c <= 0, and m c + r c^2 / 2 over equations, with constraints in units of what they usually are. Between
phases of a search the multipliers m follow what was found, and the penalty r grows where points stay out.
"""

import dataclasses
from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from l2e.core.constraints import Constraints
from l2e.portfolio.constrained.distance import project
from l2e.portfolio.run import HALF, Batches, Run, mirror, tamed

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 1e50
"""Constraint values are cut off here: their squares must be numbers."""

INSIDE = 1e-12
"""Points are kept inside linear constraints by this, so that rounding does not put them out."""


@dataclasses.dataclass
class Merit:
    """The augmented Lagrangian: units, multipliers and penalties of the constraints."""

    equal: np.ndarray
    units: np.ndarray
    multipliers: np.ndarray
    penalty: float

    def __call__(self, f: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Of values (n,) and constraints (n, m)."""
        scaled = np.clip(c, -LARGEST, LARGEST) / self.units
        m, r = self.multipliers, self.penalty
        inequality = (np.maximum(0.0, m + r * scaled) ** 2 - m**2) / (2 * r)
        return tamed(f + np.where(self.equal, m * scaled + r * scaled**2 / 2, inequality).sum(axis=1))

    def follow(self, c: np.ndarray) -> None:
        """The multipliers that the point with these constraints asks for, if it is a minimum of the merit."""
        scaled = np.clip(c, -LARGEST, LARGEST) / self.units
        updated = self.multipliers + self.penalty * scaled
        self.multipliers = np.where(self.equal, updated, np.maximum(updated, 0.0))


class Constrained:
    """Values and constraints of the points of one search in the working cube.

    **Arguments:** `constraints`; `to_box`: from points of the cube to points of the box.
    """

    def __init__(self, constraints: Constraints, to_box: "Callable[[np.ndarray], np.ndarray]", dimension: int):
        self.constraints, self._to_box = constraints, to_box
        self.count = len(constraints.equal)
        self.merit = Merit(constraints.equal, np.ones(self.count), np.zeros(self.count), 1.0)
        self.best_x: np.ndarray | None = None  # allowed
        self.best_f = np.inf
        self.best_c = np.zeros(self.count)
        self.near_x = np.zeros(dimension)  # the least violation
        self.near_f, self.near_c, self.violation = np.inf, np.full(self.count, np.inf), np.inf
        self.rows, self.limits = self._linear_in_cube(dimension)

    def at(self, points: np.ndarray) -> np.ndarray:
        """Constraints of points of the cube."""
        return np.clip(self.constraints.at(self._to_box(points)), -LARGEST, LARGEST)

    def of_known(self, given: np.ndarray) -> np.ndarray:
        """Constraints of points of the box that were evaluated elsewhere."""
        return np.clip(self.constraints.at(given), -LARGEST, LARGEST)

    @property
    def begun(self) -> bool:
        """Whether a value is known."""
        return bool(np.isfinite(self.near_f))

    def note(self, points: np.ndarray, f: np.ndarray, c: np.ndarray) -> None:
        """Keep the best allowed point and the nearest one."""
        missed = (self.constraints.missed(c) / self.merit.units).sum(axis=1)
        for i in np.flatnonzero((missed == 0) & (f < self.best_f)):
            if f[i] < self.best_f:
                self.best_x, self.best_f, self.best_c = points[i].copy(), float(f[i]), c[i].copy()
        order = np.lexsort((f, missed))
        first = int(order[0])
        if np.isfinite(f[first]) and (missed[first], f[first]) < (self.violation, self.near_f):
            self.near_x, self.near_f, self.near_c = points[first].copy(), float(f[first]), c[first].copy()
            self.violation = float(missed[first])

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Points moved to the nearest ones that fulfil the linear constraints."""
        if not len(self.rows):
            return points
        moved = []
        for point in points:
            nearest = project(point, self.rows, self.limits - INSIDE * (1 + np.abs(self.limits)), HALF)
            moved.append(point if nearest is None else nearest)
        return np.asarray(moved)

    def _linear_in_cube(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        linear = self.constraints.linear
        if not len(linear):
            return np.empty((0, d)), np.empty(0)
        middle = self._to_box(np.zeros((1, d)))[0]
        width = (self._to_box(np.full((1, d), HALF))[0] - middle) / HALF
        return linear * width, self.constraints.limits - linear @ middle


class ConstrainedRun(Run):
    """A `Run` whose experts see the merit instead of the values; `measure` gives both values and constraints."""

    def __init__(self, state: Constrained, *args: object):
        super().__init__(*args)  # pyright: ignore[reportArgumentType]
        self.state = state

    def measure(self, points: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Have points of the cube evaluated: values and constraints."""
        f, c, merit = yield from self._measure(np.atleast_2d(points))
        self.remember(np.atleast_2d(points), merit)
        return f, c

    def look_aside(self, points: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The same for points that models must not see."""
        f, c, _ = yield from self._measure(points)
        return f, c

    def _measure(
        self, batch: np.ndarray
    ) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        f = tamed((yield batch))
        self.used += len(batch)
        c = self.state.at(batch)
        self.state.note(batch, f, c)
        merit = np.where(np.isfinite(f), self.state.merit(f, c), np.inf)
        self._seen(batch, merit)
        return f, c, merit

    def _ask(self, batch: np.ndarray) -> Batches:
        batch[:] = self.state.inside(batch)
        return (yield from self._measure(batch))[2]

    def evaluate(self, points: np.ndarray) -> Batches:
        batch = np.array(mirror(np.atleast_2d(points)))
        values = yield from self._ask(batch)
        self.remember(batch, values)
        return values

    def evaluate_aside(self, points: np.ndarray) -> Batches:
        return (yield from self._ask(np.array(mirror(np.atleast_2d(points)))))

    def know(self, points: np.ndarray, values: np.ndarray, given: np.ndarray) -> None:
        c = self.state.of_known(given)
        self.state.note(points, values, c)
        super().know(points, self.state.merit(values, c), given)

    def renew(self) -> None:
        """After a change of the merit: begin to compare anew from the best point."""
        state = self.state
        x, f, c = (
            (state.best_x, state.best_f, state.best_c)
            if state.best_x is not None
            else (state.near_x, state.near_f, state.near_c)
        )
        self.forget()
        self.best_x, self.best_f = x.copy(), float(state.merit(np.asarray([f]), c[None])[0])

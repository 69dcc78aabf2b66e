"""Constraints as people write them, in one form."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from l2e.api.setup import known_points
from l2e.api.views import VectorView, View
from l2e.core.answers import Paired
from l2e.core.box import Box, box
from l2e.core.constraints import ConstrainedBox, Constraints, Nearest
from l2e.core.errors import unknown
from l2e.core.parameters import Fixed
from l2e.core.search import Known
from l2e.portfolio.constrained.distance import project

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Part = tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]
"""Values of points of the box, shape (n, m), and which of them are equations."""

INFEASIBLE = -2
"""The status of a result that is not allowed."""


@dataclasses.dataclass(frozen=True)
class Returned:
    """Constraints that the objective returns with its value, as `(f, c)`: c <= 0, then equations c = 0."""

    inequalities: int = 1
    equations: int = 0

    def __post_init__(self) -> None:
        if self.inequalities < 0 or self.equations < 0 or not self.inequalities + self.equations:
            raise ValueError("Returned needs at least one inequality or equation")


class Table:
    """What an objective returned with its values, by point."""

    def __init__(self, count: int):
        self._count = count
        self._rows: dict[bytes, np.ndarray] = {}

    def function(self, fun: Callable[[Any], Any]) -> Paired:
        """The objective as one whose constraints are told apart from its values, wherever it is called."""
        return Paired(fun, self._count)

    def take(self, points: np.ndarray, rows: Any) -> None:
        """Keep the constraints of points, one row each; None or NaN where there is no value."""
        given = [[np.nan] * self._count if row is None else row for row in rows]
        values = np.asarray(given, dtype=np.float64).reshape(len(given), -1)
        if values.shape != (len(points), self._count):
            raise ValueError(f"constraints must have shape ({len(points)}, {self._count}), got {values.shape}")
        self._rows |= {point.tobytes(): row for point, row in zip(points, values, strict=True)}

    def rows(self) -> list[list[list[float]]]:
        """All that is kept: points with their constraints, as plain numbers."""
        return [[np.frombuffer(point).tolist(), row.tolist()] for point, row in self._rows.items()]

    def values(self, points: np.ndarray) -> np.ndarray:
        """Of points that were evaluated; infinite for others."""
        missing = np.full(self._count, np.inf)
        return np.asarray([self._rows.get(point.tobytes(), missing) for point in points]).reshape(-1, self._count)


def known_to(limits: "Constrainer | None", given: Any, view: View | None) -> Known | None:
    """Evaluations that a user has already: `(X, y)`, or `(X, y, C)` where constraints come with the values."""
    translate = None if view is None else view.points
    if limits is None or limits.table is None or given is None:
        return known_points(given, translate)
    if len(given) != 3:
        raise ValueError("with Returned constraints known is (X, y, C): points, values, and a row of constraints each")
    points, values, rows = given
    known = known_points((points, values), translate)
    limits.table.take(np.asarray(points, dtype=np.float64) if translate is None else translate(points), rows)
    return known


def constrainer(given: Any, view: View | None, bounds: Any) -> "Constrainer | None":
    """The constraints of one search; None if there are none. `bounds`: the box, or what makes one."""
    if isinstance(given, Constrainer):
        return given
    if given is None or (isinstance(given, list | tuple) and not given):
        return None
    return Constrainer(given, view, view.box if view is not None else box(bounds))


class Constrainer:
    """The constraints of one search.

    **Arguments:** `given`: scipy's `NonlinearConstraint` or `LinearConstraint`, dictionaries as of SLSQP, functions
    that must not be positive, a list of these, or `Returned`; `view`: how the user sees points; `inner`: the box.
    """

    def __init__(self, given: Any, view: View | None, inner: Box):
        self._view, self._inner = view, inner
        self.table: Table | None = None
        if isinstance(given, Returned):
            self.table = Table(given.inequalities + given.equations)
            equal = np.arange(given.inequalities + given.equations) >= given.inequalities
            none = np.empty((0, inner.dimension)), np.empty(0)
            self.constraints = Constraints(self.table.values, equal, *none, cheap=False)
        else:
            self.constraints = self._of_list(list(given) if isinstance(given, list | tuple) else [given])
        self.nearest = Nearest(self.constraints)

    @property
    def box(self) -> ConstrainedBox:
        """The box with its constraints."""
        return ConstrainedBox(self._inner.lower, self._inner.upper, inner=self._inner, constraints=self.constraints)

    def admits(self) -> Callable[[np.ndarray, float], bool]:
        """What a new meter is told: whether a point is allowed. The nearest point is looked for anew."""
        self.nearest = Nearest(self.constraints)
        return self.nearest.admits

    def result(self, result: "OptimizeResult", multipliers: np.ndarray | None) -> "OptimizeResult":
        """A result with what is known of the constraints; the nearest point, if none is allowed."""
        result.feasible = result.x is not None
        result.violation = 0.0 if result.feasible else self.nearest.violation
        result.multipliers = multipliers if result.feasible else None
        if self.table is not None and "evaluations" in result:
            seen = self.table.values(result.evaluations.x)
            result.evaluations.constraints = np.where(np.isposinf(seen), np.nan, seen)
            result.evaluations.allowed = (self.constraints.missed(seen) == 0).all(axis=1)
        if not result.feasible and self.nearest.x is not None:
            result.x, result.fun = self.nearest.x.copy(), self.nearest.f
            result.success, result.status = False, INFEASIBLE
            result.message = (
                f"none of {result.nfev} points fulfils the constraints: the nearest misses them by "
                f"{result.violation:.3g} in all; the problem may have no solution"
            )
        return result

    def _of_list(self, given: list[Any]) -> Constraints:
        linear = [self._linear(one) for one in given if hasattr(one, "A") and hasattr(one, "lb")]
        rows = np.concatenate([np.empty((0, self._inner.dimension)), *(rows for rows, _, _ in linear)])
        limits = np.concatenate([np.empty(0), *(limits for _, limits, _ in linear)])
        if len(rows):
            _check_possible(rows, limits, self._inner)
        parts: list[Part] = [(lambda points: points @ rows.T - limits, np.zeros(len(limits), dtype=bool))]
        parts += [part for _, _, part in linear if part is not None]
        parts += [self._nonlinear(one) for one in given if not hasattr(one, "A")]
        equal = np.concatenate([flags for _, flags in parts])

        def values(points: np.ndarray) -> np.ndarray:
            return np.concatenate([of(points) for of, _ in parts], axis=1)

        return Constraints(values, equal, rows, limits)

    def _linear(self, one: Any) -> tuple[np.ndarray, np.ndarray, Part | None]:
        """Rows and limits in the box; equations are a part of their own."""
        matrix = np.atleast_2d(np.asarray(one.A.toarray() if hasattr(one.A, "toarray") else one.A, dtype=np.float64))
        lower, upper = (np.broadcast_to(end, (len(matrix),)).astype(np.float64) for end in (one.lb, one.ub))
        if self._view is not None:
            if not isinstance(self._view, VectorView):
                raise ValueError("a LinearConstraint speaks of vectors; in a Space write a function of the parameters")
            free = [not isinstance(each, Fixed) for each in self._view.space.parameters.values()]
            fixed = np.asarray([getattr(each, "value", 0.0) for each in self._view.space.parameters.values()])
            moved = matrix @ np.where(free, 0.0, fixed)
            matrix, lower, upper = matrix[:, free], lower - moved, upper - moved
        if matrix.shape[1] != self._inner.dimension:
            raise ValueError(f"a LinearConstraint must have {self._inner.dimension} columns, got {matrix.shape[1]}")
        equal = lower == upper
        above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
        rows = np.concatenate([matrix[above], -matrix[below]])
        limits = np.concatenate([upper[above], -lower[below]])
        equations = matrix[equal], upper[equal]
        part = (lambda points: points @ equations[0].T - equations[1], np.ones(int(equal.sum()), dtype=bool))
        return rows, limits, part if equal.any() else None

    def _nonlinear(self, one: Any) -> Part:
        if callable(one):
            return self._part(one, -np.inf, 0.0)
        if isinstance(one, Mapping):
            if one.get("type") not in ("ineq", "eq") or not callable(one.get("fun")):
                raise unknown("type of constraint", one.get("type"), ("eq", "ineq"))
            return self._part(one["fun"], 0.0, np.inf if one["type"] == "ineq" else 0.0, one.get("args", ()))
        if hasattr(one, "fun") and hasattr(one, "lb"):
            return self._part(one.fun, one.lb, one.ub)
        raise TypeError(
            "a constraint is a function g(x) <= 0, scipy's NonlinearConstraint or LinearConstraint, or a dictionary "
            f"with 'type' and 'fun'; got {type(one).__name__}"
        )

    def _part(self, fun: Callable[..., Any], lb: Any, ub: Any, args: Any = ()) -> Part:
        call = (lambda x: fun(x, *args)) if self._view is None else self._view.function(fun, tuple(args), False)
        middle = np.asarray(self._inner.lower + self._inner.width / 2)
        count = np.atleast_1d(np.asarray(call(middle), dtype=np.float64)).ravel().size
        lower, upper = (np.broadcast_to(end, (count,)).astype(np.float64) for end in (lb, ub))
        equal = lower == upper
        above, below = np.isfinite(upper), np.isfinite(lower) & ~equal

        def values(points: np.ndarray) -> np.ndarray:
            g = np.asarray([np.ravel(call(point)) for point in points], dtype=np.float64).reshape(-1, count)
            return np.concatenate([(g - upper)[:, above], (lower - g)[:, below]], axis=1)

        return values, np.concatenate([equal[above], np.zeros(int(below.sum()), dtype=bool)])


def _check_possible(rows: np.ndarray, limits: np.ndarray, space: Box) -> None:
    """Refuse linear constraints that no point of the box fulfils."""
    middle, half = space.lower + space.width / 2, space.width / 2
    if project(np.zeros(space.dimension), rows * half, limits - rows @ middle, 1.0) is None:
        raise ValueError("no point within the bounds fulfils the linear constraints: they contradict each other")

"""Constraints of a search in one form: functions of points of the box that must not be positive, or must be zero."""

import dataclasses
from collections.abc import Callable

import numpy as np

from l2e.core.box import Box

EQUAL = 1e-6
"""An equation holds if it is missed by no more than this."""


@dataclasses.dataclass(frozen=True, eq=False)
class Constraints:
    """What points must fulfil.

    **Arguments:**

    - `values`: of points (n, d), shape (n, m): at most 0 where a point is allowed, or 0 where `equal`. NaN is missed by
      infinity.
    - `equal`: which of the m are equations.
    - `linear`, `limits`: rows and right sides of those of them that are `row . x <= limit` in the box; they come first.
    - `cheap`: whether `values` may be asked at any point at no cost; else only at points that were evaluated.
    """

    values: Callable[[np.ndarray], np.ndarray]
    equal: np.ndarray
    linear: np.ndarray
    limits: np.ndarray
    cheap: bool = True

    def at(self, points: np.ndarray) -> np.ndarray:
        """Their values, infinite where they are none."""
        values = np.asarray(self.values(points), dtype=np.float64)
        return np.where(np.isnan(values), np.inf, values)

    def missed(self, values: np.ndarray) -> np.ndarray:
        """By how much each is missed, from their values; equations with their tolerance."""
        return np.where(self.equal, np.maximum(np.abs(values) - EQUAL, 0.0), np.maximum(values, 0.0))

    def violation(self, point: np.ndarray) -> float:
        """By how much a point misses them in all; 0 if it is allowed."""
        return float(self.missed(self.at(point[None]))[0].sum())


@dataclasses.dataclass(frozen=True, eq=False)
class ConstrainedBox(Box):
    """A box with constraints.

    **Arguments:** `inner`: the box itself, maybe a mixed one; `constraints`.
    """

    inner: Box = dataclasses.field(kw_only=True)
    constraints: Constraints = dataclasses.field(kw_only=True)


class Nearest:
    """The point that misses its constraints by the least, as long as none is allowed.

    **Arguments:** `constraints`.
    """

    def __init__(self, constraints: Constraints):
        self.constraints = constraints
        self.x: np.ndarray | None = None
        self.f = np.inf
        self.violation = np.inf

    def admits(self, point: np.ndarray, value: float) -> bool:
        """Whether a point is allowed; if not, it is kept if it is the nearest."""
        violation = self.constraints.violation(point)
        if violation < self.violation or (violation == self.violation and value < self.f):
            self.x, self.f, self.violation = point.copy(), value, violation
        return violation == 0

"""Whether what was seen around the best point can be explained: noise cannot, and looks the same from near.

A quadratic is fitted to the points around the best one, and predicts each of them from the others. On a smooth function
it does that better and better as the points come closer to each other. If it predicts worse than a constant would,
twice in a row, there is a kink, a ripple, or noise.
"""

import numpy as np

from l2e.core.box import Box
from l2e.portfolio.evaluated import Evaluated
from l2e.portfolio.policy import CROSS_TERMS_UP_TO
from l2e.portfolio.quadratic import POINTS_PER_TERM, left_unexplained, terms_of

UNEXPLAINED, IN_A_ROW = 2.0, 2
"""The share of the variance that predictions leave, above which as many looks in a row raise a suspicion."""

EVERY, GROWTH = 3, 0.25
"""Evaluations per dimension between two looks, or this share of all so far if that is more."""

WIDTH = 5.0
"""Weights fall off at this squared distance per dimension, in units of the median one."""

APART, AROUND = 1e-4, 2
"""A plateau is where so many points per dimension, the nearest ones that are farther away than this share of the box,
have the best value."""

MORE_POINTS = 2
"""Points that a fit has beyond its number per coefficient."""

SAME = 1e-9
"""Values that differ by no more than this share of their size, or of how the values seen are spread, are the same: sums
in another order differ, too."""


class Doubt:
    """Looks now and then at what was evaluated.

    **Arguments:** `space`: the box; beyond the dimensions in which a quadratic has cross terms nothing is looked at.
    """

    def __init__(self, space: Box):
        self._space = space
        self._points = int(POINTS_PER_TERM * terms_of(space.dimension)) + MORE_POINTS
        self._next = self._points if 1 < space.dimension <= CROSS_TERMS_UP_TO else np.inf
        self._in_a_row = 0
        self.flat = False
        """Whether points around the best one, not too close to it, had its value: a plateau."""

    def look(self, seen: Evaluated) -> bool:
        """Whether it is time to look, and what is seen cannot be explained, again."""
        if seen.count < self._next or not np.isfinite(seen.best_f):
            return False
        self._next = seen.count + max(EVERY * self._space.dimension, GROWTH * seen.count)
        values = seen.values
        finite = np.isfinite(values)
        points, values = np.asarray(self._space.to_unit(seen.points[finite])), values[finite]
        if len(values) >= self._points:
            self._in_a_row = self._in_a_row + 1 if self._around_best(points, values) > UNEXPLAINED else 0
        return self._in_a_row >= IN_A_ROW

    def _around_best(self, points: np.ndarray, values: np.ndarray) -> float:
        """The share of the variance around the best point that is left unexplained."""
        away = points - points[int(np.argmin(values))]
        distance = (away**2).sum(axis=1)
        order = np.argsort(distance, kind="stable")
        apart = order[distance[order] > APART**2][: AROUND * points.shape[1]]
        self.flat = self.flat or bool(len(apart) and (values[apart] == values.min()).all())
        near = order[: self._points]
        scale = np.sqrt(float(np.median(distance[near])) / points.shape[1])
        around = values[near]
        if not scale > 0 or not float(np.ptp(around)) > SAME * size_of(around, values):
            return 0.0
        return left_unexplained(away[near] / scale, around, WIDTH)


def size_of(values: np.ndarray, seen: np.ndarray) -> float:
    """Of what size values are, among all that were seen."""
    low, high = np.quantile(seen[np.isfinite(seen)], (0.25, 0.75))
    return max(float(np.abs(values).max()), float(high - low))

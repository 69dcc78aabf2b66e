"""Generations whose values are uncertain, ranked by what a quadratic makes of them and of all points around.

A generation has few points, and under noise their order is mostly luck. A quadratic fitted to ten times as many points
averages over them. It is fitted to the ranks of values, not to values, so no outlier outweighs the rest.
"""

import numpy as np

from l2e.portfolio.policy import Reach
from l2e.portfolio.quadratic import FAR, fit_scores, terms_of
from l2e.portfolio.run import Batches, Run

REACH = Reach(3.0, 8.0)
"""How far the fit looks: points per coefficient, and where their weights fall off, in whitened units."""

LEAST = 2
"""Points per dimension, and some more, below which nothing is fitted."""

MORE_POINTS = 4


class SmoothingRun(Run):
    """A `Run` whose whole generations get smoothed values; the memory and the best point keep what was seen."""

    _expected: tuple[np.ndarray, np.ndarray, int] | None = None  # mean, matrix and size of a generation

    def expect(self, mean: np.ndarray, matrix: np.ndarray, population: int) -> None:
        self._expected = mean.copy(), matrix.copy(), population

    def evaluate(self, points: np.ndarray) -> Batches:
        expected, self._expected = self._expected, None
        values = yield from super().evaluate(points)
        if expected is None or len(values) < expected[2] or not np.isfinite(values).all():
            return values
        smooth = self._smoothed(expected[0], expected[1], len(values))
        return values if smooth is None else smooth

    def _smoothed(self, mean: np.ndarray, matrix: np.ndarray, count: int) -> np.ndarray | None:
        """Values of the latest points, by a fit around a distribution; None where there is no sound fit."""
        points, values, age = self.memory()
        try:
            u = (points - mean) @ np.linalg.inv(matrix).T
        except np.linalg.LinAlgError:
            return None
        distance = (u**2).sum(axis=1)
        latest = age < count
        nearest = np.argsort(np.where(latest, -1.0, distance), kind="stable")  # the latest are always among them
        nearest = nearest[: max(count, int(REACH.points * terms_of(self.dimension)) + self.dimension)]
        nearest = nearest[(distance[nearest] < FAR * self.dimension) | latest[nearest]]
        if len(nearest) < LEAST * self.dimension + MORE_POINTS:
            return None
        u, seen, age = u[nearest], values[nearest], age[nearest]
        scores = scores_of(seen)
        fitted = fit_scores(u, scores, REACH.width)
        if fitted is None:
            return None
        order = np.argsort(age)[:count][::-1]  # as they were asked for
        return np.interp(fitted[order], np.sort(scores), np.sort(seen))


def scores_of(values: np.ndarray) -> np.ndarray:
    """Logits of ranks: the same for all values of the same order, and spread like those of a normal distribution."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count
    shares = (below + count / 2)[place] / len(values)  # equal values share their ranks
    return np.log(shares / (1 - shares))

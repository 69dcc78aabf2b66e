"""Coordinate-wise search for separable functions: all coordinates at once, since none depends on another.

A grid along each axis, then STEP (S. Swarzberg, G. Seront, H. Bersini, "S.T.E.P.: the easiest way to optimize a
function", 1994): the interval is halved in which a parabola would have to bend least to beat the best value.
"""

import numpy as np

from l2e.portfolio.policy import Lines
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run, Steps

AIM_OF_VALUE, AIM_OF_RANGE, LEAST_AIM = 1e-12, (1e-3, 1e-3), 1e-300
"""STEP aims this far below the best value: the largest of a share of it, a share of a share of the range of values, and
the least."""

NARROWEST = 1e-9
"""Intervals below this length are not halved any more."""

ASIDE = 0.1
"""The second point of an axis on which there is only one value."""


class Coordinates:
    """Line searches along all axes through a point, in step; the best of each axis together are the answer.

    **Arguments:** `x`, `f`: the point and its value; `lines`: how many points are spent on each axis.
    """

    def __init__(self, x: np.ndarray, f: float, lines: Lines):
        self.x, self.f = x.copy(), f
        self._lines = lines

    def step(self, run: Run) -> Steps:
        """The whole search, then the evaluation of the combined point."""
        d, grid = len(self.x), self._lines.grid
        axis = np.linspace(-HALF, HALF, grid)
        lines = [[(self.x[i], self.f)] for i in range(d)]
        batch = np.repeat(self.x[None], grid * d, axis=0).reshape(d, grid, d)
        batch[np.arange(d), :, np.arange(d)] = axis
        values = (yield from run.evaluate(batch.reshape(-1, d))).reshape(d, grid)
        for i in range(d):
            lines[i].extend(zip(axis.tolist(), values[i].tolist(), strict=True))
        for _ in range(self._lines.points - grid):
            places = np.asarray([_easiest(line) for line in lines])
            batch = self.x + np.diag(places - self.x)
            values = yield from run.evaluate(batch)
            for line, place, value in zip(lines, places.tolist(), values.tolist(), strict=True):
                line.append((place, value))
        best = np.asarray([min(line, key=lambda entry: entry[1])[0] for line in lines])
        value = float((yield from run.evaluate(best))[0])
        if value < self.f:
            self.x, self.f = best, value
        return Reason.DONE


def _easiest(line: list[tuple[float, float]]) -> float:
    """The middle of the interval with the least curvature needed to reach a value a little below the best."""
    entries = sorted({place: value for place, value in line if np.isfinite(value)}.items())
    if len(entries) < 2:
        return float(np.clip(entries[0][0] + ASIDE if entries else 0.0, -HALF, HALF))
    x, f = np.asarray(entries).T
    width = np.diff(x)
    share, of_share = AIM_OF_RANGE
    goal = f.min() - max(AIM_OF_VALUE * abs(f.min()), share * float(np.ptp(f)) * of_share, LEAST_AIM)
    rise = np.diff(f) / width
    height = f[:-1] - goal
    bend = (rise + 2 * height / width) + 2 * np.sqrt(np.maximum(height * height + rise * width * height, 0)) / width
    bend = np.where(width < NARROWEST, np.inf, bend / width)
    k = int(np.argmin(bend))
    return float((x[k] + x[k + 1]) / 2)

"""Coordinate-wise search for separable functions: all coordinates at once, since none depends on another.

A grid along each axis, then STEP (S. Swarzberg, G. Seront, H. Bersini, "S.T.E.P.: the easiest way to optimize a
function", 1994): the interval is halved in which a parabola would have to bend least to beat the best value.
"""

import numpy as np

from l2e.experts.run import HALF, Run, Steps


class Coordinates:
    """Line searches along all axes through a point, in step; the best of each axis together are the answer.

    **Arguments:** `x`, `f`: the point and its value; `grid`: points of the first grid per axis; `points`: per axis in
    all.
    """

    def __init__(self, x: np.ndarray, f: float, grid: int, points: int):
        self.x, self.f = x.copy(), f
        self.used = 0
        self._grid, self._points = grid, points

    def step(self, run: Run) -> Steps:
        """The whole search, then the evaluation of the combined point."""
        before, d = run.used, len(self.x)
        axis = np.linspace(-HALF, HALF, self._grid)
        lines = [[(self.x[i], self.f)] for i in range(d)]
        batch = np.repeat(self.x[None], self._grid * d, axis=0).reshape(d, self._grid, d)
        batch[np.arange(d), :, np.arange(d)] = axis
        values = (yield from run.evaluate(batch.reshape(-1, d))).reshape(d, self._grid)
        for i in range(d):
            lines[i].extend(zip(axis.tolist(), values[i].tolist(), strict=True))
        for _ in range(self._points - self._grid):
            places = np.asarray([_easiest(line) for line in lines])
            batch = self.x + np.diag(places - self.x)
            values = yield from run.evaluate(batch)
            for line, place, value in zip(lines, places.tolist(), values.tolist(), strict=True):
                line.append((place, value))
        best = np.asarray([min(line, key=lambda entry: entry[1])[0] for line in lines])
        value = float((yield from run.evaluate(best))[0])
        if value < self.f:
            self.x, self.f = best, value
        self.used += run.used - before
        return "done"


def _easiest(line: list[tuple[float, float]]) -> float:
    """The middle of the interval with the least curvature needed to reach a value a little below the best."""
    entries = sorted({place: value for place, value in line if np.isfinite(value)}.items())
    if len(entries) < 2:
        return float(np.clip(entries[0][0] + 0.1 if entries else 0.0, -HALF, HALF))
    x, f = np.asarray(entries).T
    width = np.diff(x)
    goal = f.min() - max(1e-12 * abs(f.min()), 1e-3 * float(np.ptp(f)) * 1e-3, 1e-300)
    rise = np.diff(f) / width
    height = f[:-1] - goal
    bend = (rise + 2 * height / width) + 2 * np.sqrt(np.maximum(height * height + rise * width * height, 0)) / width
    bend = np.where(width < 1e-9, np.inf, bend / width)
    k = int(np.argmin(bend))
    return float((x[k] + x[k + 1]) / 2)

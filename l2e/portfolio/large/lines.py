"""Line searches along many directions at once, as if the function were a sum of one function for each.

All lines start at one point and take their steps together, so batches are large. A few prefixes of the moves, best ones
first, are then tried in common: where the directions interact, only some of them are made.
"""

import dataclasses

import numpy as np

from l2e.portfolio.large.asking import Anchor, ask, copies, tell
from l2e.portfolio.run import HALF, Batches, Run, Steps

ZOOM = np.asarray([-0.75, -0.5, -0.25, 0.25, 0.5, 0.75])
"""Places inside a cell of the grid that are looked at when it is refined."""

ROUNDING = 4 * 2.2e-16
"""Differences of values below this share of them are rounding."""

SHORTEST = 1e-13
"""Lines whose steps are below this end."""

RIPPLED = 8.0
"""A line is wavy, too, if it is bent this many times as much at its minimum as over its whole length: the minima of
ripples that are shorter than the cells of a grid are not seen one by one."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How hard lines are searched: points of the grid (0 for none) and more of them on wavy lines, refinements of the
    best cell of these, steps by parabolas."""

    grid: int
    more: int
    zooms: int
    steps: int


class Lines:
    """Lines through a point.

    **Arguments:** `x`, `f`: the point and its value; `members`: the variables that move; `directions`: one row per
    line, over the members; None for the axes themselves; `step`: the first step along each; `anchor`: if there is one,
    `x` holds moves from it.
    """

    def __init__(
        self,
        x: np.ndarray,
        f: float,
        members: np.ndarray,
        directions: np.ndarray | None,
        step: np.ndarray | float,
        anchor: Anchor | None = None,
    ):
        self._anchor = anchor
        self.x, self.f, self.members, self.directions = x.copy(), f, members, directions
        count = len(members) if directions is None else len(directions)
        self.place, self.value = np.zeros(count), np.full(count, f)
        self.step = np.broadcast_to(np.asarray(step, dtype=np.float64), (count,)).copy()
        self.low, self.high = self._ends()
        self.additive = 1.0
        """What all moves in common gained, as a share of the sum of what they gained alone."""
        self.wavy = np.zeros(count, bool)
        """Lines on which several minima were seen, or that are bent as if there were."""
        self._active = np.ones(count, bool)
        self._bent, self._bent_widely = np.zeros(count), np.full(count, np.inf)

    def search(self, run: Run, effort: Effort) -> Steps:
        """Search all lines, then move; the best point that was asked is the run's."""
        if effort.grid:
            yield from self._grid(run, effort)
        for _ in range(effort.steps):
            if not self._active.any():
                break
            yield from self._parabolas(run)
        self.wavy |= self._bent > RIPPLED * np.abs(self._bent_widely)
        yield from self._move(run)
        return None

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """How far each line runs inside the cube."""
        x = (self.x if self._anchor is None else self._anchor.point + self.x)[self.members]
        if self.directions is None:
            return -HALF - x, HALF - x
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (-HALF - x) / self.directions, (HALF - x) / self.directions
        low, high = np.minimum(first, second), np.maximum(first, second)
        still = np.abs(self.directions) < 1e-12
        return np.where(still, -np.inf, low).max(axis=1), np.where(still, np.inf, high).min(axis=1)

    def _at(self, run: Run, lines: np.ndarray, places: np.ndarray) -> Batches:
        """Values at one place of each of these lines."""

        def build(numbers: np.ndarray) -> np.ndarray:
            rows, chosen = copies(self.x, len(numbers)), lines[numbers]
            if self.directions is None:
                rows[np.arange(len(numbers)), self.members[chosen]] += places[numbers]
            else:
                rows[:, self.members] += places[numbers, None] * self.directions[chosen]
            return np.clip(rows, -HALF, HALF)

        return (yield from ask(run, len(lines), build, self._anchor))

    def _take(self, lines: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
        """Keep what is better, of several rows of places for the same lines."""
        best = np.argmin(values, axis=0)
        columns = np.arange(len(lines))
        better = values[best, columns] < self.value[lines]
        chosen = lines[better]
        self.place[chosen] = places[best, columns][better]
        self.value[chosen] = values[best, columns][better]

    def _several(self, run: Run, lines: np.ndarray, places: np.ndarray) -> Batches:
        """Values of rows of places, one column per line."""
        values = yield from self._at(run, np.tile(lines, len(places)), places.ravel())
        return values.reshape(places.shape)

    def _grid(self, run: Run, effort: Effort) -> Steps:
        """The best of evenly spread points: few at first, more on lines that are wavy, and again around the best."""
        lines = np.arange(len(self.place))
        yield from self._spread(run, lines, effort.grid)
        lines = np.flatnonzero(self.wavy)
        yield from self._spread(run, lines, effort.more)
        for _ in range(effort.zooms):
            if not len(lines):
                break
            places = np.clip(self.place[lines] + np.outer(ZOOM, self.step[lines]), self.low[lines], self.high[lines])
            before = self.value[lines]
            values = yield from self._several(run, lines, places)
            self._take(lines, places, values)
            wavy = _minima(np.insert(values, len(ZOOM) // 2, before, axis=0)) > 1
            self.step[lines] /= 4
            lines = lines[wavy]
        return None

    def _spread(self, run: Run, lines: np.ndarray, count: int) -> Steps:
        """Points evenly spread over these lines, with a random first; lines on which they rise and fall are wavy."""
        if not len(lines) or not count:
            return None
        width = (self.high - self.low)[lines] / count
        places = self.low[lines] + (np.arange(count)[:, None] + run.rng.uniform(0, 1, len(lines))) * width
        values = yield from self._several(run, lines, places)
        self._take(lines, places, values)
        self.step[lines] = width
        self.wavy[lines] = _minima(values) > 1
        self._bent_widely[lines] = _bent(values) / width**2
        return None

    def _parabolas(self, run: Run) -> Steps:
        """One step on both sides and one to the vertex, for each line that is not at its end."""
        lines = np.flatnonzero(self._active)
        low, high, here, value = self.low[lines], self.high[lines], self.place[lines], self.value[lines]
        step = np.minimum(self.step[lines], np.maximum((high - low) / 2, SHORTEST))
        places = np.stack([np.maximum(here - step, low), np.minimum(here + step, high)])
        values = yield from self._several(run, lines, places)
        vertex, curved, bent = _vertex(here, value, places, values)
        vertex = np.clip(vertex, low, high)
        self._take(lines, places, values)
        tried = np.flatnonzero(curved)
        if len(tried):
            bottom = yield from self._at(run, lines[tried], vertex[tried])
            self._take(lines[tried], vertex[None, tried], bottom[None])
        moved = np.abs(self.place[lines] - here)
        self.step[lines] = np.where(moved >= step, 2 * step, np.maximum(np.minimum(moved, step / 2), step / 30))
        rises = np.abs(values - value).max(axis=0)
        silent = rises <= ROUNDING * abs(self.f)
        self._bent[lines] = np.where(silent | ~curved, self._bent[lines], np.maximum(bent, self._bent[lines]))
        shortest = SHORTEST if self._anchor is None else 0.0
        self._active[lines] = ~silent & (self.step[lines] > shortest)
        return None

    def _move(self, run: Run) -> Steps:
        """Make the moves in common: all of them, or as many of the best as is best."""
        gains = self.f - self.value
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > 0]
        if len(order) < 2:
            return None
        sizes = sorted({len(order), *(2**k for k in range(1, len(order).bit_length()) if 2**k < len(order))})
        points = copies(self.x, len(sizes))
        for row, size in zip(points, sizes, strict=True):
            chosen = order[:size]
            if self.directions is None:
                row[self.members[chosen]] += self.place[chosen]
            else:
                row[self.members] += self.place[chosen] @ self.directions[chosen]
        values = yield from tell(run, np.clip(points, -HALF, HALF), self._anchor)
        self.additive = float((self.f - values[-1]) / gains[order].sum())
        return None


def _vertex(
    here: np.ndarray, value: np.ndarray, places: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The vertex of the parabola through three points of each line, where there is one worth asking for, and how much
    it is bent."""
    left, right = places[0] - here, places[1] - here
    with np.errstate(all="ignore"):
        slope_left, slope_right = (values[0] - value) / left, (values[1] - value) / right
        curvature = (slope_right - slope_left) / (right - left)
        vertex = -(slope_left * right - slope_right * left) / (right - left) / (2 * curvature)
    usable = np.isfinite(vertex) & (curvature > 0)
    vertex = np.where(usable, np.clip(vertex, 3 * left, 3 * right), 0.0)
    return here + vertex, usable & (vertex != 0), curvature


def _bent(values: np.ndarray) -> np.ndarray:
    """How much the parabola that fits each column of values at distances of 1 is bent."""
    squares = (np.arange(len(values)) - (len(values) - 1) / 2) ** 2
    squares -= squares.mean()
    return squares @ values / (squares @ squares)


def _minima(values: np.ndarray) -> np.ndarray:
    """How many inner minima each column has, its ends not counted."""
    return ((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])).sum(axis=0)

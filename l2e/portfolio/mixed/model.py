"""The minimum of a fitted quadratic over the points of a grid."""

import numpy as np

from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.quadratic import Quadratic
from l2e.portfolio.run import HALF

MOST_MOVES = 100
"""Moves of one descent."""

LEAST_SQUARE = 1e-9
"""Eigenvalues of the continuous block are at least this share of the largest."""

LEAST_GAIN = 1e-12
"""Gains below this share of the model's size are none."""

ALL_PLACES_UP_TO = 40
"""Of coordinates with more places than this only powers of two are tried as steps."""


class LatticeModel:
    """A quadratic c + b.x + x'Hx/2 in the working cube, minimised by moves of one coordinate at a time.

    Continuous coordinates follow each move at once: they are eliminated, as far as they are not held by their bounds.

    **Arguments:** `model`, `mean`, `inverse`: the fit in the frame u = inverse (x - mean); `grid`: the points; `low`,
    `high`: how far to look.
    """

    def __init__(
        self, model: Quadratic, mean: np.ndarray, inverse: np.ndarray, grid: Grid, low: np.ndarray, high: np.ndarray
    ):
        self._grid = grid
        self._low, self._high = np.maximum(low, -HALF), np.minimum(high, HALF)
        self._hessian = inverse.T @ model.hessian @ inverse
        self._linear = inverse.T @ model.linear - self._hessian @ mean
        self._free = grid.continuous
        self._rest = np.setdiff1d(np.arange(grid.dimension), self._free)
        self._eliminate()

    def minimise(self, start: np.ndarray) -> np.ndarray:
        """The point of the grid at which single moves from a snapped point end."""
        x = start.copy()
        gain_below = -LEAST_GAIN * (float(np.abs(self._reduced).max()) + float(np.abs(self._slope).max()))
        for _ in range(MOST_MOVES):
            moves = self._moves(x)
            if not len(moves):
                break
            changes = moves @ (self._slope + self._reduced @ x[self._rest])
            changes += 0.5 * ((moves @ self._reduced) * moves).sum(axis=1)
            best = int(np.argmin(changes))
            if not changes[best] < gain_below:
                break
            x[self._rest] += moves[best]
        return self._with_continuous(self._grid.snap(x[None])[0])

    def value(self, points: np.ndarray) -> np.ndarray:
        """The model without its constant, at points (n, d)."""
        return points @ self._linear + 0.5 * ((points @ self._hessian) * points).sum(axis=1)

    def _eliminate(self) -> None:
        free, rest, h = self._free, self._rest, self._hessian
        if not len(free):
            self._reduced, self._slope = h, self._linear
            return
        squares, axes = np.linalg.eigh(h[np.ix_(free, free)])
        squares = np.maximum(squares, LEAST_SQUARE * max(float(np.abs(squares).max()), 1e-300))
        self._solve = (axes / squares) @ axes.T
        across = h[np.ix_(rest, free)]
        self._reduced = h[np.ix_(rest, rest)] - across @ self._solve @ across.T
        self._slope = self._linear[rest] - across @ self._solve @ self._linear[free]

    def _with_continuous(self, x: np.ndarray) -> np.ndarray:
        free, rest = self._free, self._rest
        if len(free):
            slope = self._linear[free] + self._hessian[np.ix_(free, rest)] @ x[rest]
            x[free] = np.clip(-self._solve @ slope, self._low[free], self._high[free])
        return x

    def _moves(self, x: np.ndarray) -> np.ndarray:
        """All single moves, as steps of the coordinates that are not continuous."""
        grid = self._grid
        rank = {int(column): i for i, column in enumerate(self._rest)}
        indices = grid.indices(x[None])[0]
        moves = []
        for j, column in enumerate(grid.stepped):
            others = _others(int(indices[j]), int(grid.counts[j]))
            table = np.repeat(indices[None], len(others), axis=0)
            table[:, j] = others
            places = grid.place(table)[:, j]
            places = places[(places >= self._low[column]) & (places <= self._high[column])]
            step = np.zeros((len(places), len(self._rest)))
            step[:, rank[int(column)]] = places - x[column]
            moves.append(step)
        for group, option in zip(grid.groups, grid.options(x), strict=True):
            step = np.zeros((len(group) - 1, len(self._rest)))
            step[:, rank[int(group[option])]] = -2 * HALF
            for row, other in enumerate(np.delete(group, option)):
                step[row, rank[int(other)]] = 2 * HALF
            moves.append(step)
        return np.concatenate(moves) if moves else np.empty((0, len(self._rest)))


def _others(index: int, count: int) -> np.ndarray:
    """Other places that are tried from one."""
    if count <= ALL_PLACES_UP_TO:
        return np.delete(np.arange(count), index)
    steps = 2 ** np.arange(int(np.log2(count)) + 1)
    places = np.concatenate([index - steps, index + steps])
    return places[(places >= 0) & (places < count)]

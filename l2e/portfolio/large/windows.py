"""Newton's method on windows of a sparse graph of interactions; a Hessian costs an evaluation per edge."""

from collections.abc import Generator

import numpy as np

from l2e.portfolio.large.asking import ask, copies
from l2e.portfolio.large.steps import fitting
from l2e.portfolio.run import HALF, Batches, Run, Steps

SIZES = (24, 80)
"""Variables in a window, in turns."""

DAMPINGS = (0.0, 1e-6, 1e-4, 1e-2, 1.0)
LENGTHS = (1.0, 0.3)
"""Steps that are tried together: curvature is raised by these shares of the largest, and the step cut."""

SHARE = 1e-9
"""Second differences are to be this share of the value."""

Curvature = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]
"""A slope for each variable and a matrix."""


class Windows:
    """Sweeps over the variables in an order in which those that interact are neighbours.

    **Arguments:** `members`: the variables in that order; `edges`: pairs of places in it.
    """

    name = "windows"

    def __init__(self, members: np.ndarray, edges: np.ndarray):
        self.members = members
        self._edges = np.sort(edges, axis=1)
        self._step = np.full(len(members), 1e-4)
        self._sweeps = 0

    def cost(self) -> float:
        size = min(self._size(), len(self.members))
        return len(self.members) * 2 + len(self._edges) + len(self.members) / size * len(DAMPINGS) * len(LENGTHS)

    def turn(self, run: Run) -> Steps:
        size = self._size()
        begin = int(run.rng.integers(size))
        self._sweeps += 1
        for start in [0, *range(begin, len(self.members), size)]:
            end = begin if start == 0 else min(start + size, len(self.members))
            if end > start:
                yield from self._newton(run, np.arange(start, end))
        return None

    def _size(self) -> int:
        return SIZES[self._sweeps % len(SIZES)]

    def _newton(self, run: Run, places: np.ndarray) -> Steps:
        """One damped step on a window."""
        x = run.best_x.copy()
        slope, hessian = yield from self._curvature(run, places, SHARE)
        if not (np.isfinite(hessian).all() and np.isfinite(slope).all()) or not hessian.any():
            return None
        values, vectors = np.linalg.eigh(hessian)
        sizes, turned = np.abs(values), vectors.T @ slope
        points = copies(x, len(DAMPINGS) * len(LENGTHS))
        raised = [np.maximum(sizes + damping * sizes.max(), 1e-14 * sizes.max()) for damping in DAMPINGS]
        moves = [-length * (vectors @ (turned / divisor)) for divisor in raised for length in LENGTHS]
        points[:, self.members[places]] += np.asarray(moves)
        yield from run.evaluate_aside(np.clip(points, -HALF, HALF))
        return None

    def _curvature(self, run: Run, places: np.ndarray, share: float, fit: bool = False) -> Curvature:
        """Slopes and curvature of neighbours at the best point.

        **Arguments:** `share`: second differences are to be this share of the value, those of the next time or, with
        `fit`, these.
        """
        x, f = run.best_x.copy(), run.best_f
        if fit:
            ahead, behind = yield from self._beside(run, x, places)
            self._step[places] = fitting(self._step[places], ahead + behind - 2 * f, share * abs(f))
        h = self._step[places].copy()
        ahead, behind = yield from self._beside(run, x, places)
        inside = self._edges[(self._edges >= places[0]).all(axis=1) & (self._edges <= places[-1]).all(axis=1)]
        corners = yield from self._corners(run, x, inside)
        slope, bend = (ahead - behind) / (2 * h), (ahead + behind - 2 * f) / h**2
        self._step[places] = fitting(h, bend * h**2, share * abs(f))
        hessian = np.diag(bend)
        first, second = inside.T - places[0]
        mixed = (corners - ahead[first] - ahead[second] + f) / (h[first] * h[second])
        hessian[first, second] = hessian[second, first] = mixed
        return slope, hessian

    def _beside(self, run: Run, x: np.ndarray, places: np.ndarray) -> Batches:
        """Values one step ahead and behind along each variable, as two rows."""
        count = len(places)

        def build(numbers: np.ndarray) -> np.ndarray:
            rows, chosen = copies(x, len(numbers)), places[numbers % count]
            steps = np.where(numbers < count, 1, -1) * self._step[chosen]
            rows[np.arange(len(numbers)), self.members[chosen]] += steps
            return rows

        values = yield from ask(run, 2 * count, build)
        return values.reshape(2, count)

    def _corners(self, run: Run, x: np.ndarray, edges: np.ndarray) -> Batches:
        """Values one step ahead along both variables of each edge."""

        def build(numbers: np.ndarray) -> np.ndarray:
            rows = copies(x, len(numbers))
            for end in edges[numbers].T:
                rows[np.arange(len(numbers)), self.members[end]] += self._step[end]
            return rows

        return (yield from ask(run, len(edges), build))

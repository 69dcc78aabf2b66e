"""What the record of one past search tells: where it ended, and gradients wherever it took differences."""

import dataclasses
import functools

import numpy as np

from l2e.core.box import Box
from l2e.core.lattice import MixedBox
from l2e.portfolio.method import from_cube
from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.newton import STEP, star
from l2e.portfolio.run import HALF, WIDTH
from l2e.portfolio.secants import LEAST_COSINE, Pair

NEAR = 1e3
"""Points that differ by less than this many steps of a difference belong to one star."""

EVOLVES_BELOW = 0.3
"""If a smaller share of the evaluations than this are differences, an evolutionary search did the work."""


@dataclasses.dataclass(frozen=True, eq=False)
class Past:
    """One search in order: points of the box, their values (`inf` for failed ones), and whether these are noisy."""

    space: Box
    points: np.ndarray
    values: np.ndarray
    noisy: bool = False

    @property
    def end(self) -> np.ndarray:
        """The best point, in the unit cube."""
        return np.clip(self.space.to_unit(self._best[0]), 0, 1)

    @property
    def best(self) -> float:
        """The best value, of noisy ones a mean."""
        return self._best[1]

    @property
    def error(self) -> float:
        """The standard error of that mean; 0 for exact values."""
        same = (self.points == self._best[0]).all(axis=1)
        return float(self.values[same].std(ddof=1) / np.sqrt(same.sum())) if self.noisy and same.sum() > 1 else 0.0

    @functools.cached_property
    def _best(self) -> tuple[np.ndarray, float]:
        """The best point and its value; with noise the best mean among the points that were evaluated most often."""
        if not self.noisy:
            first = int(np.argmin(self.values))
            return self.points[first], float(self.values[first])
        points, of = np.unique(self.points, axis=0, return_inverse=True)
        counts = np.bincount(of.ravel())
        with np.errstate(invalid="ignore"):
            means = np.bincount(of.ravel(), weights=self.values) / counts
        means = np.where((counts == counts[np.isfinite(means)].max(initial=0)) & np.isfinite(means), means, np.inf)
        first = int(np.argmin(means))
        return points[first], float(means[first])

    @functools.cached_property
    def _known(self) -> dict[bytes, float]:
        return {point.tobytes(): value for point, value in zip(self.points, self.values.tolist(), strict=True)}

    @property
    def centre(self) -> float:
        """The value at the centre of the box; NaN if it was never asked for."""
        middle = np.zeros((1, self.space.dimension))
        point = from_cube(Grid(self.space).snap(middle) if isinstance(self.space, MixedBox) else middle, self.space)
        return self._known.get(point.tobytes(), np.nan)

    @property
    def gradient(self) -> np.ndarray:
        """The gradient at the centre, per width of the box; NaN where its difference was not taken."""
        points, steps, _ = star(np.zeros(self.space.dimension))
        values = [self._known.get(point.tobytes(), np.nan) for point in on_box(points, self.space)]
        return (np.array(values) - self.centre) / (steps / WIDTH)

    @functools.cached_property
    def _stars(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Points at which all differences were taken, with their gradients, in the unit cube and in order."""
        unit, d = self.space.to_unit(self.points), self.space.dimension
        close = NEAR * STEP / WIDTH
        apart = np.abs(np.diff(unit, axis=0)) > 0
        small = np.abs(np.diff(unit, axis=0)).max(axis=1, initial=0) < close
        begins = np.flatnonzero(small & (apart.sum(axis=1) <= 2)) if d > 1 else np.arange(1, len(unit))
        found, after = [], 0
        for i in begins:
            if i < max(after, 1) or i + d > len(unit):
                continue
            base = self._base(unit, int(i), close)
            if base is not None:
                found.append(base)
                after = i + d
        return found

    def _base(self, unit: np.ndarray, i: int, close: float) -> tuple[np.ndarray, np.ndarray] | None:
        """The point around which rows `i` and following are a star, if they are, and the gradient there."""
        d = unit.shape[1]
        block = unit[i : i + d]
        near = np.flatnonzero((np.abs(unit[:i] - block[0]) < close).all(axis=1))
        for j in near[::-1]:
            moved = block - unit[j]
            steps = np.diagonal(moved)
            if (steps != 0).all() and np.abs(steps).max() < close and not (moved - np.diag(steps)).any():
                gradient = (self.values[i : i + d] - self.values[j]) / steps
                return (unit[j], gradient) if np.isfinite(gradient).all() else None
        return None

    @property
    def star_share(self) -> float:
        """Which share of the evaluations are differences."""
        return len(self._stars) * self.space.dimension / len(self.points)

    @property
    def secants(self) -> list[Pair]:
        """Steps between points with gradients, and how the gradient changed, along which the function curves up."""
        pairs = [
            Pair(second[0] - first[0], second[1] - first[1])
            for first, second in zip(self._stars[:-1], self._stars[1:], strict=True)
        ]
        return [
            pair for pair in pairs if pair.s @ pair.y > LEAST_COSINE * np.linalg.norm(pair.s) * np.linalg.norm(pair.y)
        ]


def on_box(points: np.ndarray, space: Box) -> np.ndarray:
    """Points of the working cube on the box, to the bit as a search asks for them."""
    lower, upper = (np.asarray(bound, dtype=np.float64) for bound in (space.lower, space.upper))
    return np.clip(lower + (points + HALF) / WIDTH * (upper - lower), lower, upper)

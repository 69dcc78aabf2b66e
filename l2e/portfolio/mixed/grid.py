"""Stepped coordinates and categories in the working cube."""

import math

import numpy as np

from l2e.core.lattice import MixedBox
from l2e.portfolio.run import HALF, WIDTH


class Grid:
    """Which points of the working cube there are.

    **Arguments:** `space`: the mixed box that is mapped onto the cube.
    """

    def __init__(self, space: MixedBox):
        self._space = space
        self._lower, self._width = np.asarray(space.lower), np.asarray(space.width)
        self.dimension = space.dimension
        self.stepped = space.stepped
        self.continuous = space.continuous
        self.ordered = np.sort(np.concatenate([self.stepped, self.continuous]))
        """Coordinates that are not of a category."""
        self.groups = tuple(np.asarray(group) for group in space.groups)
        self.counts = space.counts
        self.size = space.size

    def snap(self, points: np.ndarray) -> np.ndarray:
        """The points (n, d) that are meant."""
        return self._to_cube(self._space.snap(self._from_cube(points)))

    def indices(self, points: np.ndarray) -> np.ndarray:
        """Numbers of the places of stepped coordinates."""
        return self._space.indices(self._from_cube(points))

    def place(self, indices: np.ndarray) -> np.ndarray:
        """Where stepped coordinates with these numbers are."""
        return self._stepped_to_cube(self._space.places(indices))

    def edges(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the cells of a point's stepped coordinates begin and end; infinitely far at the faces."""
        indices = self.indices(point[None])[0]
        low, high = (self._stepped_to_cube(ends) for ends in self._space.edges(indices))
        return np.where(indices == 0, -np.inf, low), np.where(indices == self.counts - 1, np.inf, high)

    def options(self, point: np.ndarray) -> list[int]:
        """Which option each category of a snapped point has."""
        return [int(np.argmax(point[group])) for group in self.groups]

    def choose(self, points: np.ndarray, group: int, options: np.ndarray | int) -> None:
        """Give points (n, d) these options of a category, in place."""
        columns = self.groups[group]
        points[:, columns] = -HALF
        points[np.arange(len(points)), columns[options]] = HALF

    def neighbours(self, point: np.ndarray, coordinate: int, reach: int) -> np.ndarray:
        """A snapped point with the stepped coordinate of this rank moved by `reach` steps down and up, if possible."""
        index = self.indices(point[None])[0]
        moved = []
        for step in (-reach, reach):
            if 0 <= index[coordinate] + step < self.counts[coordinate]:
                other = index.copy()
                other[coordinate] += step
                moved.append(self._with(point, other))
        return np.asarray(moved).reshape(-1, self.dimension)

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Points drawn at random."""
        return self.snap(rng.uniform(-HALF, HALF, (n, self.dimension)))

    @property
    def finite(self) -> bool:
        """Whether there is no continuous coordinate."""
        return math.isfinite(self.size)

    def _with(self, point: np.ndarray, indices: np.ndarray) -> np.ndarray:
        other = point.copy()
        other[self.stepped] = self.place(indices)
        return other

    def _from_cube(self, points: np.ndarray) -> np.ndarray:
        return self._lower + (points + HALF) / WIDTH * self._width

    def _to_cube(self, points: np.ndarray) -> np.ndarray:
        return np.clip((points - self._lower) / self._width * WIDTH - HALF, -HALF, HALF)

    def _stepped_to_cube(self, places: np.ndarray) -> np.ndarray:
        lower, width = self._lower[self.stepped], self._width[self.stepped]
        return (places - lower) / width * WIDTH - HALF

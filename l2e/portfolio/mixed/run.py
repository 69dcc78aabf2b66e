"""The shared state of a search over a grid: points are evaluated where they are meant, and never twice."""

import numpy as np

from l2e.core.search import Account
from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.policy import Policy
from l2e.portfolio.run import Batches, Run, mirror


class MixedRun(Run):
    """A `Run` whose points are those of a grid. What was evaluated is looked up instead of evaluated again.

    **Arguments:** as of `Run`, and `grid`: which points there are.
    """

    def __init__(
        self,
        grid: Grid,
        budget: int,
        rng: np.random.Generator,
        policy: Policy | None = None,
        account: Account | None = None,
    ):
        super().__init__(grid.dimension, budget, rng, policy, account)
        self.grid = grid
        self._known: dict[bytes, float] = {}

    @property
    def distinct(self) -> int:
        """How many different points were evaluated."""
        return len(self._known)

    @property
    def exhausted(self) -> bool:
        """Whether every point there is was evaluated."""
        return self.distinct >= self.grid.size

    @staticmethod
    def key(point: np.ndarray) -> bytes:
        """What makes two points the same."""
        return (point + 0.0).tobytes()  # -0.0 is 0.0

    def is_known(self, points: np.ndarray) -> np.ndarray:
        """Which of these snapped points were evaluated."""
        return np.asarray([self.key(point) in self._known for point in points], dtype=bool)

    def evaluate(self, points: np.ndarray) -> Batches:
        batch = self.grid.snap(mirror(np.atleast_2d(points)))
        new = self._new(batch)
        if len(new):
            values = yield from self._ask(batch[new])
            self.remember(batch[new], values)
        return self._look_up(batch)

    def evaluate_aside(self, points: np.ndarray) -> Batches:
        batch = self.grid.snap(mirror(np.atleast_2d(points)))
        new = self._new(batch)
        if len(new):
            values = yield from self._ask(batch[new])
            self._note(batch[new], values)
        return self._look_up(batch)

    def remember(self, points: np.ndarray, values: np.ndarray) -> None:
        super().remember(points, values)
        self._note(points, values)

    def know(self, points: np.ndarray, values: np.ndarray, given: np.ndarray) -> None:
        super().know(self.grid.snap(points), values, given)

    def _note(self, points: np.ndarray, values: np.ndarray) -> None:
        for point, value in zip(points, values.tolist(), strict=True):
            self._known[self.key(point)] = value

    def _new(self, batch: np.ndarray) -> np.ndarray:
        """Rows that have to be evaluated: the first of each point that was not yet."""
        rows: dict[bytes, int] = {}
        for row, point in enumerate(batch):
            key = self.key(point)
            if key not in self._known:
                rows.setdefault(key, row)
        return np.asarray(list(rows.values()), dtype=int)

    def _look_up(self, batch: np.ndarray) -> np.ndarray:
        return np.asarray([self._known[self.key(point)] for point in batch])


class Slice:
    """A run seen by an expert that moves some coordinates only, the others staying where a point has them.

    **Arguments:** `run`: the whole; `columns`: the coordinates that move; `base`: the point.
    """

    def __init__(self, run: Run, columns: np.ndarray, base: np.ndarray):
        self._run, self._columns = run, columns
        self.base = base.copy()
        self.dimension = len(columns)
        self.rng, self.policy, self.budget, self.notes = run.rng, run.policy, run.budget, run.notes
        self.workers = run.workers

    @property
    def used(self) -> int:
        """Evaluations so far, of the whole run."""
        return self._run.used

    @property
    def remaining(self) -> int:
        """Evaluations left."""
        return self._run.remaining

    def evaluate(self, points: np.ndarray) -> Batches:
        """Have points of the moving coordinates evaluated."""
        return (yield from self._run.evaluate(self.whole(points)))

    def evaluate_aside(self, points: np.ndarray) -> Batches:
        """Have points evaluated that models must not see."""
        return (yield from self._run.evaluate_aside(self.whole(points)))

    def look_ahead(self, points: np.ndarray) -> None:
        """These points will probably be asked for after the next batch."""
        self._run.look_ahead(self.whole(points))

    def whole(self, points: np.ndarray) -> np.ndarray:
        """Points with all coordinates."""
        moving = np.atleast_2d(points)
        batch = np.repeat(self.base[None], len(moving), axis=0)
        batch[:, self._columns] = moving
        return batch

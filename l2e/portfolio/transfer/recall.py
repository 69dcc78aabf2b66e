"""A run that never pays twice: points of its first phase are answered from memory when they are asked again."""

from collections.abc import Callable

import numpy as np

from l2e.portfolio.run import Batches, Run, mirror


class Recalling(Run):
    """A run in which a search may begin where another one has already evaluated points.

    While `remembers` is true every evaluated point is kept; a kept point that is asked for again costs nothing, and
    models see it once.
    """

    remembers = True
    _kept: dict[bytes, float] | None = None

    def evaluate(self, points: np.ndarray) -> Batches:
        return (yield from self._recall(points, super().evaluate))

    def evaluate_aside(self, points: np.ndarray) -> Batches:
        return (yield from self._recall(points, super().evaluate_aside))

    def _recall(self, points: np.ndarray, ask: Callable[[np.ndarray], Batches]) -> Batches:
        batch = mirror(np.atleast_2d(points))
        kept = self._kept = {} if self._kept is None else self._kept
        names = [(point + 0.0).tobytes() for point in batch]  # -0 is 0
        fresh = [i for i, name in enumerate(names) if name not in kept]
        if len(fresh) == len(batch) and not self.remembers:
            return (yield from ask(batch))
        values = np.array([kept.get(name, np.inf) for name in names])
        if fresh:
            values[fresh] = yield from ask(batch[fresh])
        if self.remembers:
            kept.update(zip(names, values.tolist(), strict=True))
        return values

"""What the adapters share: the evaluator seen from the unit cube, failed evaluations as numbers, and quiet imports."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from l2e.core.box import Box
from l2e.core.evaluator import Evaluator


class NothingFiniteError(Exception):
    """All evaluations so far have failed, so there is no number yet that a failed one could be told as."""


class UnitMeter:
    """An `Evaluator` as third-party code can use it: points of the unit cube in, numbers out.

    Searching in the unit cube makes a run independent of the scale of the box, and keeps one definition of "inside":
    the mapped points are clipped, so rounding never leaves the box.

    **Arguments:**

    - `evaluate`, `space`: the evaluator and its box.
    - `limit`: beyond it values grow only with their logarithm, so that sums of squares in third-party code do not
      overflow; their order stays.
    """

    def __init__(self, evaluate: Evaluator, space: Box, limit: float = 1e100):
        self._evaluate = evaluate
        self._lower = np.asarray(space.lower, dtype=np.float64)
        self._upper = np.asarray(space.upper, dtype=np.float64)
        self._limit = limit
        self._best, self._worst = np.inf, -np.inf

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self._lower.size

    @property
    def used(self) -> int:
        """Evaluations made so far."""
        return self._evaluate.used

    def to_unit(self, point: np.ndarray) -> np.ndarray:
        """The unit-cube coordinates of a point of the box."""
        unit = (np.asarray(point, dtype=np.float64) - self._lower) / (self._upper - self._lower)
        return np.clip(unit, 0.0, 1.0)

    def __call__(self, unit: Any) -> Any:
        """Values of a point (d,) -> float or of a batch (n, d) -> (n,), `+inf` for failed evaluations."""
        fractions = np.asarray(unit, dtype=np.float64)
        points = self._lower + fractions * (self._upper - self._lower)
        return self._damped(self._evaluate(np.clip(points, self._lower, self._upper)))

    def finite(self, unit: Any) -> Any:
        """The same with failed evaluations told as a little above the worst value so far, for code that chokes on inf.

        Just the worst value would not do: if one point of a population is good, it would look like all the others.

        **Raises:** `NothingFiniteError` while no evaluation has succeeded.
        """
        values = np.atleast_1d(self(unit))
        usable = np.isfinite(values)
        if usable.any():
            self._best = min(self._best, float(values[usable].min()))
            self._worst = max(self._worst, float(values[usable].max()))
        elif self._worst == -np.inf:
            raise NothingFiniteError("every evaluation so far has failed")
        values[~usable] = self._worst + (0.01 * (self._worst - self._best) or abs(self._worst) or 1.0)
        return values if np.ndim(unit) == 2 else float(values[0])

    def _damped(self, values: Any) -> Any:
        size = np.abs(values) / self._limit
        if not np.any(size > 1):
            return values
        damped = np.sign(values) * self._limit * (1 + np.log(np.maximum(size, 1)))
        return np.where(size > 1, damped, values)[()]

    def check(self) -> None:
        """Raise the evaluator's `StopSearch` if third-party code has swallowed it."""
        if self._evaluate.stop is not None:
            raise self._evaluate.stop


@contextlib.contextmanager
def quiet(*packages: str) -> Iterator[None]:
    """Hide the warnings that come from the code of these packages; the objective's own still show."""
    with warnings.catch_warnings():
        for package in packages:
            warnings.filterwarnings("ignore", module=rf"{package}(\.|$)")
        yield


def small_seed(rng: np.random.Generator) -> int:
    """A seed for libraries that want a positive 31-bit integer."""
    return int(rng.integers(1, 2**31 - 1))

"""The gate of the method at inference: a fitted quadratic replaces evaluations as far as it has earned trust.

Trust is Kendall's tau between true and fitted values of the latest evaluations, smoothed. That is bold: the model has
seen these values. With little to spend boldness pays (left-out values trust too late); with much it ends in the wrong
minimum, and a cautious gate does not trust much more than predictions made beforehand have earned.
"""

import math

import numpy as np

from l2e.experts.quadratic import MAX_CROSS_DIMENSION, WIDE, Quadratic, Reach, fit_quadratic, terms_of
from l2e.experts.run import Run

SMOOTHING = 0.7
NONE_BELOW, FULL_ABOVE = 0.36, 0.92
LEAST = 2
GIVE_UP_BELOW = 0.25
SHAPE_ABOVE = 0.5
FEWEST, KEPT, MARGIN = 6, 60, 0.15
"""Of predictions made beforehand: with how many they count, how many are kept, how much more is trusted."""


def spacing(dimension: int) -> float:
    """New points between two fits: a larger fit waits for more, so that its cost per evaluation stays bounded."""
    terms = terms_of(dimension)
    return terms / 80 if dimension <= MAX_CROSS_DIMENSION else (terms / 40) ** 2


class Surrogate:
    """Fits, judges and applies the quadratic model of one evolutionary search.

    The model lives in the whitened frame u = (sigma M)^-1 (x - m) of the distribution at the time of its fit.

    **Arguments:** `reach`: how far a fit looks; `cautious`: whether predictions made beforehand bound the trust.
    """

    def __init__(self, reach: Reach = WIDE, cautious: bool = False) -> None:
        self.reach, self.cautious = reach, cautious
        self._predicted: list[tuple[float, float]] = []  # and what then was true
        self.tau = 0.0
        self.model: Quadratic | None = None
        self.fresh = False  # the model was fitted for this generation
        self._mean = np.empty(0)
        self._inverse = np.empty(0)
        self._fitted_at = -(10**9)
        self._rest = 0
        self._next_rest = 8

    def fit(self, run: Run, mean: np.ndarray, matrix: np.ndarray, population: int) -> bool:
        """Bring the model up to date for a distribution; whether there is one to be used."""
        self.fresh = False
        if self._rest > 0:
            self._rest -= 1
            return False
        if self.model is not None and run.used - self._fitted_at < spacing(len(mean)):
            return True
        points, values, age = run.memory()
        if len(values) < len(mean) + 4:
            return False
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return False
        model = fit_quadratic((points - mean) @ inverse.T, values, age, self.reach)
        if model is None:
            return False
        self.model, self._mean, self._inverse = model, mean.copy(), inverse
        self.fresh, self._fitted_at = True, run.used
        self._judge(model, population, enough=len(values) > 10 * len(mean))
        return True

    def _judge(self, model: Quadratic, population: int, enough: bool) -> None:
        latest = np.argsort(model.age)[: max(population, 12)]
        tau = kendall(model.fitted[latest], model.values[latest])
        if self.cautious and len(self._predicted) >= FEWEST:
            before, after = np.asarray(self._predicted[-len(latest) :]).T
            tau = min(tau, kendall(before, after) + MARGIN)
        self.tau = SMOOTHING * self.tau + (1 - SMOOTHING) * tau
        if enough and max(self.tau, tau) < GIVE_UP_BELOW:
            self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, 64)

    def minimiser(self) -> np.ndarray:
        """The fresh model's minimiser in its trust region, in the whitened frame it was fitted in."""
        assert self.model is not None
        return self.model.minimiser

    def predict(self, points: np.ndarray) -> np.ndarray:
        """The model's values, on the scale of f."""
        assert self.model is not None
        return self.model.value((points - self._mean) @ self._inverse.T)

    def learn(self, predicted: np.ndarray, true: np.ndarray) -> None:
        """What it had predicted, and what turned out; failures are no values."""
        if self.cautious:
            pairs = zip(predicted.tolist(), true.tolist(), strict=True)
            self._predicted = [*self._predicted, *(pair for pair in pairs if math.isfinite(pair[1]))][-KEPT:]

    def evaluations(self, population: int, bonus: float = 0.0) -> int:
        """How many of a generation are truly evaluated; a residual may add a bonus to the trust that was earned."""
        earned = min(max((self.tau + bonus - NONE_BELOW) / (FULL_ABOVE - NONE_BELOW), 0.0), 1.0)
        return max(min(LEAST, population), round(population + (1 - population) * earned))

    def shape(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Axes and factors that turn the frame towards the inverse root of the Hessian, as far as it is trusted."""
        if self.model is None or not self.fresh or self.tau < SHAPE_ABOVE or not self.model.full:
            return None
        squares, axes = self.model.squares, self.model.axes
        if squares[0] <= 0:
            return None
        logs = -0.5 * np.log(squares)
        return axes, np.clip(np.exp(logs - logs.mean()), 1 / 3, 3) ** self.tau


def kendall(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b: concordant minus discordant pairs, over the pairs that are not tied; 0 if all are."""
    a, b = (np.sign(x[:, None] - x) for x in (first, second))
    size = math.sqrt(np.count_nonzero(a) * np.count_nonzero(b))  # each pair twice, above and below the line
    return float(np.vdot(a, b)) / size if size > 0 else 0.0

"""The gate of the method at inference: a fitted quadratic replaces evaluations as far as it has earned trust.

Trust is Kendall's tau between true and fitted values of the latest evaluations, smoothed. That is bold: the model has
seen these values. With little to spend boldness pays (left-out values trust too late); with much it ends in the wrong
minimum, and trust is bounded by what predictions made beforehand have earned.
"""

import math

import numpy as np

from l2e.portfolio.policy import CROSS_TERMS_UP_TO, Policy, Reach
from l2e.portfolio.quadratic import RADIUS, Quadratic, fit_quadratic, minimiser_within, terms_of
from l2e.portfolio.run import Run

JUDGED = 12
"""Latest evaluations on which a fit is judged, or a population if that is more."""

MORE_POINTS = 4
"""Points beyond the dimension from which on a fit is tried."""

ENOUGH_PER_DIMENSION = 10
"""A model is given up only if it was fitted to more points than this."""

SPACING, SPACING_DIAGONAL = 80, 40
"""Coefficients for each new point between two fits, with and without cross terms."""

MOST_TURN = 3.0
"""Axes of the distribution are changed by no more than this factor at once."""

SIGNS = np.asarray([-1.0, 1.0])
"""Of the errors by which values are moved for a model that could be true as well."""

LONG_AGO = -(10**9)


def spacing(dimension: int) -> float:
    """New points between two fits: a larger fit waits for more, so that its cost per evaluation stays bounded."""
    terms = terms_of(dimension)
    return terms / SPACING if dimension <= CROSS_TERMS_UP_TO else (terms / SPACING_DIAGONAL) ** 2


class Surrogate:
    """Fits, judges and applies the quadratic model of one evolutionary search.

    The model lives in the whitened frame u = (sigma M)^-1 (x - m) of the distribution at the time of its fit.

    **Arguments:** `policy`: the decisions; `reach`: how far a fit looks; `margin`: by how much trust may exceed what
    predictions made beforehand have earned; if infinite, they are not asked.
    """

    def __init__(self, policy: Policy, reach: Reach, margin: float = math.inf) -> None:
        self._policy, self._reach, self._margin = policy, reach, margin
        self._predicted: list[tuple[float, float]] = []  # and what then was true
        self.tau = 0.0
        self.model: Quadratic | None = None
        self.fresh = False  # the model was fitted for this generation
        self._mean = np.empty(0)
        self._inverse = np.empty(0)
        self._fitted_at = LONG_AGO
        self._rest = 0
        self._next_rest = policy.rest[0]

    def fit(self, run: Run, mean: np.ndarray, matrix: np.ndarray, population: int) -> bool:
        """Bring the model up to date for a distribution; whether there is one to be used."""
        self.fresh = False
        if self._rest > 0:
            self._rest -= 1
            return False
        if self.model is not None and run.used - self._fitted_at < spacing(len(mean)):
            return True
        points, values, age = run.memory()
        if len(values) < len(mean) + MORE_POINTS:
            return False
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return False
        model = fit_quadratic((points - mean) @ inverse.T, values, age, self._reach)
        if model is None:
            return False
        self.model, self._mean, self._inverse = model, mean.copy(), inverse
        self.fresh, self._fitted_at = True, run.used
        self._judge(model, population, len(values) > ENOUGH_PER_DIMENSION * len(mean))
        return True

    def _judge(self, model: Quadratic, population: int, enough: bool) -> None:
        policy = self._policy
        latest = np.argsort(model.age)[: max(population, JUDGED)]
        tau = kendall(model.fitted[latest], model.values[latest])
        if len(self._predicted) >= policy.trust_predictions[0]:
            before, after = np.asarray(self._predicted[-len(latest) :]).T
            tau = min(tau, kendall(before, after) + self._margin)
        self.tau = policy.trust_smoothing * self.tau + (1 - policy.trust_smoothing) * tau
        if enough and max(self.tau, tau) < policy.give_up_below:
            self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, policy.rest[1])

    def minimiser(self) -> np.ndarray:
        """The fresh model's minimiser in its trust region, in the whitened frame it was fitted in."""
        assert self.model is not None
        return self.model.minimiser

    def minimiser_in(self, mean: np.ndarray, matrix: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """The model's minimiser in the trust region of another frame, and there.

        **Arguments:** `mean`, `matrix`: of the frame; `rng`: for the minimiser of a model that could be true as well.
        """
        assert self.model is not None
        slope, hessian = self.model.linear, self.model.hessian
        if rng is not None:
            slope, hessian = self.model.another(rng.choice(SIGNS, len(self.model.target)))
        turn, place = self._inverse @ matrix, self._inverse @ (mean - self._mean)
        squares, axes = np.linalg.eigh(turn.T @ hessian @ turn)
        return minimiser_within(turn.T @ (slope + hessian @ place), squares, axes, RADIUS * math.sqrt(len(mean)))

    def predict(self, points: np.ndarray) -> np.ndarray:
        """The model's values, on the scale of f."""
        assert self.model is not None
        return self.model.value((points - self._mean) @ self._inverse.T)

    def learn(self, predicted: np.ndarray, true: np.ndarray) -> None:
        """Compare predictions with what turned out; failures are no values."""
        if math.isfinite(self._margin):
            pairs = zip(predicted.tolist(), true.tolist(), strict=True)
            kept = self._policy.trust_predictions[1]
            self._predicted = [*self._predicted, *(pair for pair in pairs if math.isfinite(pair[1]))][-kept:]

    def evaluations(self, population: int) -> int:
        """How many points of a generation are truly evaluated."""
        none_below, full_above = self._policy.trust_none_below, self._policy.trust_full_above
        earned = min(max((self.tau - none_below) / (full_above - none_below), 0.0), 1.0)
        return max(min(self._policy.least_evaluated, population), round(population + (1 - population) * earned))

    def shape(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Axes and factors that turn the frame towards the inverse root of the Hessian, as far as it is trusted."""
        if self.model is None or not self.fresh or self.tau < self._policy.shape_above or not self.model.full:
            return None
        squares, axes = self.model.squares, self.model.axes
        if squares[0] <= 0:
            return None
        logs = -0.5 * np.log(squares)
        return axes, np.clip(np.exp(logs - logs.mean()), 1 / MOST_TURN, MOST_TURN) ** self.tau


def kendall(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b: concordant minus discordant pairs, over the pairs that are not tied; 0 if all are.

    On a dozen numbers it takes 10 microseconds, scipy's 600.
    """
    a, b = (np.sign(x[:, None] - x) for x in (first, second))
    size = math.sqrt(np.count_nonzero(a) * np.count_nonzero(b))  # each pair twice, above and below the line
    tau = float(np.vdot(a, b)) / size if size > 0 else 0.0
    return 0.0 if math.isnan(tau) else tau

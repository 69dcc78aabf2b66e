"""A second model for the trust-region search: a quadratic fitted to all near evaluations, beside the one through few.

The quadratic through 2 D + 1 points forgets what it replaces, which is good where the function is rough, and slow where
it is a quadratic. One that all coefficients are fitted for needs more points, and is then exact on a quadratic. So both
predict every step beforehand, and the fitted one is followed while it is the better prophet.
"""

import math
from typing import NamedTuple

import numpy as np

from l2e.portfolio.policy import Reach
from l2e.portfolio.quadratic import Quadratic, fit_quadratic, terms_of
from l2e.portfolio.run import Run

REACH = Reach(1.4, 5.0)
"""How far the fit looks, in radii of the trust region."""

SPACING = 20
"""Coefficients for each new point between two fits."""

FADING = 0.5
"""How much of the smoothed errors stays at each step."""

CONVINCING, SURE = 0.6, 0.1
"""The fit is followed if its error is below the first number and that of the other model; below the second, steps that
are short against the distance between points are worth an evaluation."""

LARGEST_ERROR = 10.0
LEAST = 1e-300
"""Errors are relative to the true change, which counts as at least this, and no larger than the first."""


class Local(NamedTuple):
    """A fit, and the point and the unit of length that it was made with."""

    model: Quadratic
    base: np.ndarray
    scale: float

    def value(self, x: np.ndarray) -> float:
        """Over the best value that was fitted; below it as far as the model goes."""
        raised = float(self.model.predict(((x - self.base) / self.scale)[None])[0])
        return math.copysign(abs(raised) ** (1 / self.model.power), raised)

    def slope(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian at `x`, of the power of the value that was fitted."""
        hessian = self.model.hessian
        return (self.model.linear + hessian @ (x - self.base) / self.scale) / self.scale, hessian / self.scale**2


class SecondModel:
    """The fit, and how well both models predicted the latest steps."""

    def __init__(self) -> None:
        self.local: Local | None = None
        self.errors = np.ones(2)
        """Of the model through few points, and of the fit: 0 is exact, 1 is no use."""
        self._fitted_at = -math.inf

    def update(self, run: Run, x: np.ndarray, radius: float) -> None:
        """Fit again, if there are new points enough, and enough of all."""
        terms = terms_of(len(x))
        if run.used - self._fitted_at < terms / SPACING:
            return
        points, values, age = run.memory()
        if len(values) <= terms:
            return
        self._fitted_at = run.used
        model = fit_quadratic((points - x) / radius, values, age, REACH)
        self.local = Local(model, x.copy(), radius) if model is not None and model.full else None

    @property
    def is_followed(self) -> bool:
        """Whether the next step is the fit's."""
        return self.local is not None and self.errors[1] < min(CONVINCING, self.errors[0])

    @property
    def is_sure(self) -> bool:
        """Whether it is followed and nearly exact."""
        return self.is_followed and self.errors[1] < SURE

    def gain(self, x: np.ndarray, s: np.ndarray) -> float:
        """What the fit promises of a step."""
        return 0.0 if self.local is None else self.local.value(x) - self.local.value(x + s)

    def judge(self, promised: tuple[float, float], gain: float) -> None:
        """Compare what both promised of a step with what it gained."""
        if self.local is None:
            return
        misses = np.abs(np.subtract(promised, gain)) / max(abs(gain), LEAST)
        misses = np.where(np.isnan(misses), LARGEST_ERROR, np.minimum(misses, LARGEST_ERROR))
        self.errors = FADING * self.errors + (1 - FADING) * misses

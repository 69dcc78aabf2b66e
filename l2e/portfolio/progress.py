"""Running statistics of a quasi-Newton search, the inputs of the gate."""

import math

import numpy as np

FADING = 0.7
"""How much of a smoothed number stays at each step."""

WORST_DEFECT = 2.0
"""Defects of the trapezoid rule count up to this."""

LEAST = 1e-300
"""Divisors are at least this."""


class Progress:
    """A few numbers about the latest steps.

    **Arguments:** `x`: where the search began.
    """

    def __init__(self, x: np.ndarray):
        self.first_x = x.copy()
        self.first_slope = 0.0
        """Length of the first gradient."""
        self.trials = 1.0
        """Points that a line search tries, smoothed."""
        self.kept = 1.0
        """The last gain over what the model had promised."""
        self.cosine = 0.0
        """Of the angle between the last two gradients."""
        self.defects: list[float] = []
        """Of each step, how far its change of the value is from what the slopes at its ends say, as a ratio."""

    def tried(self, trials: int) -> None:
        """A line search has come to its n-th point."""
        self.trials = FADING * self.trials + (1 - FADING) * trials

    def gained(self, gain: float, promised: float) -> None:
        """A step was made; `promised` is infinite while there is no model."""
        if math.isfinite(promised):
            self.kept = gain / max(promised, LEAST)

    def turned(self, before: np.ndarray | None, after: np.ndarray) -> None:
        """The gradient after a step, and the one before it."""
        if before is not None and np.isfinite(after).all():
            sizes = float(np.linalg.norm(before) * np.linalg.norm(after))
            self.cosine = float(before @ after) / max(sizes, LEAST)

    def stepped(self, step: np.ndarray, gain: float, before: np.ndarray | None, after: np.ndarray) -> None:
        """A step was made between two gradients; the trapezoid rule says how much it should have gained."""
        if before is None or not np.isfinite(after).all():
            return
        first, last = float(before @ step), float(after @ step)
        size = (abs(first) + abs(last)) / 2
        self.defects.append(min(abs(gain + (first + last) / 2) / max(size, LEAST), WORST_DEFECT))

    def sloped(self, gradient: np.ndarray) -> None:
        """A gradient was read; the first one is the measure of the others."""
        if self.first_slope == 0.0:
            self.first_slope = float(np.linalg.norm(gradient))

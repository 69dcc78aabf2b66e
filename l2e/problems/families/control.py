"""The control: functions that have nothing in common but their box. No method may gain from the others here."""

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

DIMENSION = 10
SHAPES = 6


class Unrelated:
    """A turned and shifted function, of a shape, a condition and a scale that the seed draws."""

    def __init__(self, rng: np.random.Generator):
        self._shape = int(rng.integers(SHAPES))
        self._at = rng.uniform(-4, 4, DIMENSION)
        self._turn = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0]
        decades = rng.uniform(1, 6)
        self._scales = 10 ** (decades * rng.permutation(DIMENSION) / (DIMENSION - 1))
        self._height = 10 ** rng.uniform(-1, 3)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        z = (points - self._at) @ self._turn
        return self._height * self._value(z)

    def _value(self, z: np.ndarray) -> np.ndarray:
        if self._shape == 0:  # ellipsoid
            return (self._scales * z**2).sum(axis=1)
        if self._shape == 1:  # valley
            y = 0.5 * z + 1
            return (100 * (y[:, 1:] - y[:, :-1] ** 2) ** 2 + (1 - y[:, :-1]) ** 2).sum(axis=1)
        if self._shape == 2:  # sharp ridge
            return np.abs(z[:, 0]) + 100 * np.sqrt((z[:, 1:] ** 2).sum(axis=1))
        if self._shape == 3:  # waves
            return (z**2 + 10 * (1 - np.cos(2 * np.pi * z / 2))).sum(axis=1)
        if self._shape == 4:  # different powers
            return (np.abs(z) ** np.linspace(2, 6, DIMENSION)).sum(axis=1) ** 0.5
        return np.log1p(self._scales * z**2).sum(axis=1)  # narrow wells


def control(seed: int) -> HostFunction:
    """Unrelated functions in 10-D: members share nothing, so a model of them must be closed."""
    return member(Unrelated(drawn(7, seed)), [(-5.0, 5.0)] * DIMENSION)

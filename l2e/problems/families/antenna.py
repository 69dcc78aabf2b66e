"""Design of a linear antenna array: a narrow beam, low side lobes, two nulls."""

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

ELEMENTS = 8
ANGLES = 181
FLOOR = 1e-3
"""Amplitudes below this share of the beam's count as this: -60 dB."""


class Antenna:
    """One array: direction, spacing, beam width, two nulls and, in half of the members, an element that failed."""

    def __init__(self, rng: np.random.Generator):
        self._angles = np.linspace(-np.pi / 2, np.pi / 2, ANGLES)
        self._target = np.radians(rng.uniform(-30, 30))
        self._spacing = rng.uniform(0.42, 0.6)
        width = np.radians(rng.uniform(10, 16))
        self._outside = np.abs(self._angles - self._target) > width
        sides = np.flatnonzero(self._outside)
        self._nulls = rng.choice(sides, 2, replace=False)
        self._works = np.ones(ELEMENTS)
        if rng.random() < 0.5:
            self._works[rng.integers(ELEMENTS)] = 0.0
        self._sines = np.sin(self._angles) - np.sin(self._target)

    def pattern(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angles, and for each the amplitude over the beam's (n, angles)."""
        return self._angles, self._relative(points)[0]

    def _relative(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Amplitudes over the beam's by angle, and the beam's own (n, 1)."""
        amplitudes, shifts = points[:, :ELEMENTS] * self._works, points[:, ELEMENTS:]
        places = self._spacing * (np.arange(ELEMENTS) - (ELEMENTS - 1) / 2 + shifts)
        phases = 2 * np.pi * places[:, :, None] * self._sines
        real = np.einsum("ne,nea->na", amplitudes, np.cos(phases))
        imaginary = np.einsum("ne,nea->na", amplitudes, np.sin(phases))
        beam = amplitudes.sum(axis=1, keepdims=True)
        return np.hypot(real, imaginary) / np.maximum(beam, FLOOR), beam

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The highest side lobe and the nulls, in decibels below the beam over ten; weak beams cost."""
        relative, beam = self._relative(points)
        side = 20 * np.log10(np.maximum(relative[:, self._outside].max(axis=1), FLOOR))
        null = 20 * np.log10(np.maximum(relative[:, self._nulls].max(axis=1), FLOOR))
        weak = np.maximum(0.4 - beam[:, 0] / ELEMENTS, 0)
        return side / 10 + np.maximum(null + 40, 0) / 20 + 20 * weak


def antenna(seed: int) -> HostFunction:
    """Array of eight elements in 16-D: members differ in direction, spacing, beam width, nulls and a failed element.

    Coordinates are eight amplitudes and eight shifts of position. A maximum over lobes: kinks and many minima.
    """
    return member(Antenna(drawn(2, seed)), [(0.05, 1.0)] * ELEMENTS + [(-0.35, 0.35)] * ELEMENTS)

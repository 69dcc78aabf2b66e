"""A pendulum in a context: gravity, length, mass, friction and torque vary; twelve numbers are the controller."""

from collections.abc import Iterator

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

STEPS, SECONDS = 100, 0.06
DIMENSION = 12
FAMILY = 5
"""Its number among the families, from which members are drawn."""


class Pendulum:
    """One pendulum, as drawn by a seed; its torque alone does not lift it."""

    def __init__(self, rng: np.random.Generator):
        self._gravity, self._length = rng.uniform(7, 13), rng.uniform(0.7, 1.4)
        self._mass, self._friction = rng.uniform(0.6, 1.5), rng.uniform(0.0, 0.15)
        self._torque = rng.uniform(0.35, 0.75) * self._mass * self._gravity * self._length

    @property
    def context(self) -> tuple[float, float, float, float, float]:
        """Gravity, length, mass, friction and torque."""
        return self._gravity, self._length, self._mass, self._friction, self._torque

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Mean over time of angle, spin and effort; one controller below and one near the top, with a soft switch."""
        cost = np.zeros(len(points))
        for angle, spin, effort in self.swing(points):
            cost += 1 - np.cos(angle) + 0.02 * spin * spin + 0.05 * effort * effort
        return cost / STEPS

    def swing(self, points: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Angle (0 is upright), spin and effort after each step, one of each for every controller."""
        n = len(points)
        angle, spin = np.full(n, np.pi - 0.05), np.zeros(n)
        inertia = self._mass * self._length**2
        features = np.empty((n, 5))
        for _ in range(STEPS):
            sine, cosine = np.sin(angle), np.cos(angle)
            features[:, 0], features[:, 1], features[:, 2], features[:, 3] = sine, cosine, spin / 4, spin * cosine / 4
            features[:, 4] = spin * (spin * spin / 8 - 1) / 4
            top = 1 / (1 + np.exp(-4 * (points[:, 10] + points[:, 11] * cosine)))
            below, near = (features * points[:, :5]).sum(axis=1), (features * points[:, 5:10]).sum(axis=1)
            effort = np.tanh((1 - top) * below + top * near)
            push = self._torque * effort - self._friction * spin
            spin = np.clip(spin + SECONDS * (push / inertia + self._gravity / self._length * sine), -12, 12)
            angle = angle + SECONDS * spin
            yield angle, spin, effort


def pendulum(seed: int) -> HostFunction:
    """Pendulum swing-up in 12-D: members differ in gravity, length, mass, friction and torque."""
    return member(Pendulum(drawn(FAMILY, seed)), [(-4.0, 4.0)] * DIMENSION)

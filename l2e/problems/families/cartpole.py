"""Swinging up a pole on a cart by a small network: 120 steps, 30 weights."""

from collections.abc import Iterator

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

STEPS, SECONDS = 120, 0.05
HIDDEN, INPUTS = 4, 5
DIMENSION = INPUTS * HIDDEN + HIDDEN + HIDDEN + 2
TRACK, GRAVITY = 2.4, 9.81


class CartPole:
    """One cart: masses, length and friction as drawn by a seed."""

    def __init__(self, rng: np.random.Generator):
        self._cart, self._pole = rng.uniform(0.6, 1.6), rng.uniform(0.08, 0.3)
        self._length, self._friction = rng.uniform(0.35, 0.75), rng.uniform(0.0, 0.15)
        self._push = rng.uniform(9, 14)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Mean over time of how far the pole is from upright and the cart from the middle; 2 for a pole that hangs."""
        cost = np.zeros(len(points))
        for step, (x, angle, spin) in enumerate(self.swing(points)):
            late = 1.0 + (step >= STEPS // 2)
            cost += late * (1 - np.cos(angle) + 0.1 * x * x + 0.002 * spin * spin)
        return cost / (1.5 * STEPS)

    def swing(self, points: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Place of the cart, angle of the pole (0 is upright) and its spin after each step, for every network."""
        n, split = len(points), INPUTS * HIDDEN
        weights = points[:, :split].reshape(n, INPUTS, HIDDEN)
        shifts, out = points[:, split : split + HIDDEN], points[:, split + HIDDEN : split + 2 * HIDDEN]
        bias, gain = points[:, -2], np.exp(points[:, -1] / 2)
        x, speed, angle, spin = np.zeros(n), np.zeros(n), np.full(n, np.pi), np.zeros(n)
        seen = np.empty((n, 1, INPUTS))
        total, arm = self._cart + self._pole, self._pole * self._length
        for _ in range(STEPS):
            sine, cosine = np.sin(angle), np.cos(angle)
            seen[:, 0, 0], seen[:, 0, 1], seen[:, 0, 2], seen[:, 0, 3], seen[:, 0, 4] = x, speed, sine, cosine, spin
            hidden = np.tanh((seen @ weights)[:, 0] + shifts)
            force = self._push * np.tanh(gain * ((hidden * out).sum(axis=1) + bias)) - self._friction * speed
            drive = (force + arm * spin * spin * sine) / total
            turn = (GRAVITY * sine - cosine * drive) / (self._length * (4 / 3 - self._pole * cosine * cosine / total))
            speed = speed + SECONDS * (drive - arm * turn * cosine / total)
            spin = np.clip(spin + SECONDS * turn, -25, 25)
            x = x + SECONDS * speed
            hit = np.abs(x) > TRACK
            x, speed = np.clip(x, -TRACK, TRACK), np.where(hit, 0.0, speed)
            angle = angle + SECONDS * spin
            yield x, angle, spin


def cartpole(seed: int) -> HostFunction:
    """Cart-pole swing-up by a 5-4-1 network in 30-D: members differ in masses, length, friction and the largest push.

    Coordinates are the weights of the network. Rough, with many minima.
    """
    return member(CartPole(drawn(4, seed)), [(-3.0, 3.0)] * DIMENSION)

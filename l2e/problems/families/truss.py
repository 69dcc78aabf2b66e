"""Sizing of the ten-bar truss: the lightest bars that carry two load cases."""

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

BARS = ((2, 0), (0, 1), (3, 4), (4, 5), (0, 4), (1, 5), (2, 4), (3, 0), (0, 5), (4, 1))
"""Pairs of joints: two upper ones, free; two at the wall; two lower ones, free."""

FREE = (0, 1, 4, 5)
"""Joints that move; the others are held by the wall."""

MODULUS, DENSITY = 1e7, 0.1
AREAS = (-1.0, 1.6)
"""log10 of the smallest and largest cross-section, in square inches."""

PENALTY = 3.0
"""Of the logarithm of what exceeds the limits, in weights of a medium truss."""


class Truss:
    """Bars of one span, height, two load cases and limits, as drawn by a seed."""

    def __init__(self, rng: np.random.Generator):
        span, height = rng.uniform(300, 420), rng.uniform(260, 420)
        upper, lower = height, 0.0
        self._joints = np.array(
            [[span, upper], [2 * span, upper], [0, upper], [0, lower], [span, lower], [2 * span, lower]]
        )
        self._limits = rng.uniform(15_000, 32_000), rng.uniform(1.5, 3.0)
        self._loads = np.zeros((8, 2))
        for case in range(2):
            down = rng.uniform(40_000, 150_000, 2) * (rng.random(2) > 0.15)
            self._loads[5, case], self._loads[7, case] = -down
            self._loads[1 + 2 * case, case] = rng.uniform(0, 60_000)
            self._loads[2 * int(rng.integers(4)), case] += rng.uniform(-40_000, 40_000)
        self._geometry()

    def _geometry(self) -> None:
        first, second = np.array(BARS).T
        way = self._joints[second] - self._joints[first]
        self._lengths = np.linalg.norm(way, axis=1)
        place = {joint: 2 * i for i, joint in enumerate(FREE)}
        self._stretch = np.zeros((len(BARS), 8))
        for bar, (a, b) in enumerate(BARS):
            for joint, sign in ((a, -1.0), (b, 1.0)):
                if joint in place:
                    at = place[joint]
                    self._stretch[bar, at : at + 2] = sign * way[bar] / self._lengths[bar]
        self._medium = DENSITY * float(self._lengths.sum()) * 5.0

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Weight in that of a medium truss, and what exceeds the limits of stress and displacement."""
        areas = 10.0**points
        stiffness = np.einsum("bi,nb,bj->nij", self._stretch, MODULUS * areas / self._lengths, self._stretch)
        moved = np.linalg.solve(stiffness, np.broadcast_to(self._loads, (len(points), 8, 2)))
        stress = MODULUS * np.abs(np.einsum("bi,nic->nbc", self._stretch, moved)) / self._lengths[:, None]
        most_stress, most_moved = self._limits
        excess = np.maximum(stress / most_stress - 1, 0).sum(axis=(1, 2))
        excess += np.maximum(np.abs(moved) / most_moved - 1, 0).sum(axis=(1, 2))
        return DENSITY * areas @ self._lengths / self._medium + PENALTY * np.log1p(excess)


def truss(seed: int) -> HostFunction:
    """Ten-bar truss in 10-D: members differ in span, height, two load cases, allowed stress and displacement.

    Coordinates are log10 of the bars' cross-sections. Limits cost a kinked penalty.
    """
    return member(Truss(drawn(1, seed)), [AREAS] * len(BARS))

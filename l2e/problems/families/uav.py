"""Paths of a drone over drawn terrains: ten way-points around threats. The one family that computes with JAX."""

import numpy as np

from l2e.core.errors import require
from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

WAYPOINTS = 10
DIMENSION = 3 * WAYPOINTS


def uav(seed: int) -> HostFunction:
    """Path of a drone in 30-D: members differ in terrain, threats, start and end. Steps of 1e4, many minima.

    Coordinates are triples (distance, climb angle, azimuth) of ten way-points, each in the unit interval, because a
    member's own box depends on how far and in which direction it flies. Needs the extra `jax`; the problem behind a
    member is `l2e.problems.uav(terrain, seed)` with numbers that `terrain_of` gives.
    """
    require("jax", "jax")
    from l2e.problems._uav.suite import drawn_uav

    terrain, suite = terrain_of(seed)
    problem = drawn_uav(terrain, suite)

    def cost(points: np.ndarray) -> np.ndarray:
        return np.asarray(problem(problem.space.from_unit(points)))

    return member(cost, [(0.0, 1.0)] * DIMENSION)


def terrain_of(seed: int) -> tuple[int, int]:
    """Terrain and seed of the suite `uav` that make this member; none of them is in the suite's own 56."""
    drawn(8, seed)  # checks the seed
    return 1 + int(seed) % 56, 1 + int(seed) // 56

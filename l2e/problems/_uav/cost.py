"""What a path over a terrain costs: five terms, for a batch of paths at once.

Definitions and weights are those of the benchmark of Shehadeh and Kudela (2025), arXiv:2501.14503, in the form of the
platform that the L2E paper used, down to two oddities of it: the azimuth counts from the y axis when a path is laid
out but from the x axis in the bounds, and the ground under a path is looked up one cell further in x and y than the
ground under a way-point, so that it is unknown, and counts as too high, beyond 899.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.core.traced.types import Points, Values
from l2e.problems._bbob.transforms import root
from l2e.problems._uav.terrain import DANGER, DRONE, Numbers, Terrain

WAYPOINTS = 10
"""Way-points between start and end; each is a triple (distance, climb angle, azimuth) seen from the one before."""

PENALTY = 1e4
"""For what must not be: a collision, a way-point under the ground, a path through the ground."""

WEIGHTS = (5.0, 1.0, 10.0, 1.0, 1.0)
"""Of length, threats, altitude, turns and ground."""

SHARPEST = 45.0
"""Degrees up to which a turn, or a change of the climb angle, costs nothing."""

SAMPLES = 12
"""Points of each segment, both ends included, at which it must be above the ground."""


class Path(NamedTuple):
    """Paths as coordinates, from start to end: `altitude` is above the ground, `height` above sea level."""

    x: Float[Array, "n p"]
    y: Float[Array, "n p"]
    altitude: Float[Array, "n p"]
    height: Float[Array, "n p"]


class Terms(NamedTuple):
    """The five terms of the cost, before they are weighted."""

    length: Values
    threats: Values
    altitude: Values
    turns: Values
    ground: Values


def path(points: Points, terrain: Terrain) -> Path:
    """Lay out the paths that points of the search space stand for."""
    triples = points.reshape(len(points), WAYPOINTS, 3)
    distance, climb, azimuth = triples[..., 0], triples[..., 1], triples[..., 2]
    level = distance * jnp.cos(climb)
    steps = jnp.stack([level * jnp.sin(azimuth), level * jnp.cos(azimuth), distance * jnp.sin(climb)], axis=-1)
    place = jnp.broadcast_to(terrain.start, (len(points), 3))
    places = [place]
    for waypoint in range(WAYPOINTS):
        place = jnp.clip(place + steps[:, waypoint], terrain.lower, terrain.upper)
        places.append(place)
    x, y, altitude = jnp.moveaxis(jnp.stack([*places, jnp.broadcast_to(terrain.end, place.shape)], axis=1), -1, 0)
    row, column = (jnp.round(along).astype(jnp.int32) - 1 for along in (y, x))
    return Path(x, y, altitude, altitude + terrain.heights[row, column].astype(points.dtype))


def terms(way: Path, terrain: Terrain) -> Terms:
    """The terms of the cost of some paths."""
    return Terms(_length(way), _threats(way, terrain), _altitude(way, terrain), _turns(way), _ground(way, terrain))


def cost(each: Terms) -> Values:
    """The weighted sum of the terms."""
    return sum(weight * term for weight, term in zip(WEIGHTS, each, strict=True))  # pyright: ignore[reportReturnType]


def _length(way: Path) -> Values:
    steps = jnp.diff(jnp.stack([way.x, way.y, way.height]), axis=2)
    return jnp.sum(root(jnp.sum(steps * steps, axis=0)), axis=1)


def _threats(way: Path, terrain: Terrain) -> Values:
    """For each segment and threat: nothing far from it, a penalty inside it, and in between how near it is."""
    x, y = way.x[:, :-1, None], way.y[:, :-1, None]
    along = jnp.diff(way.x, axis=1)[..., None], jnp.diff(way.y, axis=1)[..., None]
    to_x, to_y, radius = jnp.asarray(terrain.threats).T
    to_x, to_y = to_x - x, to_y - y
    square = along[0] ** 2 + along[1] ** 2
    share = (to_x * along[0] + to_y * along[1]) / jnp.where(square > 0, square, 1)
    share = jnp.clip(share, 0, 1)
    distance = root((to_x - share * along[0]) ** 2 + (to_y - share * along[1]) ** 2)
    nearness = jnp.where(distance > radius + DRONE + DANGER, 0, radius + DRONE + DANGER - distance)
    return jnp.sum(jnp.where(distance < radius + DRONE, PENALTY, nearness), axis=(1, 2))


def _altitude(way: Path, terrain: Terrain) -> Values:
    """How far the way-points are from the middle of the allowed altitudes."""
    altitude = way.altitude[:, 1:-1]
    middle = (terrain.lower[2] + terrain.upper[2]) / 2
    return jnp.sum(jnp.where(altitude < 0, PENALTY, jnp.abs(altitude - middle)), axis=1)


def _turns(way: Path) -> Values:
    """Turns and changes of the climb angle that are too sharp; segments that do not move in the plane are passed over.

    A segment of length 0 in the plane takes the direction of the last one before it that moves when it is the first
    of a pair, and of the next one that moves when it is the second.
    """
    steps = jnp.stack([jnp.diff(way.x, axis=1), jnp.diff(way.y, axis=1)], axis=-1)
    first, second = _filled(steps)[:, :-1], _filled(steps[:, ::-1])[:, ::-1][:, 1:]
    crossed = jnp.abs(first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0])
    turn = jnp.arctan2(crossed, jnp.sum(first * second, axis=-1))
    rise = jnp.diff(way.height, axis=1)
    climb = jnp.arctan2(rise[:, 1:], jnp.hypot(second[..., 0], second[..., 1]))
    climb = climb - jnp.arctan2(rise[:, :-1], jnp.hypot(first[..., 0], first[..., 1]))
    angles = jnp.abs(jnp.stack([turn, climb])) * (180 / np.pi)
    return jnp.sum(jnp.where(angles > SHARPEST, angles, 0), axis=(0, 2))


def _filled(steps: Float[Array, "n s 2"]) -> Float[Array, "n s 2"]:
    """Steps in which every zero is replaced by the last step before it that is none."""
    filled = [steps[:, 0]]
    for number in range(1, steps.shape[1]):
        step = steps[:, number]
        filled.append(jnp.where(jnp.all(step == 0, axis=-1, keepdims=True), filled[-1], step))
    return jnp.stack(filled, axis=1)


def _ground(way: Path, terrain: Terrain) -> Values:
    """A penalty unless all samples of all segments are above the ground."""
    share = (np.arange(SAMPLES) / (SAMPLES - 1)).astype(way.x.dtype)
    x, y, height = (
        along[:, :-1, None] + share * jnp.diff(along, axis=1)[..., None] for along in (way.x, way.y, way.height)
    )
    last = np.asarray(terrain.heights.shape) - 1
    known = (x <= last[1]) & (y <= last[0])
    above = known & (height > _interpolated(terrain.heights, x, y))
    return jnp.where(jnp.all(above, axis=(1, 2)), 0, PENALTY).astype(way.x.dtype)


def _interpolated(heights: Float[Numbers, "r c"], x: Float[Array, "*shape"], y: Float[Array, "*shape"]) -> Array:
    """Heights between the whole coordinates, bilinear; the first height is that at x = 0 and y = 0."""
    rows, columns = heights.shape
    row = jnp.clip(jnp.floor(y).astype(jnp.int32), 0, rows - 2)
    column = jnp.clip(jnp.floor(x).astype(jnp.int32), 0, columns - 2)
    up, right = y - row, x - column
    corner = [[heights[row + i, column + j].astype(x.dtype) for j in (0, 1)] for i in (0, 1)]
    lower = corner[0][0] + right * (corner[0][1] - corner[0][0])
    upper = corner[1][0] + right * (corner[1][1] - corner[1][0])
    return lower + up * (upper - lower)

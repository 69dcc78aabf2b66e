"""Cheap looks at a landscape on which the router decides: separable or not, how pairs interact, how rugged."""

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from l2e.portfolio.run import HALF, Batches, Run

SEPARABLE_BELOW = 1e-7
"""Mixed differences below this share of the largest difference are rounding."""

BEND_DECADES = 3.0
"""log10 of the share of variance that a parabola leaves is cut off at minus this."""

SMALLEST_SHARE = 1e-300
LINE_POINTS = 12
SEPARABILITY_PROBES = 3
INTERACTION_PAIRS = 8
LINES, POINTS_PER_LINE = 3, 20
"""Of the look for ruggedness."""


def is_separable(
    run: Run, centre: np.ndarray, value: float, probes: int = SEPARABILITY_PROBES
) -> Generator[np.ndarray, np.ndarray, bool]:
    """Whether f(x + a + b) - f(x + a) - f(x + b) + f(x) vanishes for steps a, b in disjoint random coordinates.

    Three evaluations for each probe, and none after the first violation.
    """
    d = len(centre)
    if d < 2:
        return True
    for _ in range(probes):
        first = np.zeros(d, bool)
        first[run.rng.permutation(d)[: max(1, d // 2)]] = True
        away = run.rng.uniform(-HALF, HALF, d)
        a, b = np.where(first, away, centre), np.where(first, centre, away)
        values = yield from run.evaluate(np.stack([a, b, away]))
        if not _interaction(value, values) < SEPARABLE_BELOW:
            return False
    return True


def pair_interactions(run: Run, pairs: int = INTERACTION_PAIRS) -> Batches:
    """|f_ij - f_i - f_j + f_0| / max |f. - f_0| for random pairs of coordinates, from random points."""
    d = run.dimension
    found = []
    for _ in range(pairs):
        base, other = run.rng.uniform(-HALF, HALF, (2, d))
        i, j = run.rng.permutation(d)[:2] if d > 1 else (0, 0)
        points = np.stack([base, base, base, base])
        points[[1, -1], i] = other[i]
        points[[2, -1], j] = other[j]
        values = yield from run.evaluate(points)
        found.append(_interaction(values[0], values[1:]))
    return np.asarray(found)


def ruggedness(run: Run, lines: int = LINES, points: int = POINTS_PER_LINE) -> Generator[np.ndarray, np.ndarray, float]:
    """The mean number of changes of direction of f along random lines through the cube."""
    d = run.dimension
    ends = run.rng.uniform(-HALF, HALF, (lines, 2, d))
    along = np.linspace(0, 1, points)[None, :, None]
    grid = ends[:, :1] * (1 - along) + ends[:, 1:] * along
    values = yield from run.evaluate(grid.reshape(-1, d))
    return float(_turns(values.reshape(lines, points)).mean())


class Line(NamedTuple):
    """What a line through the cube shows: how often f changes direction, and how far it is from a parabola."""

    turns: int
    bend: float  # log10 of the share of the variance that a parabola leaves, from -3 to 0


NO_LINE = Line(0, -BEND_DECADES)
"""Nothing was looked at."""


def look_along_line(run: Run, centre: np.ndarray, points: int = LINE_POINTS) -> Generator[np.ndarray, np.ndarray, Line]:
    """One random line through a point, from face to face: a dozen evaluations."""
    direction = run.rng.standard_normal(len(centre))
    with np.errstate(divide="ignore"):
        ahead = np.min(np.where(direction > 0, HALF - centre, HALF + centre) / np.abs(direction))
        behind = np.min(np.where(direction > 0, HALF + centre, HALF - centre) / np.abs(direction))
    values = yield from run.evaluate(centre + np.linspace(-behind, ahead, points)[:, None] * direction)
    return Line(int(_turns(values)), _bend(values))


def _bend(values: np.ndarray) -> float:
    along = np.linspace(-1, 1, len(values))
    if not np.isfinite(values).all() or not np.ptp(values) > 0:
        return NO_LINE.bend
    design = np.stack([np.ones_like(along), along, along**2], axis=1)
    left = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    variance = float(((values - values.mean()) ** 2).sum())
    if not variance > 0:  # differences whose squares are 0
        return NO_LINE.bend
    share = float(left @ left) / variance
    return min(max(math.log10(max(share, SMALLEST_SHARE)), -BEND_DECADES), 0.0)


def _turns(values: np.ndarray) -> np.ndarray:
    """How often values along the last axis change direction."""
    rising = np.diff(values, axis=-1) > 0
    return (rising[..., 1:] != rising[..., :-1]).sum(axis=-1)


def _interaction(base: float, values: np.ndarray) -> float:
    """Of the values at x, and at x + a, x + b, x + a + b."""
    if not (np.isfinite(base) and np.isfinite(values).all()):
        return 1.0
    size = np.abs(values - base).max()
    return float(abs(values[2] - values[0] - values[1] + base) / size) if size > 0 else 0.0

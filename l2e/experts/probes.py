"""Cheap looks at a landscape on which the router decides: separable or not, how pairs interact, how rugged."""

import numpy as np

from l2e.experts.run import HALF, Batches, Run

SEPARABLE_BELOW = 1e-7


def is_separable(run: Run, centre: np.ndarray, value: float, probes: int = 3) -> Batches:
    """Whether f(x + a + b) - f(x + a) - f(x + b) + f(x) vanishes for steps a, b in disjoint random coordinates.

    Three evaluations for each probe, and none after the first violation.
    """
    d = len(centre)
    if d < 2:
        return np.asarray(True)
    for _ in range(probes):
        first = np.zeros(d, bool)
        first[run.rng.permutation(d)[: max(1, d // 2)]] = True
        away = run.rng.uniform(-HALF, HALF, d)
        a, b = np.where(first, away, centre), np.where(first, centre, away)
        values = yield from run.evaluate(np.stack([a, b, away]))
        if not _interaction(value, values) < SEPARABLE_BELOW:
            return np.asarray(False)
    return np.asarray(True)


def pair_interactions(run: Run, pairs: int = 8) -> Batches:
    """|f_ij - f_i - f_j + f_0| / max |f. - f_0| for random pairs of coordinates, from random points."""
    d = run.dimension
    found = []
    for _ in range(pairs):
        base, other = run.rng.uniform(-HALF, HALF, (2, d))
        i, j = run.rng.permutation(d)[:2] if d > 1 else (0, 0)
        points = np.stack([base] * 4)
        points[[1, 3], i] = other[i]
        points[[2, 3], j] = other[j]
        values = yield from run.evaluate(points)
        found.append(_interaction(values[0], values[1:]))
    return np.asarray(found)


def ruggedness(run: Run, lines: int = 3, points: int = 20) -> Batches:
    """The mean number of changes of direction of f along random lines through the cube."""
    d = run.dimension
    ends = run.rng.uniform(-HALF, HALF, (lines, 2, d))
    along = np.linspace(0, 1, points)[None, :, None]
    grid = ends[:, :1] * (1 - along) + ends[:, 1:] * along
    values = yield from run.evaluate(grid.reshape(-1, d))
    return np.asarray(_turns(values.reshape(lines, points)).mean())


def is_rugged_line(run: Run, centre: np.ndarray, points: int = 12) -> Batches:
    """Whether f changes direction often along one random line through a point: a dozen evaluations."""
    direction = run.rng.standard_normal(len(centre))
    with np.errstate(divide="ignore"):
        ahead = np.min(np.where(direction > 0, HALF - centre, HALF + centre) / np.abs(direction))
        behind = np.min(np.where(direction > 0, HALF + centre, HALF - centre) / np.abs(direction))
    values = yield from run.evaluate(centre + np.linspace(-behind, ahead, points)[:, None] * direction)
    return np.asarray(_turns(values) > 3)


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

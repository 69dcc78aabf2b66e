"""Line searches of quasi-Newton: what both kinds share, and the one for several workers.

A serial search tries long steps first and backtracks, since a refused trial costs one evaluation. With several workers
the differences at a trial are evaluated along with it, so a refused trial costs a gradient: there the first steps are
shorter, a search begins near the place where the last one ended, and the slope at a refused trial is made use of.
"""

import math
from collections.abc import Callable, Generator
from typing import NamedTuple, TypeAlias

import numpy as np

from l2e.portfolio.parallel import spare
from l2e.portfolio.progress import Progress
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run
from l2e.portfolio.secants import Curvature, Pair

ARMIJO = 1e-4
"""A step is accepted if it gains this share of what the slope promises."""

TRIALS = 9
"""Points that a line search tries."""

SHORTER, SHORTER_FIRST, LONGEST_CUT, AFTER_FAILURE = 0.05, 0.01, 0.5, 0.2
"""A refused step is cut to the vertex of a parabola within these factors; by the last one where the value failed."""

SENSELESS = 0.1
"""Where no step leads down, differences were noise if the first one changed the value by less than this ratio of what
the slope promised; else the start is a minimum, and the slope rounding."""

STEEP, FEW_STEEP = 1e-3, 0.5
"""A slope counts as steep above this share of the steepest; if no more than this share of the coordinates is steep
where differences look like noise, these coordinates have jumps."""

FIRST_PLACES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""With several workers, places on the first line of all that are tried along with its end."""

OTHER_PLACES = (0.3, 2.0, 0.1, 0.6, 4.0, 0.03, 1.4, 0.01)
"""Places that are tried along with a trial where workers would be idle, as factors of its place."""

MANY_WORKERS = 3
"""These places are tried if there are this many workers for each point of a trial with its differences."""

LONGER = 2.0
"""With several workers a search begins at most this many times farther than where the last one ended."""


class Found(NamedTuple):
    """An accepted point of a line search: its value, its place along the direction, the vertex over that place."""

    x: np.ndarray
    value: float
    place: float
    vertex: float


Search: TypeAlias = Generator[np.ndarray, np.ndarray, Found | Reason]
"""A line search: what it found, or why nothing."""

Stencil: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""The points of the differences at a point, and their steps."""


class Line(NamedTuple):
    """A line from a point whose value and slope are known, and how far along it the search begins."""

    x: np.ndarray
    f: float
    g: np.ndarray
    direction: np.ndarray
    begin: float = 1.0

    def at(self, places: float | np.ndarray) -> np.ndarray:
        """Points of the line, projected onto the cube."""
        return np.clip(self.x + np.multiply.outer(places, self.direction), -HALF, HALF)


def unsmooth(g: np.ndarray) -> Reason:
    """Differences that mean nothing: noise if they are large along most coordinates, else jumps along the few."""
    steep = np.abs(g) > STEEP * np.abs(g).max()
    return Reason.JUMPS if np.mean(steep) <= FEW_STEEP else Reason.NOISY


def vertex_of(change: float, slope: float) -> float:
    """Of the parabola through a step, over the step."""
    return -slope / (2 * (change - slope)) if change > slope else np.inf


def shortened(value: float, minimum: float, trial: int) -> float:
    """By which factor a refused step is cut: to where a minimum is expected, within bounds, or blindly.

    **Arguments:** `value`: at the step; `minimum`: expected so far along the step, NaN if nobody knows; `trial`: its
    number.
    """
    if not np.isfinite(value) or math.isnan(minimum):
        return AFTER_FAILURE
    return float(np.clip(minimum, SHORTER if trial else SHORTER_FIRST, LONGEST_CUT))


def search_with_workers(
    run: Run, line: Line, stencil: Stencil, curvature: Curvature | None, progress: Progress
) -> Search:
    """Backtracking with the differences at each trial evaluated along with it.

    **Arguments:** `stencil`: of the differences; `curvature`: learns from refused trials, None on the first line of
    all; `progress`: is told of the trials.
    """
    place, steep = line.begin, False
    for trial in range(TRIALS):
        progress.tried(trial + 1)
        x = line.at(place)
        move = x - line.x
        slope = float(line.g @ move)
        if not move.any():
            return Reason.NO_DESCENT
        points, steps = stencil(x)
        places = place * np.asarray(_other_places(run.workers, len(points), curvature is None) if trial == 0 else ())
        alone = curvature is None and trial == 0  # where the first line ends nobody knows
        ahead = points[: 0 if alone else run.workers - 1 - len(places)]
        run.look_ahead(np.concatenate([line.at(places), ahead]))
        value = float((yield from run.evaluate(x))[0])
        change = value - line.f
        if trial == 0:
            steep = abs(change) < SENSELESS * abs(slope)
            if curvature is None and abs(change) < run.policy.noise_below * abs(slope):
                return unsmooth(line.g)  # a slope this steep over a step this long moved nothing
        vertex = vertex_of(change, slope)
        accepted = change <= ARMIJO * slope and slope < 0
        if len(places):
            other = yield from _best_of(run, line, places)
            if other is not None and (not accepted or (curvature is None and other.value < value)):
                return other
        if accepted:
            return Found(x, value, place, vertex)
        cut = shortened(value, vertex, trial)
        usable = np.isfinite(value) and not math.isnan(vertex)
        if curvature is not None and usable and len(ahead) == len(points) == len(x):
            there = ((yield from run.evaluate_aside(points)) - value) / steps  # known already
            if np.isfinite(there).all():
                minimum = cubic_minimum(change, slope, float(there @ move))
                cut = shortened(value, minimum, trial) if np.isfinite(minimum) else cut
                curvature.learn(Pair(move, there - line.g))
        place *= cut
    return unsmooth(line.g) if steep else Reason.NO_DESCENT


def cubic_minimum(change: float, slope: float, slope_there: float) -> float:
    """Where, from 0 to 1, the cubic is least that begins with a slope, and changes by so much up to a slope there; NaN
    where it has no minimum."""
    inner = slope + slope_there - 3 * change
    square = inner * inner - slope * slope_there
    if not 0 <= square < np.inf:
        return math.nan
    root = math.sqrt(square)
    below = slope_there - slope + 2 * root
    return 1 - (slope_there + root - inner) / below if below else math.nan


def _other_places(workers: int, differences: int, first: bool) -> tuple[float, ...]:
    """Places to try along with a trial, as factors of its place."""
    if first:
        return FIRST_PLACES[: workers - 1]
    busy = 1 + differences
    return OTHER_PLACES[: spare(busy, workers)] if workers >= MANY_WORKERS * busy else ()


def _best_of(run: Run, line: Line, places: np.ndarray) -> Generator[np.ndarray, np.ndarray, Found | None]:
    """The best of places that were evaluated along, if it is good enough to be accepted."""
    points = line.at(places)
    values = yield from run.evaluate(points)
    slopes = (points - line.x) @ line.g
    good = (values - line.f <= ARMIJO * slopes) & (slopes < 0)
    if not good.any():
        return None
    best = int(np.argmin(np.where(good, values, np.inf)))
    vertex = vertex_of(float(values[best]) - line.f, float(slopes[best]))
    return Found(points[best], float(values[best]), float(places[best]), vertex)

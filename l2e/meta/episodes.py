"""Episodes of the default method on the host: one search on one random landscape, and its score.

The score is the share of the targets f_opt + 10^[2..-8] that were reached within the budget. Many targets evenly spaced
in log10 make it a straight line in log10 of the gap between the first and the last one: that line is the score, so that
an episode that is a little better scores a little more.
"""

import functools
import math
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from l2e.core.problem import Optimum
from l2e.portfolio.run import HALF, Run, Steps
from l2e.problems._bbob.random import random_bbob
from l2e.problems.blends import BLENDS, draw_blend
from l2e.problems.landscapes import draw_landscape

FIRST, LAST = 2.0, -8.0
"""log10 of the largest and the smallest target."""

BEYOND = 0.2
"""How much a decade before the first target counts, against one behind it: some, so that there is a slope."""

NEAR = (-2.0, -0.5)
"""log10 of how far from the minimum a search begins that begins near it, as a share of half the cube."""

ROWS = 16
"""BBOB is compiled for at least so many points, and for powers of two."""


class Task(NamedTuple):
    """An episode without its searcher: the same task and searcher give the same score."""

    family: str  # of landscapes or blends, or bbob:f and a number
    dimension: int
    budget: int  # evaluations per dimension
    seed: tuple[int, ...]
    near: bool = False  # it begins near the minimum, as with a good guess, and not in the centre or anywhere


def gap_of(task: Task, search: Callable[[Run, np.ndarray], Steps]) -> float:
    """The distance to the optimal value that a search from the task's start leaves at the end of its budget."""
    rng = np.random.default_rng(task.seed)
    function, (x_opt, f_opt) = _problem(rng, task)
    start = np.zeros(task.dimension) if rng.random() < 0.5 else rng.uniform(-0.8 * HALF, 0.8 * HALF, task.dimension)
    if task.near:
        away = 10.0 ** rng.uniform(*NEAR) * rng.standard_normal(task.dimension)
        start = np.clip(x_opt + HALF * away, -HALF, HALF)
    budget = task.budget * task.dimension
    run = Run(task.dimension, budget, np.random.default_rng((*task.seed, 1)))
    with np.errstate(all="ignore"):  # failed evaluations are infinities, which experts compute with
        return spend(search(run, start), function, budget) - float(f_opt)


def score(gap: float) -> float:
    """The share of targets reached with this gap: 0 at the first, 1 at the last; below 0 before the first."""
    decades = FIRST - math.log10(min(max(gap, 10.0**LAST), 1e30))
    return decades / (FIRST - LAST) * (1.0 if decades >= 0 else BEYOND)


def spend(
    search: Generator[np.ndarray, np.ndarray, Any], function: Callable[[np.ndarray], np.ndarray], budget: int
) -> float:
    """Answer a search until the budget is used; the best value."""
    best, used = math.inf, 0
    points = next(search)
    while True:
        values = function(points)[: budget - used]
        best = min(best, float(values.min()))
        used += len(values)
        if used >= budget:
            return best
        points = search.send(values)


def _problem(rng: np.random.Generator, task: Task) -> tuple[Callable[[np.ndarray], np.ndarray], Optimum]:
    if task.family.startswith("bbob:f"):
        drawn = random_bbob(int(rng.integers(2**31)), int(task.family.removeprefix("bbob:f")), task.dimension)
        return functools.partial(in_rows, drawn), drawn.optimum
    draw = draw_blend if task.family in BLENDS else draw_landscape
    landscape = draw(rng, task.family, task.dimension)
    return functools.partial(landscape.values, np), landscape.optimum


def in_rows(problem: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
    """Padded to few sizes, so that little is compiled."""
    missing = max(ROWS, 1 << (len(points) - 1).bit_length()) - len(points)
    return problem(np.concatenate([points, np.repeat(points[-1:], missing, axis=0)]))[: len(points)]

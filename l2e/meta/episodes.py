"""Episodes of the default method on the host: a search with some weights on one random landscape, and its score.

The score is the share of the targets f_opt + 10^[2..-8] that were reached, averaged over moments of the search. Many
targets evenly spaced in log10 make it a straight line in log10 of the gap between the first and the last one: that
line is the score, so that an episode that is a little better scores a little more.
"""

import functools
import math
from collections.abc import Callable, Generator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from l2e.experts.residual import Network
from l2e.experts.router import Router
from l2e.experts.run import HALF, Run, Steps, finish
from l2e.experts.shrinking import Shrinking
from l2e.meta.landscapes import draw_landscape
from l2e.problem import Optimum
from l2e.problems.bbob_random import random_bbob

MOMENTS = ((0.25, 0.1), (0.4, 0.1), (0.55, 0.15), (0.7, 0.2), (0.85, 0.2), (1.0, 0.25))
"""Shares of the budget at which an episode is scored, and what each counts; several, as one is a matter of luck."""

FIRST, LAST = 2.0, -8.0
"""log10 of the largest and the smallest target."""

BEYOND = 0.2
"""How much a decade before the first target counts, against one behind it: some, so that there is a slope."""

NEAR = (-2.0, -0.5)
"""log10 of how far from the minimum a search begins that begins near it, as a share of half the cube."""

Mode = Literal["guided", "shrinking", "whole"]
"""What searches: the evolutionary search as the router runs it without numerical experts, the shrinking one alone, or
the whole of the router."""

MODES: tuple[Mode, ...] = get_args(Mode)
ROWS = 16
"""BBOB is compiled for at least so many points, and for powers of two."""


class Task(NamedTuple):
    """An episode without its weights: the same task and weights give the same score."""

    mode: Mode
    family: str  # of landscapes, or bbob:f and a number
    dimension: int
    budget: int  # evaluations per dimension
    seed: tuple[int, ...]
    near: bool = False  # it begins near the minimum, as with a good guess, and not in the centre or anywhere


def play(weights: np.ndarray | None, task: Task) -> float:
    """The score of an episode, with these weights or with none."""
    network = None if weights is None else Network(weights)
    gaps = gaps_of(task, lambda run, start: _search(task.mode, run, start, network))
    return sum(weight * score(gap) for gap, (_, weight) in zip(gaps, MOMENTS, strict=True))


def gaps_of(task: Task, search: Callable[[Run, np.ndarray], Steps]) -> list[float]:
    """What a search from the task's start leaves of its problem at each of the moments."""
    rng = np.random.default_rng(task.seed)
    function, (x_opt, f_opt) = _problem(rng, task)
    start = np.zeros(task.dimension) if rng.random() < 0.5 else rng.uniform(-0.8 * HALF, 0.8 * HALF, task.dimension)
    if task.near:
        away = 10.0 ** rng.uniform(*NEAR) * rng.standard_normal(task.dimension)
        start = np.clip(x_opt + HALF * away, -HALF, HALF)
    budget = task.budget * task.dimension
    run = Run(task.dimension, budget, np.random.default_rng((*task.seed, 1)))
    with np.errstate(all="ignore"):  # failed evaluations are infinities, which experts compute with
        return [value - float(f_opt) for value in spend(search(run, start), function, budget)]


def score(gap: float) -> float:
    """The share of targets reached with this gap: 0 at the first, 1 at the last; below 0 before the first."""
    decades = FIRST - math.log10(min(max(gap, 10.0**LAST), 1e30))
    return decades / (FIRST - LAST) * (1.0 if decades >= 0 else BEYOND)


def spend(
    search: Generator[np.ndarray, np.ndarray, Any], function: Callable[[np.ndarray], np.ndarray], budget: int
) -> list[float]:
    """Answer a search until the budget is used; the best value at each of the moments."""
    ends = [max(round(share * budget), 1) for share, _ in MOMENTS]
    best, used, found = math.inf, 0, []
    points = next(search)
    while True:
        values = function(points)
        while len(found) < len(ends) and used + len(values) >= ends[len(found)]:
            found.append(min(best, float(values[: ends[len(found)] - used].min())))
        if len(found) == len(ends):
            return found
        used += len(values)
        best = min(best, float(values.min()))
        points = search.send(values)


def _search(mode: Mode, run: Run, start: np.ndarray, network: Network | None) -> Steps:
    match mode:
        case "guided":
            return Router(numerical=False, separable=False, network=network).search(run, start)
        case "whole":
            return Router(network=network).search(run, start)
        case _:
            return _shrinking(run, network)


def _shrinking(run: Run, network: Network | None) -> Steps:
    while True:
        yield from finish(Shrinking(run.dimension, max(run.remaining, 1), run.rng, network), run)


def _problem(rng: np.random.Generator, task: Task) -> tuple[Callable[[np.ndarray], np.ndarray], Optimum]:
    if task.family.startswith("bbob:f"):
        drawn = random_bbob(int(rng.integers(2**31)), int(task.family.removeprefix("bbob:f")), task.dimension)
        return functools.partial(in_rows, drawn), drawn.optimum
    landscape = draw_landscape(rng, task.family, task.dimension)
    return functools.partial(landscape.values, np), landscape.optimum


def in_rows(problem: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
    """Padded to few sizes, so that little is compiled."""
    missing = max(ROWS, 1 << (len(points) - 1).bit_length()) - len(points)
    return problem(np.concatenate([points, np.repeat(points[-1:], missing, axis=0)]))[: len(points)]

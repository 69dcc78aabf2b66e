"""A search that was not told its budget, or is asked for more than it was told: it plans anew at each of its horizons.

Without a budget it plans as if it had 35 evaluations per dimension, then 100, 400, 1600 and so on. At a horizon a new
plan begins at the best point, with all that was seen in its memory. Quasi-Newton is not interrupted, nor is the search
that took over from it, and where it has converged already it is not tried again; an evolutionary search of the first
plan goes on once it is known whether the function is separable. A search that was told its budget goes on in the same
way if more is evaluated than it was told; up to there it does not know of any of this.
"""

import math
from collections.abc import Iterator

import numpy as np

from l2e.portfolio.policy import Policy
from l2e.portfolio.reasons import Reason
from l2e.portfolio.router import Router, guarded
from l2e.portfolio.run import Run
from l2e.portfolio.searches import Nothing
from l2e.portfolio.stages import Axes, FirstAxes, FirstLine, FirstPoint, Look, LookOn, Newton, Scout, Seen
from l2e.portfolio.starts import Starts

FIRST, SECOND = int(Policy.look_below), 100
"""Evaluations per dimension that are planned with at first, the most with which there is a look, and then."""

LONGER = 4
"""Each further horizon is this many times the one before."""

WORTH = 2.0
"""A new horizon is at least this many times the evaluations that were made,"""

NEARLY = 2.0
"""and is the budget itself if that is less than this many times as far."""

GOES_ON = frozenset({"newton", "handover", "coordinates"})
GOES_ON_AFTER_LITTLE = GOES_ON | {"evolution"}
"""Parts that go on at a horizon, and after a plan for no more than the first one."""

TO_A_MINIMUM = (FirstPoint, FirstLine, FirstAxes, Look, Scout, Newton, LookOn)
"""Stages that lead to a smooth minimum, left out where a new plan begins at one."""

REPLANNED = "a new plan"
"""Why a part of the search ended that was under way at a horizon."""


def search(router: Router, run: Run, start: np.ndarray | None, open_ended: bool = False) -> Nothing:
    """The search of a router, planned anew at each horizon; it never ends by itself.

    **Arguments:** `run`: its budget is that of the search; `start`: as for the router; `open_ended`: nobody knows
    how much of the budget will be used, so there are horizons before it.
    """
    told = ends = float(run.budget)
    if open_ended:
        ends = run.budget = min(FIRST * run.dimension, run.budget)
    seen = router.begin(run, start)
    plan = router.plan(seen)
    batch = next(plan)
    while True:
        beyond = run.used >= told  # only who goes on after the last evaluation asks for this batch
        batch = plan.send((yield batch))
        if run.used < ends or not (beyond or ends < told):
            continue
        told = math.inf if beyond else told
        going_on = GOES_ON_AFTER_LITTLE if run.budget <= FIRST * run.dimension else GOES_ON
        ends = run.budget = _next_horizon(run, told)
        part = run.set_aside(REPLANNED)
        if part in going_on:
            if part == "evolution":  # else the order of the stages sees to it
                plan = _after_the_axes(seen, plan, batch)
                batch = next(plan)
            else:
                run.take_up(part)
            continue
        plan.close()
        seen, left_out = _gone_on_from(seen, router)
        plan = router.plan(seen, left_out)
        batch = next(plan)


def _after_the_axes(seen: Seen, plan: Nothing, batch: np.ndarray) -> Nothing:
    """A plan whose evolutionary search waits until the coordinates were searched, if the function is separable."""
    yield from guarded(Axes(), seen)
    seen.along_axes = True
    seen.run.take_up("evolution")
    while True:
        batch = plan.send((yield batch))


def _next_horizon(run: Run, told: float) -> int:
    """In evaluations; never beyond the budget."""
    least = WORTH * max(run.used, run.budget)
    horizon = next(one for one in _horizons(run.dimension) if one >= least)
    return int(told) if told < NEARLY * horizon else horizon


def _horizons(dimension: int) -> Iterator[int]:
    yield FIRST * dimension
    horizon = SECOND * dimension
    while True:
        yield horizon
        horizon *= LONGER


def _gone_on_from(seen: Seen, router: Router) -> tuple[Seen, tuple[type, ...]]:
    """What a new plan knows, and stages that it leaves out."""
    run = seen.run
    if seen.reason is Reason.CONVERGED and seen.newton_is_best:
        known = Seen(run, seen.start, router.gate, Starts(run.dimension), seen.value)
        known.newton, known.reason = seen.newton, seen.reason
        return known, TO_A_MINIMUM
    return Seen(run, run.best_x, router.gate, Starts(run.dimension), run.best_f), ()

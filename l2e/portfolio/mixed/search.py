"""The order of a search over a grid.

The start; a descent by steps and quasi-Newton where most coordinates are continuous; then evolution strategies with a
model over the grid, each followed by a descent from where it arrived, from other places with larger populations.
"""

import numpy as np

from l2e.portfolio.mixed.evolution import MixedEvolution
from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.mixed.settle import Settle
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, finish
from l2e.portfolio.searches import Nothing, take_turns
from l2e.portfolio.surrogate import Surrogate

DESCENT_SHARE, DESCENT_LEAST = 0.5, 40
"""The first descent may spend this share of what is left, but this many evaluations per dimension if there are."""

PAUSE = 15
"""Evaluations per dimension of an evolution strategy between two descents from its best point."""

FIRST_STEP, RESTART_STEP = 0.2, 0.3
"""Of the evolution strategies, as shares of the cube's width."""


def search_grid(run: MixedRun, start: np.ndarray | None = None) -> Nothing:
    """Spend the budget; ends early only where every point there is was evaluated.

    **Arguments:** `start`: one point or several; the best known one, or the middle of the cube, if there is none.
    """
    if start is not None or not np.isfinite(run.best_f):
        first = run.best_x if start is None else start
        yield from run.spend("start", run.evaluate(first), lambda values: Reason.DONE)
    if 2 * len(run.grid.continuous) >= run.dimension:
        most = max(DESCENT_SHARE * run.remaining, DESCENT_LEAST * run.dimension)
        search = Settle(run.best_x, run.best_f, wide=True)
        yield from run.spend("descent", search.go(run, run.used + most))
    yield from take_turns(run, "evolution", lambda turn: _evolve(run, turn), lambda: sample_new(run))


def _evolve(run: MixedRun, turn: int) -> Nothing:
    """One evolution strategy, with descents from its best point now and then."""
    search = _strategy(run, turn)
    pause, settled = PAUSE * run.dimension, np.inf
    while True:
        reason = yield from run.spend("evolution", finish(search, run, run.used + pause))
        if search.best_f < settled and search.best_x is not None:
            descent = Settle(search.best_x, search.best_f)
            yield from run.spend("descent", descent.go(run, np.inf))
            settled = descent.f
            if descent.f < search.best_f:
                search.inject(descent.x, descent.f)
        if reason is not Reason.LIMIT:
            return


def _strategy(run: MixedRun, turn: int) -> MixedEvolution:
    policy = run.policy
    fresh = turn > 0
    if fresh:
        run.forget()
    point = run.grid.random(run.rng, 1)[0] if fresh or not np.isfinite(run.best_f) else run.best_x
    reach = policy.near if run.budget <= policy.near_up_to * run.dimension else policy.wide
    surrogate = Surrogate(policy, reach, policy.trust_margin) if policy.has("surrogate") else None
    sigma = (RESTART_STEP if fresh else FIRST_STEP) * WIDTH
    return MixedEvolution(run.grid, point, sigma, surrogate, local=not fresh)


def sample_new(run: MixedRun) -> Nothing:
    """Points drawn at random, until one is new."""
    while not run.exhausted:
        points = run.grid.random(run.rng, max(4, run.dimension))
        if not run.is_known(points).all():
            yield from run.evaluate(points)
            return
        if run.grid.finite:
            yield from _missing(run)
            return


def _missing(run: MixedRun) -> Nothing:
    """The first point of a finite grid that was not evaluated."""
    for row in np.ndindex(*run.grid.counts.tolist(), *(len(group) for group in run.grid.groups)):
        point = np.zeros((1, run.dimension))
        stepped = len(run.grid.counts)
        if stepped:
            point[0, run.grid.stepped] = run.grid.place(np.asarray(row[:stepped]))
        for group, option in enumerate(row[stepped:]):
            run.grid.choose(point, group, option)
        point = run.grid.snap(np.clip(point, -HALF, HALF))
        if not run.is_known(point)[0]:
            yield from run.evaluate(point)
            return

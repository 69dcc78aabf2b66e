"""The order of a constrained search on a plain box.

The start, moved to where cheap and linear constraints hold; sequential quadratic programming from there, from other
starts, and from where evolutionary searches on the augmented Lagrangian arrive.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from l2e.portfolio.constrained.run import Constrained, ConstrainedRun
from l2e.portfolio.constrained.sqp import Sqp
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH
from l2e.portfolio.searches import Finished, Nothing, evolution, take_turns

if TYPE_CHECKING:
    from l2e.portfolio.constrained.grid import ConstrainedMixedRun

STARTS, DRAWN = 3, 4
"""Descents from other starts before an evolutionary search, and points drawn per dimension for each."""

EVOLUTION_SHARE = 0.4
"""Of what is left, for one evolutionary search."""

FOLLOW_EVERY = 10
"""Evaluations per dimension between two updates of the multipliers."""

GROWTH = 4.0
"""Of the penalty when the best of a phase is still outside."""

REPAIRS = 20
"""Free steps that look for an allowed point where constraints are cheap."""


def search_constrained(run: ConstrainedRun, start: np.ndarray | None = None) -> Nothing:
    """Spend the budget; it never ends by itself.

    **Arguments:** `start`: one point or several; the best known one, or the middle of the cube, if there is none.
    """
    if start is not None or not run.state.begun:
        first = np.atleast_2d(np.zeros(run.dimension) if start is None else start)
        yield from run.spend("start", run.measure(_repaired(run, first)), lambda found: Reason.DONE)
    set_units(run)
    yield from take_turns(run, "constrained search", lambda turn: _turn(run, turn), lambda: _sample(run))


def _sample(run: ConstrainedRun) -> Nothing:
    """Points drawn at random, moved to where linear constraints hold."""
    yield from run.measure(run.state.inside(run.rng.uniform(-HALF, HALF, (run.dimension, run.dimension))))


def _turn(run: ConstrainedRun, turn: int) -> Nothing:
    if turn == 0:
        x, f, c = best_of(run.state)
        yield from _descend(run, x, f, c)
    elif turn % (STARTS + 1):
        yield from _elsewhere(run)
    else:
        yield from run.spend("evolution", _evolve(run, fresh=turn > STARTS + 1))
        yield from _descend(run, *best_of(run.state))


def best_of(state: Constrained) -> tuple[np.ndarray, float, np.ndarray]:
    """The best allowed point, or the nearest one: it, its value and its constraints."""
    if state.best_x is not None:
        return state.best_x, state.best_f, state.best_c
    return state.near_x, state.near_f, state.near_c


def _descend(run: ConstrainedRun, x: np.ndarray, f: float, c: np.ndarray) -> Nothing:
    """Sequential quadratic programming; what it says of multipliers is kept if it found the best point."""
    search = Sqp(x, f, c)
    yield from run.spend("quadratic programming", search.go(run, np.inf))
    best = run.state.best_x
    if best is not None and np.abs(best - search.x).max() < 1e-4:
        run.account.multipliers = search.multipliers
        run.state.merit.multipliers = search.multipliers * run.state.merit.units


def _elsewhere(run: ConstrainedRun) -> Nothing:
    """A descent from the best of some points drawn at random."""
    points = run.rng.uniform(-HALF, HALF, (DRAWN * run.dimension, run.dimension))
    if run.state.constraints.cheap:  # only points that are allowed, or nearly so, are worth a value
        points = _repaired(run, points)
        missed = run.state.constraints.missed(run.state.at(points)).sum(axis=1)
        points = points[np.argsort(missed, kind="stable")[: run.dimension]]
    f, c = yield from run.spend("starts", run.measure(run.state.inside(points)), lambda found: Reason.DONE)
    chosen = int(np.argmin(np.where(np.isfinite(f), run.state.merit(f, c), np.inf)))
    yield from _descend(run, points[chosen], float(f[chosen]), c[chosen])


def _evolve(run: ConstrainedRun, fresh: bool) -> Finished:
    """An evolutionary search on the augmented Lagrangian, whose multipliers follow it."""
    run.renew()
    mean = run.rng.uniform(-HALF, HALF, run.dimension) if fresh else run.best_x
    search = evolution(run, mean, run.policy.first_step * WIDTH)
    limit = run.used + EVOLUTION_SHARE * run.remaining
    while run.used < limit:
        pause = run.used + FOLLOW_EVERY * run.dimension
        while run.used < pause:
            reason = yield from search.step(run)
            if reason is not None:
                return reason
        _follow(run)
        search.best_f, search.bests, search.spreads = math.inf, [], []
    return Reason.LIMIT


def _follow(run: ConstrainedRun) -> None:
    state = run.state
    c = state.at(run.best_x[None])[0] if state.constraints.cheap else best_of(run.state)[2]
    state.merit.follow(c)
    if state.constraints.missed(c).any():
        state.merit.penalty *= GROWTH
    run.renew()


def set_units(run: "ConstrainedRun | ConstrainedMixedRun") -> None:
    """Units of the constraints from what they are at the start, and a penalty of the size of f."""
    state = run.state
    _, f, c = best_of(run.state)
    points = run.rng.uniform(-HALF, HALF, (8 * run.dimension, run.dimension))
    seen = np.abs(state.at(points)) if state.constraints.cheap else np.abs(c[None])
    seen = np.where(np.isfinite(seen), seen, 0.0)
    units = np.median(seen, axis=0)
    state.merit.units = np.where(units > 0, units, 1.0)
    state.merit.penalty = max(abs(f), 1.0) if np.isfinite(f) else 1.0


def _repaired(run: ConstrainedRun, points: np.ndarray) -> np.ndarray:
    """Points moved into what linear and cheap constraints allow, as far as a few steps get."""
    points = run.state.inside(np.clip(points, -HALF, HALF))
    if not run.state.constraints.cheap:
        return points
    return np.asarray([_repair(run, point) for point in points])


def _repair(run: ConstrainedRun, x: np.ndarray) -> np.ndarray:
    """Gauss-Newton on the violated constraints, which costs nothing."""
    state, h = run.state, 1e-6
    for _ in range(REPAIRS):
        c = state.at(x[None])[0]
        missed = state.constraints.missed(c)
        if not missed.any() or not np.isfinite(c).all():
            return x
        ahead, back = np.clip(x + h * np.eye(len(x)), -HALF, HALF), np.clip(x - h * np.eye(len(x)), -HALF, HALF)
        widths = np.diagonal(ahead) - np.diagonal(back)
        jacobian = ((state.at(ahead) - state.at(back)) / widths[:, None]).T
        out = missed > 0
        step = np.linalg.lstsq(jacobian[out], -1.01 * c[out], rcond=1e-8)[0]
        moved = state.inside(np.clip(x + step, -HALF, HALF)[None])[0]
        for _ in range(6):
            if state.constraints.missed(state.at(moved[None])).sum() < missed.sum():
                break
            moved = (x + moved) / 2
        else:
            return x
        x = moved
    return x

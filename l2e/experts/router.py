"""Which expert has the next evaluations: the order of the default optimizer, by what is left and what was seen.

1. Quasi-Newton from the start, as long as it is sound, not slow, and the learned gate says go on; with little to spend
   from where a few generations of the evolutionary search come to.
2. Where a probe says separable: coordinate-wise search, then quasi-Newton again; before all else if there is little to
   spend and the function is wavy. At a smooth minimum: other starts, with much to spend again after 4.
3. The evolutionary search with its surrogate: with quasi-Newton's point and metric where that was slow, stuck, or says
   that it converged and is wrong; then over the whole cube.
4. More of the cube: with much to spend a population told what is left, L-SHADE where pairs of coordinates hardly
   interact, else a shrinking evolution strategy; with less, evolutionary searches with a model from anywhere; with
   little left, a local search around the best.
"""

import math
from collections.abc import Generator

import numpy as np

from l2e._cma_defaults import default_population
from l2e.experts.evolution import Evolution
from l2e.experts.gate import MOMENTS, AsksToLeave
from l2e.experts.handover import distribution
from l2e.experts.probes import NO_LINE, Line, is_separable, look_along_line, pair_interactions, ruggedness
from l2e.experts.quadratic import MAX_CROSS_DIMENSION, NEAR, WIDE
from l2e.experts.quasi_newton import QuasiNewton
from l2e.experts.residual import Network
from l2e.experts.run import HALF, Run, Steps, finish
from l2e.experts.separable import Coordinates
from l2e.experts.shade import Shade
from l2e.experts.shrinking import Shrinking
from l2e.experts.starts import Starts
from l2e.experts.trust import Surrogate

RUGGED_ABOVE = 1.7
RUGGED_SHARE = 0.3
ELSEWHERE_SHARE, ELSEWHERE_SHARE_RICH = 0.25, 0.4
LEAST_ELSEWHERE = 6
"""Evaluations per dimension below which no other start is tried: drawing one and its first step cost about as much."""

KEPT_BACK = 30
"""Evaluations per dimension at the end with which the surroundings of the best point are searched."""

WEAK_INTERACTION = -1.4
PATIENCE = 4.0
"""With quasi-Newton where the fitted quadratic has no cross terms, and the evolutionary search is slower still."""

NEAR_BUDGET, RICH_BUDGET = 100, 500
"""Evaluations per dimension."""

SCOUT_BUDGETS, SCOUTED = (40, 60), 7
"""Evaluations per dimension with which the evolutionary search goes before quasi-Newton, and for how many; if nothing
seen until its first generation is better than the start, no longer than that."""

NO_GRADIENT = ("noisy", "flat", "failed")
"""Reasons of quasi-Newton after which a search before it goes on as if nothing had been."""

WAVY_TURNS = 2
"""A function that changes direction so often on a line through the cube is searched along its axes first, if it is
separable and less than `NEAR_BUDGET` is there: quasi-Newton would leave too little for that."""


class Router:
    """The order of the experts for one search; `search` is the generator that runs it.

    **Arguments:** switches that leave a part out, for comparisons; `network`: weights of the learned residual of the
    local evolutionary searches, None for untrained ones; `gate`: what may end quasi-Newton, None for an untrained one.
    """

    def __init__(
        self,
        numerical: bool = True,
        surrogate: bool = True,
        separable: bool = True,
        global_: bool = True,
        scout: bool = True,
        network: Network | None = None,
        gate: AsksToLeave | None = None,
    ):
        self.network = network
        self.gate = gate
        self.scout = scout
        self.numerical, self.surrogate, self.separable, self.global_ = numerical, surrogate, separable, global_

    def search(self, run: Run, start: np.ndarray) -> Steps:
        """Spend the whole budget."""
        d = run.dimension
        value = float((yield from run.evaluate(start))[0])
        reason: str | None = "not tried"
        newton: QuasiNewton | None = None
        scout: Evolution | None = None
        starts = Starts(d)
        line = NO_LINE
        if self.numerical and run.budget >= 40 * d:
            line = yield from look_along_line(run, start)
        wavy = self.separable and run.budget < NEAR_BUDGET * d and line.turns >= WAVY_TURNS and run.remaining >= 36 * d
        if wavy:
            yield from self._separable(run)
        if line.rugged:
            reason = "rugged"
        elif self.numerical and np.isfinite(value):
            newton = QuasiNewton(start, value)
            if self.scout and d <= MAX_CROSS_DIMENSION and SCOUT_BUDGETS[0] * d <= run.budget <= SCOUT_BUDGETS[1] * d:
                scout = yield from self._scout(run, start, value)
                newton = QuasiNewton(run.best_x, run.best_f)
            reason = yield from self._newton(run, newton, line)
            run.notes.add(str(reason))
        if self.separable and not wavy and run.remaining >= 40 * d:
            yield from self._separable(run)
        if newton is not None and reason == "slow" and d > MAX_CROSS_DIMENSION and _is_best(newton, run):
            newton.patience = PATIENCE
            reason = yield from self._newton(run, newton, line)
            run.notes.add(str(reason))
        allowed = (ELSEWHERE_SHARE_RICH if _rich(run) else ELSEWHERE_SHARE) * run.remaining
        if reason == "converged" and self.global_ and allowed >= LEAST_ELSEWHERE * d:
            newton = yield from self._elsewhere(run, starts, newton, run.used + allowed)
        if newton is not None and reason in ("slow", "stuck", "converged") and _is_best(newton, run):
            warm = self._take_over(run, newton)
            if warm is not None and reason == "slow" and not _rich(run):
                yield from self._evolve(run, warm)
            elif warm is not None:
                yield from self._polish(run, warm, newton, doubt=reason == "converged")
        if reason in ("rugged", "converged"):
            run.forget()  # a minimum among several: look at the whole with fresh eyes
            search = self._evolution(run, start, 0.2 * 2 * HALF, local=False)
        elif scout is not None and reason in NO_GRADIENT:
            search = scout
        else:  # also after a search with quasi-Newton's metric, which may have been the wrong one
            search = self._evolution(run, run.best_x, 0.2 * 2 * HALF)
        rugged = False
        if self.global_ and _rich(run) and run.remaining >= 300 * d:
            rugged = bool((yield from ruggedness(run)) > RUGGED_ABOVE)
        if not rugged:
            yield from self._evolve(run, search)
        else:
            limit = run.used + min(RUGGED_SHARE * run.remaining, 150 * d)
            yield from finish(search, run, limit)
        yield from self._global(run)
        if reason == "converged" and self.global_ and _rich(run):
            yield from self._elsewhere(run, starts, None, run.budget - KEPT_BACK * d)
        while True:
            yield from self._global(run)

    def _scout(self, run: Run, start: np.ndarray, value: float) -> Generator[np.ndarray, np.ndarray, Evolution]:
        """The evolutionary search that goes before quasi-Newton, after it has looked around."""
        search = self._evolution(run, start, 0.2 * 2 * HALF)
        limit = run.used + SCOUTED * run.dimension
        yield from finish(search, run, run.used + run.dimension)
        if run.best_f < value:  # else the start is a good one
            yield from finish(search, run, limit)
        return search

    def _newton(self, run: Run, newton: QuasiNewton, line: Line) -> Steps:
        """Quasi-Newton until it is done, slow, or the gate leaves it, which is asked when moments have come."""
        asked = 0
        while True:
            come = sum(newton.used >= moment * run.dimension for moment in MOMENTS)
            if self.gate is not None and come > asked and self.gate.leaves(run, newton, line):
                return "left"
            asked = come
            reason = yield from newton.step(run)
            if reason is not None:
                return reason
            if newton.slow:
                return "slow"

    def _take_over(self, run: Run, newton: QuasiNewton) -> Evolution | None:
        """An evolutionary search from where quasi-Newton is, with its metric."""
        known = distribution(newton)
        if known is None:
            return None
        sigma, factor = known
        return self._evolution(run, newton.x, sigma, factor=factor)

    def _polish(self, run: Run, search: Evolution, newton: QuasiNewton, doubt: bool) -> Steps:
        """Go on from where quasi-Newton stopped, as long as it pays.

        `doubt`: quasi-Newton says that it is at a minimum; then this ends soon unless it gains far more than that.
        """
        d = run.dimension
        window = max(8, math.ceil(12 * d / search.population))
        least = 10 * max(newton.expected if np.isfinite(newton.expected) else 0.0, 1e-12 * abs(newton.f))
        while True:
            reason = yield from search.step(run)
            if reason is not None:
                return reason
            if doubt and search.used > 8 * d:
                if newton.f - search.best_f < least:
                    return "converged"
                doubt = False
            if len(search.bests) >= 2 * window and _stagnates(search, window):
                return "stagnates"

    def _separable(self, run: Run) -> Steps:
        if not (yield from is_separable(run, run.best_x, run.best_f)):
            return None
        rich = run.remaining >= 250 * run.dimension
        grid, points = (80, 140) if rich else (21, 50)
        points = min(points, run.remaining // run.dimension - 10)
        if points < grid:
            return None
        yield from Coordinates(run.best_x, run.best_f, grid, points).step(run)
        yield from finish(QuasiNewton(run.best_x, run.best_f), run)
        return None

    def _elsewhere(
        self, run: Run, starts: Starts, best: QuasiNewton | None, limit: float
    ) -> Generator[np.ndarray, np.ndarray, QuasiNewton | None]:
        """At a smooth minimum: look for a better one from other starts; the search that found the best."""
        while run.used < limit:
            newton = QuasiNewton(*(yield from starts.take(run)))
            while run.used < limit and (yield from newton.step(run)) is None:
                if newton.hopeless > run.best_f:
                    break
            if best is None or newton.f < best.f:
                best = newton
        return best

    def _evolution(
        self,
        run: Run,
        mean: np.ndarray,
        sigma: float,
        times: int = 1,
        factor: np.ndarray | None = None,
        local: bool = True,
    ) -> Evolution:
        """`local`: down from the best place, for which the residual was trained, and not a choice among many minima.

        With little to spend its models look near, with more over ripples, with much they are trusted with caution.
        """
        reach = NEAR if run.budget <= NEAR_BUDGET * run.dimension else WIDE
        surrogate = Surrogate(reach, cautious=_rich(run)) if self.surrogate else None
        network, record = (self.network, run.best_f) if local else (None, np.inf)
        return Evolution(mean, sigma, times * default_population(len(mean)), surrogate, factor, network, record)

    def _evolve(self, run: Run, search: Evolution) -> Steps:
        """The evolutionary search until it is over; with much left, also until it no longer gets on."""
        d = run.dimension
        window = 8 + 20 * d // search.population
        while True:
            reason = yield from search.step(run)
            if reason is not None:
                return reason
            much = self.global_ and _rich(run) and run.used > 0.3 * run.budget and run.remaining >= 100 * d
            if much and len(search.bests) > 2 * window and _stagnates(search, window):
                return "stagnates"

    def _global(self, run: Run) -> Steps:
        """One more search over the cube, or a local one when little is left."""
        d, left = run.dimension, run.remaining
        if left < 60 * d or not self.global_ or not _rich(run):
            if left <= KEPT_BACK * d and self.global_:
                search = self._evolution(run, run.best_x, 0.02 * 2 * HALF)
            else:
                run.forget()
                anywhere = run.rng.uniform(-HALF, HALF, d)
                search = self._evolution(run, anywhere, 0.4 * HALF, times=2, local=False)
            return (yield from finish(search, run))
        interactions = yield from pair_interactions(run)
        weak = float(np.mean(np.log10(interactions + 1e-6))) < WEAK_INTERACTION
        left = run.remaining
        expert = Shade(d, left, run.best_x, run.best_f) if weak else Shrinking(d, left, run.rng)
        return (yield from finish(expert, run))


def _rich(run: Run) -> bool:
    """Whether the budget allows to look at the whole cube."""
    return run.budget >= RICH_BUDGET * run.dimension


def _is_best(newton: QuasiNewton, run: Run) -> bool:
    """Whether the best point is that of quasi-Newton, or one of its differences."""
    return bool(np.abs(run.best_x - newton.x).max() <= 1e-4)


def _stagnates(search: Evolution, window: int) -> bool:
    """Whether, over a window, the best improved little and the spread of the values did not shrink."""
    gain = min(search.bests[:-window]) - min(search.bests[-window:])
    shrunk = search.spreads[-1] < 0.5 * search.spreads[-window]
    return gain < 0.5 * search.spreads[-window] and not shrunk

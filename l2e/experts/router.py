"""Which expert has the next evaluations: the order of the default optimizer, by what is left and what was seen.

1. Quasi-Newton from the start, as long as it is sound; where it is slow, in turn with the evolutionary search.
2. Where a probe says separable: coordinate-wise search, then quasi-Newton again.
3. The evolutionary search with its surrogate.
4. With much left: a population told what is left, L-SHADE where pairs of coordinates hardly interact, else a shrinking
   evolution strategy; with little left, a local search around the best.
"""

from collections.abc import Generator

import numpy as np

from l2e._cma_defaults import default_population
from l2e.experts.evolution import Evolution
from l2e.experts.probes import is_rugged_line, is_separable, pair_interactions, ruggedness
from l2e.experts.quasi_newton import QuasiNewton
from l2e.experts.residual import Network
from l2e.experts.run import HALF, Run, Steps, finish
from l2e.experts.separable import Coordinates
from l2e.experts.shade import Shade
from l2e.experts.shrinking import Shrinking
from l2e.experts.trust import Surrogate

RUGGED_ABOVE = 1.7
RUGGED_SHARE = 0.3
ELSEWHERE_SHARE = 0.25
WEAK_INTERACTION = -1.4


class Router:
    """The order of the experts for one search; `search` is the generator that runs it.

    **Arguments:** switches that leave a part out, for comparisons; `network`: weights of the learned residual of the
    evolutionary searches, None for untrained ones.
    """

    def __init__(
        self,
        numerical: bool = True,
        surrogate: bool = True,
        separable: bool = True,
        global_: bool = True,
        network: Network | None = None,
    ):
        self.network = network
        self.numerical, self.surrogate, self.separable, self.global_ = numerical, surrogate, separable, global_

    def search(self, run: Run, start: np.ndarray) -> Steps:
        """Spend the whole budget."""
        d = run.dimension
        value = float((yield from run.evaluate(start))[0])
        search: Evolution | None = None
        reason: str | None = "not tried"
        if self.numerical and run.budget >= 40 * d and (yield from is_rugged_line(run, start)):
            reason = "rugged"
        elif self.numerical and np.isfinite(value):
            reason, search = yield from self._newton(run, start, value)
        if self.separable and run.remaining >= 40 * d:
            yield from self._separable(run)
        if reason == "converged" and self.global_ and run.remaining > 2 * d:
            yield from self._elsewhere(run)
        if search is None:
            if reason in ("rugged", "converged"):  # a minimum among several: look at the whole with fresh eyes
                run.forget()
                search = self._evolution(start, 0.2 * 2 * HALF)
            else:
                search = self._evolution(run.best_x, 0.2 * 2 * HALF)
        rugged = False
        if self.global_ and run.budget >= 500 * d and run.remaining >= 300 * d:
            rugged = bool((yield from ruggedness(run)) > RUGGED_ABOVE)
        if not rugged:
            yield from self._evolve(run, search)
        else:
            limit = run.used + min(RUGGED_SHARE * run.remaining, 150 * d)
            yield from finish(search, run, limit)
        while True:
            yield from self._global(run)

    def _newton(
        self, run: Run, start: np.ndarray, value: float
    ) -> Generator[np.ndarray, np.ndarray, tuple[str, Evolution | None]]:
        """Quasi-Newton until it is done; in turn with the evolutionary search once it is slow."""
        newton, search, slow_at = QuasiNewton(start, value), None, 0
        while True:
            if search is not None and search.used < newton.used - slow_at:
                reason = yield from search.step(run)
                if reason is not None or search.best_f < newton.f:
                    return "slow", search
                continue
            reason = yield from newton.step(run)
            if reason is not None:
                return reason, search
            if search is None and newton.slow:
                slow_at = newton.used
                search = self._evolution(run.best_x, 0.2 * 2 * HALF)

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

    def _elsewhere(self, run: Run) -> Steps:
        """A smooth minimum was reached early: look for a better one from other starts, while it costs little."""
        limit = run.used + ELSEWHERE_SHARE * run.remaining
        while run.used < limit:
            x = run.rng.uniform(-HALF, HALF, run.dimension)
            value = float((yield from run.evaluate(x))[0])
            newton = QuasiNewton(x, value)
            while run.used < limit and (yield from newton.step(run)) is None:
                if newton.hopeless > run.best_f:
                    break
        return None

    def _evolution(self, mean: np.ndarray, sigma: float, factor: int = 1) -> Evolution:
        surrogate = Surrogate() if self.surrogate else None
        return Evolution(mean, sigma, factor * default_population(len(mean)), surrogate, network=self.network)

    def _evolve(self, run: Run, search: Evolution) -> Steps:
        """The evolutionary search until it is over; with much left, also until it no longer gets on."""
        d = run.dimension
        window = 8 + 20 * d // search.population
        while True:
            reason = yield from search.step(run)
            if reason is not None:
                return reason
            much = self.global_ and run.budget >= 500 * d and run.used > 0.3 * run.budget and run.remaining >= 100 * d
            if much and len(search.bests) > 2 * window:
                gain = min(search.bests[:-window]) - min(search.bests[-window:])
                shrunk = search.spreads[-1] < 0.5 * search.spreads[-window]
                if gain < 0.5 * search.spreads[-window] and not shrunk:
                    return "stagnates"

    def _global(self, run: Run) -> Steps:
        """One search over the whole cube for what is left, or a local one when that is little."""
        d, left = run.dimension, run.remaining
        if left < 60 * d or not self.global_:
            if left < 30 * d and self.global_:
                search = self._evolution(run.best_x, 0.02 * 2 * HALF)
            else:
                run.forget()
                search = self._evolution(run.rng.uniform(-HALF, HALF, d), 0.4 * HALF, factor=2)
            return (yield from finish(search, run))
        interactions = yield from pair_interactions(run)
        weak = float(np.mean(np.log10(interactions + 1e-6))) < WEAK_INTERACTION
        left = run.remaining
        expert = Shade(d, left, run.best_x, run.best_f) if weak else Shrinking(d, left, run.rng, self.network)
        return (yield from finish(expert, run))

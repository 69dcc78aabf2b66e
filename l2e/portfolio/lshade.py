"""L-SHADE (R. Tanabe and A. Fukunaga, CEC 2014) told what is left of the budget.

Two L-SHADEs for two reasons. `l2e.algorithms.lshade`, the published algorithm, is compiled by JAX (2 CPU-seconds at its
first run in 10 dimensions) for arrays of fixed size; this one starts at once, and takes 4 to 10 microseconds per
evaluation there (the other: 9). And its constants suit the rest of a budget: with the published ones (18 d points,
a memory of 6, p = .11) it reaches a share of the targets f* + 10^[2..-8] lower by .14 to .34 (+- .05; 20 shifted
functions of five kinds, two seeds each, in 5 and 10 dimensions with 500 and 1000 evaluations per dimension).
"""

import numpy as np

from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run, Steps

BEST_SHARE, BEST_LEAST = 0.2, 2
"""Individuals move towards one of the best: this share of the population, and at least this many."""

HISTORY = 12
"""Entries in the memory of successful parameters."""

FIRST_PARAMETER, SCALE = 0.5, 0.1
"""What the memory of F and CR begins with, and the scale at which both are drawn around it."""

SMALLEST = 4
"""The population at the end."""

FIRST_SIZE, FIRST_POWER, FIRST_BUDGET = 5.7, 0.7, 1000
"""The first population is 5.7 D (R / 1000 D)^0.7 for R evaluations,"""

FIRST_LEAST, FIRST_SHARE = 3 * SMALLEST, 10
"""within these bounds: at least this many, at most one in ten evaluations."""

INVOLVED = 3
"""Individuals in a mutation besides the leader's, which a second draw from the pool had better not repeat."""

CONVERGED_BELOW = 1e-12
"""Spread of the values, relative to values beyond 1."""


class LShade:
    """Differential evolution with success-history adaptation and a linearly shrinking population.

    **Arguments:** `dimension`; `allowed`: the evaluations it plans for; `seed_x`, `seed_f`: a point to begin with.
    """

    def __init__(self, dimension: int, allowed: int, seed_x: np.ndarray, seed_f: float):
        self._allowed = allowed
        planned = FIRST_SIZE * dimension * (allowed / (FIRST_BUDGET * dimension)) ** FIRST_POWER
        self._first_size = int(np.clip(round(planned), FIRST_LEAST, max(allowed // FIRST_SHARE, FIRST_LEAST)))
        self._used = 0
        self._seed = (seed_x, seed_f)
        self._points: np.ndarray | None = None
        self._values = np.empty(0)
        self._archive = np.empty((0, dimension))
        self._memory = np.full((HISTORY, 2), FIRST_PARAMETER)  # of F and of CR
        self._place = 0

    def step(self, run: Run) -> Steps:
        """One generation."""
        before = run.used
        reason = (yield from self._begin(run)) if self._points is None else (yield from self._generation(run))
        self._used += run.used - before
        return reason

    def _begin(self, run: Run) -> Steps:
        d = run.dimension
        points = run.rng.uniform(-HALF, HALF, (self._first_size - 1, d))
        values = yield from run.evaluate(points)
        self._points = np.concatenate([self._seed[0][None], points])
        self._values = np.append(self._seed[1], values)
        return None

    def _generation(self, run: Run) -> Steps:
        points, values, rng = self._points, self._values, run.rng
        assert points is not None
        n, d = points.shape
        f, cr = self._parameters(rng, n)
        order = np.argsort(values, kind="stable")
        leaders = order[rng.integers(0, max(BEST_LEAST, round(BEST_SHARE * n)), n)]
        first = (np.arange(n) + rng.integers(1, n, n)) % n
        pool = np.concatenate([points, self._archive])
        second = rng.integers(0, len(pool), n)
        clash = (second == first) | (second == np.arange(n))
        others = max(len(pool) - INVOLVED, 1)
        second = np.where(clash, (second + 1 + rng.integers(0, others, n)) % len(pool), second)
        mutants = points + f[:, None] * (points[leaders] - points + points[first] - pool[second])
        low, high = mutants < -HALF, mutants > HALF
        mutants = np.where(low, (points - HALF) / 2, np.where(high, (points + HALF) / 2, mutants))
        crossed = rng.random((n, d)) < cr[:, None]
        crossed[np.arange(n), rng.integers(0, d, n)] = True
        trials = np.where(crossed, mutants, points)
        trial_values = yield from run.evaluate(trials)
        self._select(rng, trials, trial_values, f, cr)
        finite = self._values[np.isfinite(self._values)]
        if not finite.size:
            return None
        return Reason.CONVERGED if np.ptp(finite) <= CONVERGED_BELOW * max(1.0, abs(float(finite.min()))) else None

    def _parameters(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """F and CR of each individual."""
        centre = self._memory[rng.integers(0, HISTORY, n)]
        cr = np.where(centre[:, 1] < 0, 0.0, np.clip(rng.normal(centre[:, 1], SCALE), 0, 1))
        f = centre[:, 0] + SCALE * rng.standard_cauchy(n)
        while (f <= 0).any():
            again = f <= 0
            f[again] = centre[again, 0] + SCALE * rng.standard_cauchy(int(again.sum()))
        return np.minimum(f, 1.0), cr

    def _select(
        self, rng: np.random.Generator, trials: np.ndarray, values: np.ndarray, f: np.ndarray, cr: np.ndarray
    ) -> None:
        assert self._points is not None
        better, equal = values < self._values, values <= self._values
        if better.any():
            self._learn((self._values - values)[better], f[better], cr[better])
            self._archive = np.concatenate([self._archive, self._points[better]])
        self._points = np.where(equal[:, None], trials, self._points)
        self._values = np.where(equal, values, self._values)
        spent = min((self._used + len(trials)) / self._allowed, 1.0)
        size = max(SMALLEST, round(self._first_size + (SMALLEST - self._first_size) * spent))
        if size < len(self._points):
            keep = np.argsort(self._values, kind="stable")[:size]
            self._points, self._values = self._points[keep], self._values[keep]
        if len(self._archive) > size:
            self._archive = self._archive[rng.permutation(len(self._archive))[:size]]

    def _learn(self, gains: np.ndarray, f: np.ndarray, cr: np.ndarray) -> None:
        """Remember the parameters of a generation that had successes, weighted by their gains."""
        weights = np.where(np.isfinite(gains), gains, 1.0)
        weights = weights / weights.sum()
        learned_f = (weights @ f**2) / (weights @ f)
        learned_cr = -1.0 if cr.max() == 0 else (weights @ cr**2) / (weights @ cr)
        if np.isfinite(learned_f) and np.isfinite(learned_cr):
            self._memory[self._place] = learned_f, learned_cr
            self._place = (self._place + 1) % HISTORY

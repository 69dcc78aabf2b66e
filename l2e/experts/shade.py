"""L-SHADE (R. Tanabe and A. Fukunaga, CEC 2014) told what is left of the budget."""

import numpy as np

from l2e.experts.run import HALF, Run, Steps

BEST_SHARE = 0.2
HISTORY = 12
SMALLEST = 4


class Shade:
    """Differential evolution with success-history adaptation and a linearly shrinking population.

    **Arguments:** `dimension`; `allowed`: the evaluations it plans for; `seed_x`, `seed_f`: a point to begin with.
    """

    def __init__(self, dimension: int, allowed: int, seed_x: np.ndarray, seed_f: float):
        self.allowed = allowed
        planned = 5.7 * dimension * (allowed / (1000 * dimension)) ** 0.7
        self.first_size = int(np.clip(round(planned), 3 * SMALLEST, max(allowed // 10, 3 * SMALLEST)))
        self.used = 0
        self.best_f = np.inf
        self._seed = (seed_x, seed_f)
        self._points: np.ndarray | None = None
        self._values = np.empty(0)
        self._archive = np.empty((0, dimension))
        self._memory = np.full((HISTORY, 2), 0.5)  # of F and of CR
        self._place = 0

    def step(self, run: Run) -> Steps:
        """One generation."""
        before = run.used
        reason = (yield from self._begin(run)) if self._points is None else (yield from self._generation(run))
        self.used += run.used - before
        return reason

    def _begin(self, run: Run) -> Steps:
        d = run.dimension
        points = run.rng.uniform(-HALF, HALF, (self.first_size - 1, d))
        values = yield from run.evaluate(points)
        self._points = np.concatenate([self._seed[0][None], points])
        self._values = np.append(self._seed[1], values)
        self.best_f = float(self._values.min())
        return None

    def _generation(self, run: Run) -> Steps:
        points, values, rng = self._points, self._values, run.rng
        assert points is not None
        n, d = points.shape
        f, cr = self._parameters(rng, n)
        order = np.argsort(values, kind="stable")
        leaders = order[rng.integers(0, max(2, round(BEST_SHARE * n)), n)]
        first = (np.arange(n) + rng.integers(1, n, n)) % n
        pool = np.concatenate([points, self._archive])
        second = rng.integers(0, len(pool), n)
        clash = (second == first) | (second == np.arange(n))
        second = np.where(clash, (second + 1 + rng.integers(0, max(len(pool) - 3, 1), n)) % len(pool), second)
        mutants = points + f[:, None] * (points[leaders] - points + points[first] - pool[second])
        low, high = mutants < -HALF, mutants > HALF
        mutants = np.where(low, (points - HALF) / 2, np.where(high, (points + HALF) / 2, mutants))
        crossed = rng.random((n, d)) < cr[:, None]
        crossed[np.arange(n), rng.integers(0, d, n)] = True
        trials = np.where(crossed, mutants, points)
        trial_values = yield from run.evaluate(trials)
        self._select(rng, trials, trial_values, f, cr)
        self.best_f = float(self._values.min())
        spread = np.ptp(self._values[np.isfinite(self._values)]) if np.isfinite(self._values).any() else np.inf
        return "converged" if spread <= 1e-12 * max(1.0, abs(self.best_f)) else None

    def _parameters(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        centre = self._memory[rng.integers(0, HISTORY, n)]
        cr = np.where(centre[:, 1] < 0, 0.0, np.clip(rng.normal(centre[:, 1], 0.1), 0, 1))
        f = centre[:, 0] + 0.1 * rng.standard_cauchy(n)
        while (f <= 0).any():
            again = f <= 0
            f[again] = centre[again, 0] + 0.1 * rng.standard_cauchy(int(again.sum()))
        return np.minimum(f, 1.0), cr

    def _select(
        self, rng: np.random.Generator, trials: np.ndarray, values: np.ndarray, f: np.ndarray, cr: np.ndarray
    ) -> None:
        assert self._points is not None
        better, equal = values < self._values, values <= self._values
        gains = (self._values - values)[better]
        if better.any():
            weights = np.where(np.isfinite(gains), gains, 1.0)
            weights = weights / weights.sum()
            chosen_f, chosen_cr = f[better], cr[better]
            self._memory[self._place, 0] = (weights @ chosen_f**2) / (weights @ chosen_f)
            top = weights @ chosen_cr
            self._memory[self._place, 1] = -1.0 if chosen_cr.max() == 0 else (weights @ chosen_cr**2) / top
            self._place = (self._place + 1) % HISTORY
            self._archive = np.concatenate([self._archive, self._points[better]])
        self._points = np.where(equal[:, None], trials, self._points)
        self._values = np.where(equal, values, self._values)
        spent = min((self.used + len(trials)) / self.allowed, 1.0)
        size = max(SMALLEST, round(self.first_size + (SMALLEST - self.first_size) * spent))
        if size < len(self._points):
            keep = np.argsort(self._values, kind="stable")[:size]
            self._points, self._values = self._points[keep], self._values[keep]
        if len(self._archive) > size:
            self._archive = self._archive[rng.permutation(len(self._archive))[:size]]

"""A separable evolution strategy for what is rugged: sep-CMA-ES in numpy, on all variables.

R. Ros and N. Hansen, "A Simple Modification in CMA-ES Achieving Linear Time and Space Complexity", PPSN 2008.
"""

import numpy as np

from l2e.core.cma_defaults import default_population, defaults
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, Run, Steps

LONGEST = WIDTH / 3
"""The largest standard deviation of a coordinate."""

SMOOTHING = 0.8
"""How much of the averaged value stays from one generation to the next."""

SMALLEST = 1e-10
"""A search whose steps are below this has converged."""


class SeparableEvolution:
    """sep-CMA-ES from a point; each turn takes some generations.

    **Arguments:** `members`: all variables; `mean`: where it begins; `sigma`: its first standard deviation;
    `generations`: per turn; `populations`: the population in default ones.
    """

    name = "separable evolution"

    def __init__(self, members: np.ndarray, mean: np.ndarray, sigma: float, generations: int, populations: int = 1):
        self.members, self.mean, self.sigma, self.generations = members, mean.copy(), sigma, generations
        d, self.populations = len(mean), populations
        self.population = populations * default_population(d)
        self.level = np.inf
        """The best values of its latest generations, averaged."""
        known = defaults(self.population, d)
        self._weights = known.pull / known.pull.sum()
        self._known = known
        self._c_1 = min(known.c_1 * (d + 2) / 3, 0.5)
        self._c_mu = min(known.c_mu * (d + 2) / 3, 1 - self._c_1)
        self._chi = np.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d**2))
        self._variances, self._path_sigma, self._path_c = np.ones(d), np.zeros(d), np.zeros(d)
        self._generation = 0

    def cost(self) -> float:
        return self.generations * self.population

    def turn(self, run: Run) -> Steps:
        for _ in range(self.generations):
            reason = yield from self._step(run)
            if reason is not None:
                return reason
        return None

    def _step(self, run: Run) -> Steps:
        deviations = np.sqrt(self._variances)
        normals = run.rng.standard_normal((self.population, len(self.mean)))
        steps = normals * deviations
        values = yield from run.evaluate_aside(self.mean + self.sigma * steps)
        if not np.isfinite(values).any():
            return None
        best = float(values.min())
        self.level = best if not np.isfinite(self.level) else SMOOTHING * self.level + (1 - SMOOTHING) * best
        self._learn(normals, steps, values)
        if not np.isfinite(self.sigma) or not np.isfinite(self.mean).all():
            return Reason.BROKEN
        return Reason.CONVERGED if self.sigma * np.sqrt(self._variances.max()) < SMALLEST else None

    def _learn(self, normals: np.ndarray, steps: np.ndarray, values: np.ndarray) -> None:
        known, d = self._known, len(self.mean)
        order = np.argsort(values, kind="stable")
        usable = np.isfinite(values[order])
        weights = np.where(usable, self._weights, 0.0)
        weights /= weights.sum() if weights.any() else 1.0
        kept = weights > 0
        order, weights = order[kept], weights[kept]
        mean_step = weights @ steps[order]
        self._generation += 1
        push = np.sqrt(known.c_sigma * (2 - known.c_sigma) * known.mu_eff)
        self._path_sigma = (1 - known.c_sigma) * self._path_sigma + push * (weights @ normals[order])
        length = float(np.linalg.norm(self._path_sigma))
        seen = 1 - (1 - known.c_sigma) ** (2 * self._generation)
        stalled = length / np.sqrt(seen) >= (1.4 + 2 / (d + 1)) * self._chi
        push = 0.0 if stalled else np.sqrt(known.c_c * (2 - known.c_c) * known.mu_eff)
        self._path_c = (1 - known.c_c) * self._path_c + push * mean_step
        kept_share = 1 - self._c_1 - self._c_mu + (self._c_1 * known.c_c * (2 - known.c_c) if stalled else 0.0)
        rank_mu = weights @ steps[order] ** 2
        self._variances = kept_share * self._variances + self._c_1 * self._path_c**2 + self._c_mu * rank_mu
        self.mean = _inside(self.mean + self.sigma * mean_step)
        self.sigma *= float(np.exp(min((known.c_sigma / known.d_sigma) * (length / self._chi - 1), 1.0)))
        self.sigma = min(self.sigma, LONGEST / float(np.sqrt(self._variances.max())))


def _inside(mean: np.ndarray) -> np.ndarray:
    """The mean may lie a little outside, where samples are mirrored, but not run away."""
    return np.clip(mean, -HALF - 0.05 * WIDTH, HALF + 0.05 * WIDTH)

"""The evolutionary path: a matrix-adaptation ES whose update a surrogate and a learned residual may change.

H.-G. Beyer and B. Sendhoff, "Simplify your covariance matrix adaptation evolution strategy", IEEE TEC 2017, with
active weights (N. Hansen, tutorial 2016, Eq. 49-58). No eigendecomposition: the factor M of C = M M' is updated.
"""

import math

import numpy as np

from l2e._cma_defaults import defaults
from l2e.experts.run import HALF, Run, Steps
from l2e.experts.trust import Surrogate

MAX_DEVIATION = 10.0 / 3


class Evolution:
    """MA-ES from a mean and a step; call `step` for a generation until it returns a reason.

    **Arguments:** `mean`, `sigma`: in the working cube; `population`: lambda, which may be changed between steps;
    `surrogate`: a model that ranks in place of evaluations while it has earned trust, or None; `factor`: the first
    M of C = M M', the identity if left out.
    """

    def __init__(
        self,
        mean: np.ndarray,
        sigma: float,
        population: int,
        surrogate: Surrogate | None = None,
        factor: np.ndarray | None = None,
    ):
        self.mean, self.sigma, self.first_sigma = mean.copy(), sigma, sigma
        self.factor = np.eye(len(mean)) if factor is None else factor.copy()
        self.path = np.zeros(len(mean))
        self.surrogate = surrogate
        self.used = 0
        self.best_f = np.inf
        self.bests: list[float] = []  # of each lambda evaluations
        self.spreads: list[float] = []
        self._block: list[float] = []
        self.resize(population)

    def resize(self, population: int) -> None:
        """Another population size from the next generation on."""
        self.population = population
        self.rates = defaults(population, len(self.mean))
        pull, push = self.rates.pull, self.rates.push
        self.weights = pull / pull.sum() + self.rates.bound * push / -push.sum()

    def step(self, run: Run) -> Steps:
        """One generation."""
        before = run.used
        if not np.isfinite(run.best_f):
            self.mean = run.rng.uniform(-HALF, HALF, len(self.mean))  # nothing found yet: look elsewhere
        z = run.rng.standard_normal((self.population, len(self.mean)))
        if self.surrogate is None:
            yield from self._plain(run, z)
        else:
            yield from self._guided(run, z, self.surrogate)
        self.used += run.used - before
        return self._reason(run)

    def _plain(self, run: Run, z: np.ndarray) -> Steps:
        values = yield from run.evaluate(self.mean + self.sigma * z @ self.factor.T)
        self._note(values)
        if not np.isfinite(values).any():
            self.mean = run.best_x.copy()  # back to where there are values
        self._update(z, values, limit=1.0)
        return None

    def _guided(self, run: Run, z: np.ndarray, surrogate: Surrogate) -> Steps:
        """A generation in which the model chooses what is evaluated, and stands in for the rest."""
        matrix = self.sigma * self.factor
        if not surrogate.fit(run, self.mean, matrix, self.population):
            return (yield from self._plain(run, z))
        if surrogate.fresh:
            z[0] = np.linalg.solve(matrix, surrogate.minimiser() - self.mean)
        points = self.mean + z @ matrix.T
        values = surrogate.predict(points)
        order = np.argsort(values, kind="stable")
        if surrogate.fresh:  # the minimiser is always evaluated
            order = np.concatenate([[0], order[order != 0]])
        chosen = order[: surrogate.evaluations(self.population)]
        record = run.best_f
        true = yield from run.evaluate(points[chosen])
        self._note(true)
        values[chosen] = true
        confirmed = bool(true.min() < record)
        if surrogate.fresh and confirmed and true[0] <= true.min():  # the minimiser truly is the best ever seen
            self.mean = points[0]
            self._update(z, values, limit=0.05, move=False)
        else:
            self._update(z, values, limit=0.05 if confirmed else 0.0)
        turned = surrogate.shape()
        if turned is not None:
            axes, scale = turned
            self.factor = self.factor @ ((axes * scale) @ axes.T)
            self.path = (axes / scale) @ (axes.T @ self.path)
        return None

    def _update(self, z: np.ndarray, values: np.ndarray, limit: float, move: bool = True) -> None:
        finite = np.isfinite(values)
        if not finite.any():
            return
        rate, d = self.rates, len(self.mean)
        order = np.argsort(values, kind="stable")
        z = z[order]
        weights = self.weights.copy()
        weights[finite.sum() :] = np.minimum(weights[finite.sum() :], 0)  # a failed point never pulls
        pull = np.maximum(weights, 0)
        mean_step = (pull / pull.sum()) @ z
        push = math.sqrt(rate.mu_eff * rate.c_sigma * (2 - rate.c_sigma))
        self.path = (1 - rate.c_sigma) * self.path + push * mean_step
        if move:
            self.mean = self.mean + self.sigma * self.factor @ mean_step
        lengths = (z**2).sum(axis=1)
        active = np.where(weights < 0, weights * d / np.maximum(lengths, 1e-20), weights)
        change = rate.c_1 * (np.outer(self.path, self.path) - np.eye(d))
        change += rate.c_mu * ((z.T * active) @ z - weights.sum() * np.eye(d))
        self.factor = self.factor + 0.5 * self.factor @ change
        chi = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
        growth = (rate.c_sigma / rate.d_sigma) * (np.linalg.norm(self.path) / chi - 1)
        self.sigma *= math.exp(min(growth, limit))
        largest = math.sqrt(float((self.factor**2).sum(axis=1).max()))
        self.sigma = min(self.sigma, MAX_DEVIATION / largest)

    def _note(self, values: np.ndarray) -> None:
        finite = values[np.isfinite(values)]
        if not finite.size:
            return
        self.best_f = min(self.best_f, float(finite.min()))
        self._block.extend(finite.tolist())
        if len(self._block) >= self.population:
            low, high = np.percentile(self._block, (25, 75))
            self.bests.append(min(self._block))
            self.spreads.append(float(high - low))
            self._block = []

    def _reason(self, run: Run) -> str | None:
        """Why this search is over, if it is: Hansen's tutorial, B.3."""
        window = 10 + math.ceil(30 * len(self.mean) / self.population)
        scales = np.sqrt((self.factor**2).sum(axis=1))
        if not (np.isfinite(self.sigma) and np.isfinite(self.factor).all()):
            return "broken"
        if self.sigma * scales.max() < 1e-12 * self.first_sigma:
            return "converged"
        recent = self.bests[-window:]
        if len(self.bests) > window and max(recent) - min(recent) < 1e-11 + 4e-16 * abs(recent[-1]):
            return "converged"
        if len(self.bests) > 100 + 150 * (len(self.mean) + 3) ** 2 / math.sqrt(self.population):
            return "stagnates"
        return None

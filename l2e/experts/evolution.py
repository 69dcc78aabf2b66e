"""The evolutionary path: a matrix-adaptation ES whose update a surrogate and a learned residual may change.

H.-G. Beyer and B. Sendhoff, "Simplify your covariance matrix adaptation evolution strategy", IEEE TEC 2017, with
active weights (N. Hansen, tutorial 2016, Eq. 49-58). No eigendecomposition: the factor M of C = M M' is updated.
"""

import functools
import math

import numpy as np

from l2e._cma_defaults import Defaults, defaults
from l2e.experts.residual import Change, Generation, Network, Residual
from l2e.experts.run import HALF, Run, Steps, fold, mirror
from l2e.experts.trust import Surrogate

MAX_DEVIATION = 10.0 / 3
SMALLEST = 4
"""The least population that a residual may ask for."""

LEAST_ROOM = 0.3
MAX_CONDITION = 1e7
"""Of the factor: beyond, its numbers mean nothing (Hansen's tutorial stops where that of C is 1e14)."""

ALIKE = 2
"""Populations of values that are all the same, after which nothing is left to be found here."""

RESIZE_BEYOND = 0.15
"""A population is kept while the wanted one is within this of it, relatively."""


class Evolution:
    """MA-ES from a mean and a step; call `step` for a generation until it returns a reason.

    **Arguments:** `mean`, `sigma`: in the working cube; `population`: lambda, which may be changed between steps;
    `surrogate`: a model that ranks in place of evaluations while it has earned trust, or None; `factor`: the first
    M of C = M M', the identity if left out; `network`: weights of the learned residual, None for plain MA-ES;
    `record`: the best value known where it begins, which steps to a model's minimiser have to beat.
    """

    def __init__(
        self,
        mean: np.ndarray,
        sigma: float,
        population: int,
        surrogate: Surrogate | None = None,
        factor: np.ndarray | None = None,
        network: Network | None = None,
        record: float = np.inf,
    ):
        self.mean, self.sigma, self.first_sigma = mean.copy(), sigma, sigma
        self.factor = np.eye(len(mean)) if factor is None else factor.copy()
        self.path = np.zeros(len(mean))
        self.surrogate = surrogate
        self.residual = None if network is None else Residual(network, len(mean))
        self.used = 0
        self._generations = 0
        self.best_f = np.inf
        self._record = record
        self.bests: list[float] = []  # of each lambda evaluations
        self.spreads: list[float] = []
        self._block: list[float] = []
        self._latest: list[float] = []
        self.resize(population)

    def resize(self, population: int) -> None:
        """Another planned population size from the next generation on; a residual may change it by a factor."""
        self.planned = population
        self._set(population)

    def _set(self, population: int) -> None:
        self.population = population
        self.rates, self.weights = _defaults(population, len(self.mean))

    def step(self, run: Run) -> Steps:
        """One generation."""
        before = run.used
        if not np.isfinite(run.best_f):
            self.mean = run.rng.uniform(-HALF, HALF, len(self.mean))  # nothing found yet: look elsewhere
        if self.residual is not None:
            wanted = max(round(self.planned * self.residual.population), min(self.planned, SMALLEST))
            if abs(wanted - self.population) > RESIZE_BEYOND * self.population:
                self._set(wanted)
        if (np.abs(self.mean) > HALF).any():  # its mirror image, with the distribution: nothing changes but the names
            self.mean, backwards = fold(self.mean)
            self.factor[backwards] *= -1
        z = run.rng.standard_normal((self.population, len(self.mean)))
        if self.surrogate is None:
            yield from self._plain(run, z)
        else:
            yield from self._guided(run, z, self.surrogate)
        self.used += run.used - before
        return self._reason(run)

    def _plain(self, run: Run, z: np.ndarray) -> Steps:
        record = self._record
        values = yield from run.evaluate(self.mean + self.sigma * z @ self.factor.T)
        self._note(values)
        if not np.isfinite(values).any():
            self.mean = run.best_x.copy()  # back to where there are values
        self._update(run, z, values, record, limit=1.0)
        return None

    def _guided(self, run: Run, z: np.ndarray, surrogate: Surrogate) -> Steps:
        """A generation in which the model chooses what is evaluated, and stands in for the rest."""
        matrix = self.sigma * self.factor
        if not surrogate.fit(run, self.mean, matrix, self.population):
            return (yield from self._plain(run, z))
        if surrogate.fresh:
            z[0] = self._inside(surrogate.minimiser(), matrix)
        points = mirror(self.mean + z @ matrix.T)
        values = surrogate.predict(points)
        order = np.argsort(values, kind="stable")
        if surrogate.fresh:  # the minimiser is always evaluated
            order = np.concatenate([[0], order[order != 0]])
        bonus = 0.0 if self.residual is None else self.residual.trust
        chosen = order[: surrogate.evaluations(self.population, bonus)]
        record = self._record
        true = yield from run.evaluate(points[chosen])
        if not np.isfinite(true).all() and len(chosen) < len(order):  # of failures the model knows nothing
            rest = yield from run.evaluate(points[order[len(chosen) :]])
            chosen, true = order, np.concatenate([true, rest])
        self._note(true)
        surrogate.learn(values[chosen], true)
        values[chosen] = true
        confirmed = bool(true.min() < record)
        # the minimiser truly is the best that this search has seen
        best_ever = surrogate.fresh and confirmed and true[0] <= true.min()
        if best_ever:
            self.mean = points[0]
        limit = 0.05 if confirmed else 0.0
        self._update(run, z, values, record, limit, move=not best_ever, chosen=chosen)
        turned = surrogate.shape()
        if turned is not None:
            axes, scale = turned
            self.factor = self.factor @ ((axes * scale) @ axes.T)
            self.path = (axes / scale) @ (axes.T @ self.path)
        return None

    def _inside(self, z: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """A step that ends where it leaves the cube, unless that would be soon: then its mirror image is as good."""
        step = matrix @ z
        out = np.abs(self.mean + step) > HALF
        if not out.any():
            return z
        room = float(((np.copysign(HALF, step) - self.mean)[out] / step[out]).min())
        return z * room if room > LEAST_ROOM else z

    def _update(
        self,
        run: Run,
        z: np.ndarray,
        values: np.ndarray,
        record: float,
        limit: float,
        move: bool = True,
        chosen: np.ndarray | None = None,
    ) -> None:
        finite = int(np.isfinite(values).sum())
        if not finite:
            return
        rate, d = self.rates, len(self.mean)
        order = np.argsort(values, kind="stable")
        z = z[order]
        weights = self.weights
        if finite < len(weights):  # a failed point never pulls
            weights = weights.copy()
            weights[finite:] = np.minimum(weights[finite:], 0)
        pull = np.maximum(weights, 0)
        pull = pull / pull.sum()
        c_sigma, d_sigma, c_1, c_mu, mu_eff = rate.c_sigma, rate.d_sigma, rate.c_1, rate.c_mu, rate.mu_eff
        relaxation, momentum, extra = 1.0, 0.0, 0.0
        if self.residual is not None:
            evaluated = np.ones(len(values), bool)
            if chosen is not None:
                evaluated[:] = False
                evaluated[chosen] = True
            change = self._change(run, self.residual, z, values[order], evaluated[order], record, pull)
            changed = pull * change.recombination
            changed = changed * (float(pull.sum()) / float(changed.sum()))  # a ratio of exactly 1 if nothing changed
            mu_eff = mu_eff * (float(pull @ pull) / float(changed @ changed))
            pull = changed
            raised = weights * change.covariance
            plus = weights > 0
            weights = raised * (float(weights[plus].sum()) / float(raised[plus].sum()))
            c_sigma = min(c_sigma * change.c_sigma, max(c_sigma, 0.9))
            d_sigma = d_sigma * change.d_sigma
            c_1 = min(c_1 * change.c_1, max(c_1, 0.5))
            c_mu = min(c_mu * change.c_mu, max(c_mu, 1 - c_1))
            relaxation, momentum, extra = change.relaxation, change.momentum, change.step
        mean_step = pull @ z
        push = math.sqrt(mu_eff * c_sigma * (2 - c_sigma))
        self.path = (1 - c_sigma) * self.path + push * mean_step
        if move:
            drift = momentum * c_sigma / math.sqrt(mu_eff)
            self.mean = self.mean + self.sigma * self.factor @ (relaxation * mean_step + drift * self.path)
        lengths = (z**2).sum(axis=1)
        active = np.where(weights < 0, weights * d / np.maximum(lengths, 1e-20), weights)
        change_of_c = c_1 * np.outer(self.path, self.path) + c_mu * ((z.T * active) @ z)
        change_of_c.flat[:: d + 1] -= c_1 + c_mu * float(weights.sum())
        self.factor = self.factor + 0.5 * self.factor @ change_of_c
        chi = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
        growth = (c_sigma / d_sigma) * (math.sqrt(float(self.path @ self.path)) / chi - 1) + extra
        self.sigma *= math.exp(min(growth, limit))
        largest = math.sqrt(float((self.factor**2).sum(axis=1).max()))
        self.sigma = min(self.sigma, MAX_DEVIATION / largest)

    def _change(
        self,
        run: Run,
        residual: Residual,
        z: np.ndarray,
        values: np.ndarray,
        evaluated: np.ndarray,
        record: float,
        pull: np.ndarray,
    ) -> Change:
        """What the learned residual says of a generation, the best first."""
        tau = None if self.surrogate is None else self.surrogate.tau
        sigma = self.sigma / self.first_sigma
        used = run.used / run.budget
        return residual(Generation(z, values, evaluated, record, self.path, sigma, pull, tau, used, run.budget))

    def _note(self, values: np.ndarray) -> None:
        finite = values[np.isfinite(values)]
        if not finite.size:
            return
        self.best_f = min(self.best_f, float(finite.min()))
        self._record = min(self._record, self.best_f)
        self._latest = [*self._latest, *finite.tolist()][-self._alike :]
        self._block.extend(finite.tolist())
        if len(self._block) >= self.population:
            block = sorted(self._block)
            self.bests.append(block[0])
            self.spreads.append(_quantile(block, 0.75) - _quantile(block, 0.25))
            self._block = []

    @property
    def _alike(self) -> int:
        """So many evaluations in a row that differ by no more than rounding end a search."""
        return max(ALIKE * self.population, 12)

    def _reason(self, run: Run) -> str | None:
        """Why this search is over, if it is: Hansen's tutorial, B.3."""
        window = 10 + math.ceil(30 * len(self.mean) / self.population)
        largest = float((self.factor**2).sum(axis=1).max())
        if not (math.isfinite(self.sigma) and math.isfinite(largest)):
            return "broken"
        self._generations += 1
        if self._generations % 10 == 0 and np.linalg.cond(self.factor) > MAX_CONDITION:
            return "broken"
        if self.sigma * math.sqrt(largest) < 1e-12 * self.first_sigma:
            return "converged"
        latest = self._latest
        if len(latest) == self._alike and max(latest) - min(latest) < 1e-11 + 4e-15 * abs(latest[-1]):
            return "converged"
        if len(self.bests) > window:
            recent = self.bests[-window:]
            if max(recent) - min(recent) < 1e-11 + 4e-16 * abs(recent[-1]):
                return "converged"
        if len(self.bests) > 100 + 150 * (len(self.mean) + 3) ** 2 / math.sqrt(self.population):
            return "stagnates"
        return None


@functools.lru_cache(maxsize=1024)
def _defaults(population: int, dimension: int) -> tuple[Defaults, np.ndarray]:
    """The default rates, and all weights by rank: the positive ones sum to 1."""
    rates = defaults(population, dimension)
    return rates, rates.pull / rates.pull.sum() + rates.bound * rates.push / -rates.push.sum()


def _quantile(ordered: list[float], share: float) -> float:
    """By linear interpolation between ordered values."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])

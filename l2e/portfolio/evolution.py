"""The evolutionary path: a matrix-adaptation evolution strategy whose generations a surrogate may guide.

H.-G. Beyer and B. Sendhoff, "Simplify your covariance matrix adaptation evolution strategy", IEEE TEC 2017, with
active weights (N. Hansen, tutorial 2016, Eq. 49-58). No eigendecomposition: the factor M of C = M M' is updated.
"""

import functools
import math

import numpy as np

from l2e.core.cma_defaults import Defaults, defaults
from l2e.portfolio.parallel import spare
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, Run, Steps, fold, mirror
from l2e.portfolio.surrogate import Surrogate

MAX_DEVIATION = WIDTH / 3
"""The largest standard deviation along a coordinate."""

LEAST_ROOM = 0.3
"""A step to the model's minimiser that leaves the cube is cut at its face, if at least this share of it is inside."""

MAX_GROWTH, CONFIRMED_GROWTH = 1.0, 0.05
"""The step grows by no more than these exponents: in a generation that is evaluated whole, and in a guided one whose
best point is a new record; in other guided ones it does not grow."""

MAX_CONDITION = 1e7
CONDITION_EVERY = 10
"""Of the factor, looked at every so many generations: beyond, its numbers mean nothing (Hansen's tutorial stops where
that of C is 1e14)."""

ALIKE, ALIKE_LEAST = 2, 12
"""This many populations of values that are all the same, or evaluations if that is more, end a search: nothing is left
to be found here."""

ROUNDING, ROUNDING_OF_LATEST, ROUNDING_OF_BESTS = 1e-11, 4e-15, 4e-16
"""Values that differ by no more than this, and this share of them, are the same; the best of populations by less."""

LEAST_STEP = 1e-12
"""A search whose step is below this share of its first one has converged."""

WINDOW_LEAST, WINDOW = 10, 30
"""Best values are compared over this many populations, and this many evaluations per dimension."""

LONGEST, LONGEST_SCALE, LONGEST_SHIFT = 100, 150, 3
"""A search ends after 100 + 150 (D + 3)^2 / sqrt(lambda) populations: Hansen's tutorial, B.3."""

QUARTILES = (0.25, 0.75)
LEAST_LENGTH = 1e-20
"""Squared lengths of samples are at least this."""

LEAST_FACTOR = 1e-300


class Evolution:
    """MA-ES from a mean and a step; call `step` for a generation until it returns a reason.

    **Arguments:** `mean`, `sigma`: in the working cube; `population`: lambda, which may be changed between steps;
    `surrogate`: a model that ranks in place of evaluations while it has earned trust, or None; `factor`: the first
    M of C = M M', the identity if left out; `record`: the best value known where it begins, which steps to a model's
    minimiser have to beat.
    """

    def __init__(
        self,
        mean: np.ndarray,
        sigma: float,
        population: int,
        surrogate: Surrogate | None = None,
        factor: np.ndarray | None = None,
        record: float = np.inf,
    ):
        self.mean, self.sigma = mean.copy(), sigma
        self.first_mean, self.first_sigma = mean.copy(), sigma
        self.factor = np.eye(len(mean)) if factor is None else factor.copy()
        self.path = np.zeros(len(mean))
        self.surrogate = surrogate
        self.used = 0
        self._generations = 0
        self.best_f = np.inf
        self._record = record
        self.bests: list[float] = []  # of each lambda evaluations
        self.spreads: list[float] = []
        self._block: list[float] = []
        self._latest: list[float] = []
        self._owed = 0  # generations that a serial search would have made in the last round of workers
        self.resize(population)

    def resize(self, population: int) -> None:
        """Another population size from the next generation on."""
        self.population = population
        self.rates, self.weights = _defaults(population, len(self.mean))

    def step(self, run: Run) -> Steps:
        """One generation."""
        before = run.used
        if not np.isfinite(run.best_f):
            self.mean = run.rng.uniform(-HALF, HALF, len(self.mean))  # nothing found yet: look elsewhere
        self._stay_inside()
        z = run.rng.standard_normal((self.population, len(self.mean)))
        matrix = self.sigma * self.factor
        run.expect(self.mean, matrix, self.population)
        if self.surrogate is None:
            yield from self._plain(run, z)
        else:
            yield from self._guided(run, z, matrix, self.surrogate)
        self.used += run.used - before
        return self._reason()

    def _stay_inside(self) -> None:
        """A mean that left becomes its mirror image, with the distribution: nothing changes but the names."""
        if (np.abs(self.mean) > HALF).any():
            self.mean, backwards = fold(self.mean)
            self.factor[backwards] *= -1

    def _plain(self, run: Run, z: np.ndarray) -> Steps:
        values = yield from run.evaluate(self.mean + self.sigma * z @ self.factor.T)
        self._note(values)
        if not np.isfinite(values).any():
            self.mean = run.best_x.copy()  # back to where there are values
            return None
        self.mean = self.mean + self._update(z, values, MAX_GROWTH)
        return None

    def _guided(self, run: Run, z: np.ndarray, matrix: np.ndarray, surrogate: Surrogate) -> Steps:
        """A generation in which the model chooses what is evaluated, and stands in for the rest."""
        if not surrogate.fit(run, self.mean, matrix, self.population):
            return (yield from self._plain(run, z))
        if run.workers > 1 and surrogate.fresh:
            z, matrix = self._catch_up(run, z, matrix, surrogate)
            z[0] = self._inside(surrogate.minimiser_in(self.mean, matrix), matrix)
        elif surrogate.fresh:
            z[0] = self._inside(surrogate.minimiser(), matrix)
        points = mirror(self.mean + z @ matrix.T)
        values = surrogate.predict(points)
        order = np.argsort(values, kind="stable")
        if surrogate.fresh:  # the minimiser is always evaluated
            order = np.concatenate([[0], order[order != 0]])
        chosen = order[: surrogate.evaluations(self.population)]
        record = self._record
        more = self._candidates(run, surrogate, matrix, spare(len(chosen), run.workers))
        self._owed = round(len(more) / len(chosen))
        run.look_ahead(more)
        true = yield from run.evaluate(points[chosen])
        found = (yield from run.evaluate(more)) if len(more) else np.empty(0)
        if not np.isfinite(true).all() and len(chosen) < len(order):  # of failures the model knows nothing
            rest = yield from run.evaluate(points[order[len(chosen) :]])
            chosen, true = order, np.concatenate([true, rest])
        self._note(true)
        surrogate.learn(values[chosen], true)
        values[chosen] = true
        confirmed = bool(true.min() < record)
        # the minimiser truly is the best that this search has seen
        best_ever = surrogate.fresh and confirmed and true[0] <= true.min()
        shift = self._update(z, values, CONFIRMED_GROWTH if confirmed else 0.0)
        self.mean = points[0] if best_ever else self.mean + shift
        if len(found) and found.min() < min(true.min(), record):
            self.mean = more[int(np.argmin(found))].copy()
            self.best_f = self._record = float(found.min())
        turned = surrogate.shape()
        if turned is not None:
            axes, scale = turned
            self.factor = self.factor @ ((axes * scale) @ axes.T)
            self.path = (axes / scale) @ (axes.T @ self.path)
        return None

    def _catch_up(
        self, run: Run, z: np.ndarray, matrix: np.ndarray, surrogate: Surrogate
    ) -> tuple[np.ndarray, np.ndarray]:
        """The generations that a serial search would have made in the meantime, on the model alone; samples and matrix
        of the one that follows."""
        for _ in range(self._owed):
            values = surrogate.predict(mirror(self.mean + z @ matrix.T))
            self.mean = self.mean + self._update(z, values, 0.0)
            self._stay_inside()
            z = run.rng.standard_normal(z.shape)
            matrix = self.sigma * self.factor
        self._owed = 0
        return z, matrix

    def _candidates(self, run: Run, surrogate: Surrogate, matrix: np.ndarray, count: int) -> np.ndarray:
        """For workers that a guided generation leaves idle: minimisers of models that could be true as well.

        They are no part of the generation, so they do not disturb its adaptation; the model learns from them.
        """
        if not surrogate.fresh or count <= 0:
            return np.empty((0, len(self.mean)))
        others = [self._inside(surrogate.minimiser_in(self.mean, matrix, run.rng), matrix) for _ in range(count)]
        return mirror(self.mean + np.asarray(others) @ matrix.T)

    def _inside(self, z: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """A step that ends where it leaves the cube, unless that would be soon: then its mirror image is as good."""
        step = matrix @ z
        out = np.abs(self.mean + step) > HALF
        if not out.any():
            return z
        room = float(((np.copysign(HALF, step) - self.mean)[out] / step[out]).min())
        return z * room if room > LEAST_ROOM else z

    def _update(self, z: np.ndarray, values: np.ndarray, most: float) -> np.ndarray | float:
        """Adapt the distribution to a generation, its step by no more than the exponent `most`; the mean's step."""
        finite = int(np.isfinite(values).sum())
        if not finite:
            return 0.0
        rate, d = self.rates, len(self.mean)
        z = z[np.argsort(values, kind="stable")]
        weights = self.weights
        if finite < len(weights):  # a failed point never pulls
            weights = weights.copy()
            weights[finite:] = np.minimum(weights[finite:], 0)
        pull = np.maximum(weights, 0)
        mean_step = (pull / pull.sum()) @ z
        shift = self.sigma * self.factor @ mean_step
        push = math.sqrt(rate.mu_eff * rate.c_sigma * (2 - rate.c_sigma))
        self.path = (1 - rate.c_sigma) * self.path + push * mean_step
        lengths = (z**2).sum(axis=1)
        active = np.where(weights < 0, weights * d / np.maximum(lengths, LEAST_LENGTH), weights)
        change_of_c = rate.c_1 * np.outer(self.path, self.path) + rate.c_mu * ((z.T * active) @ z)
        change_of_c.flat[:: d + 1] -= rate.c_1 + rate.c_mu * float(weights.sum())
        self.factor = self.factor + 0.5 * self.factor @ change_of_c
        growth = (rate.c_sigma / rate.d_sigma) * (math.sqrt(float(self.path @ self.path)) / _chi(d) - 1)
        self.sigma *= math.exp(min(growth, most))
        largest = math.sqrt(float((self.factor**2).sum(axis=1).max()))
        self.sigma = min(self.sigma, MAX_DEVIATION / max(largest, LEAST_FACTOR))
        return shift

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
            low, high = (_quantile(block, share) for share in QUARTILES)
            self.bests.append(block[0])
            self.spreads.append(high - low)
            self._block = []

    @property
    def _alike(self) -> int:
        """Evaluations in a row that, if they differ by no more than rounding, end a search."""
        return max(ALIKE * self.population, ALIKE_LEAST)

    def _reason(self) -> Reason | None:
        """The stopping reason, or None."""
        d = len(self.mean)
        window = WINDOW_LEAST + math.ceil(WINDOW * d / self.population)
        largest = float((self.factor**2).sum(axis=1).max())
        if not (math.isfinite(self.sigma) and math.isfinite(largest) and np.isfinite(self.mean).all()):
            return Reason.BROKEN
        self._generations += 1
        if self._generations % CONDITION_EVERY == 0 and np.linalg.cond(self.factor) > MAX_CONDITION:
            return Reason.BROKEN
        if self.sigma * math.sqrt(largest) < LEAST_STEP * self.first_sigma:
            return Reason.CONVERGED
        if len(self._latest) == self._alike and _alike(self._latest, ROUNDING_OF_LATEST):
            return Reason.CONVERGED
        if len(self.bests) > window and _alike(self.bests[-window:], ROUNDING_OF_BESTS):
            return Reason.CONVERGED
        if len(self.bests) > LONGEST + LONGEST_SCALE * (d + LONGEST_SHIFT) ** 2 / math.sqrt(self.population):
            return Reason.STAGNATES
        return None


def _alike(values: list[float], share: float) -> bool:
    """Whether values differ by no more than rounding."""
    return max(values) - min(values) < ROUNDING + share * abs(values[-1])


@functools.cache
def _chi(d: int) -> float:
    """The expected length of a standard normal vector: Hansen's tutorial, above Eq. (34)."""
    return math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))


@functools.lru_cache(maxsize=1024)
def _defaults(population: int, dimension: int) -> tuple[Defaults, np.ndarray]:
    """The default rates, and all weights by rank: the positive ones sum to 1."""
    rates = defaults(population, dimension)
    return rates, rates.pull / rates.pull.sum() + rates.bound * rates.push / -rates.push.sum()


def _quantile(ordered: list[float], share: float) -> float:
    """By linear interpolation between ordered values: .2 microseconds on a dozen, where numpy's takes 60."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])

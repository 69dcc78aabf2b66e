"""Ranking-weighted Gaussian process ensemble (RGPE; Feurer, Letham and Bakshy, 2018), written in numpy.

A process is fitted to the evaluations of each solved member and one to those of the new problem. Each is weighted by
how often, in draws of its posterior, it orders the new problem's values best; a process that is worse than the new
problem's own most of the time is left out (the paper's guard against dilution). The next point has the largest expected
improvement of the weighted ensemble among random points, points around the best one, and the members' ends.
"""

import dataclasses
import functools

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import ndtr

from l2e.adapters.sources import Sources
from l2e.adapters.unit_cube import UnitMeter
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.evaluator import Evaluator

LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Of the kernel, in units of the cube times the root of the dimension; the likeliest is taken."""

NOISES = (1e-4, 1e-2)
DRAWS = 64
"""Of posteriors, by which processes are ranked."""

DILUTION = 0.95
"""A member's process is left out if its median loss is above this quantile of the own one's."""

CANDIDATES, AROUND = 500, 200
"""Random candidates for the next point, and those around the best one."""

FEWEST = 3
"""Evaluations, at the best ends of members, before anything is ranked."""

RANKED = 60
"""Evaluations of the new problem by whose order processes are weighted: the latest."""

MOST = 300
"""Evaluations of the new problem that its own process is fitted to: the best and the latest."""


class Process:
    """A Gaussian process (Matern 5/2, one length) on standardised values, with the likeliest of a few settings."""

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.x, self._middle = x, float(y.mean())
        self._scale = float(y.std()) or 1.0
        self._z = (y - self._middle) / self._scale
        distances, root = _distances(x, x), np.sqrt(x.shape[1])
        best = -np.inf
        for length in LENGTHS:
            kernel = _matern(distances / (length * root))
            for noise in NOISES:
                factor = cho_factor(kernel + noise * np.eye(len(x)), lower=True)
                solved = cho_solve(factor, self._z)
                likelihood = -0.5 * self._z @ solved - np.log(np.diagonal(factor[0])).sum()
                if likelihood > best:
                    best, self._length, self._noise = likelihood, length * root, noise
                    self._factor, self._solved = factor[0], solved

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation, of standardised values."""
        cross = _matern(_distances(x, self.x) / self._length)
        left = solve_triangular(self._factor, cross.T, lower=True)
        return cross @ self._solved, np.sqrt(np.maximum(1 - (left**2).sum(axis=0), 1e-9))

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation at each own point, without it."""
        inverse = cho_solve((self._factor, True), np.eye(len(self.x)))
        variances = 1 / np.diagonal(inverse)
        return self._z - self._solved * variances, np.sqrt(np.maximum(variances, 1e-9))


@dataclasses.dataclass(frozen=True, eq=False)
class RGPE(AbstractAdapter):
    """Bayesian optimisation with an ensemble of processes, of solved members and of the new problem.

    It costs about n^3 for n evaluations, and is meant for small budgets.

    **Arguments:** `sources`: solved members.
    """

    sources: Sources

    @functools.cached_property
    def _members(self) -> list[Process]:
        numbers = np.unique(self.sources.member)
        return [Process(self.sources.points[at], _tame(self.sources.values[at])) for at in self._places(numbers)]

    def _places(self, numbers: np.ndarray) -> list[np.ndarray]:
        return [np.flatnonzero(self.sources.member == i) for i in numbers]

    @functools.cached_property
    def _ends(self) -> np.ndarray:
        """The best point of each member."""
        places = self._places(np.unique(self.sources.member))
        return np.array([self.sources.points[at[np.argmin(self.sources.values[at])]] for at in places])

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        self.sources.check(space.dimension)
        meter, rng = UnitMeter(evaluate, space), np.random.default_rng(seed)
        first = self._ends[rng.permutation(len(self._ends))[:FEWEST]]
        if start is not None:
            first = np.vstack([meter.to_unit(start), first])
        points, values = list(first), [float(meter(point)) for point in first]
        while True:
            point = self._next(np.array(points), np.array(values), rng)
            points.append(point)
            values.append(float(meter(point)))

    def _next(self, points: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        usable = np.isfinite(values)
        if usable.sum() < 2:
            return rng.random(points.shape[1])
        x, y = _kept(points[usable], values[usable])
        own = Process(x, _tame(y))
        weights = self._weights(own, x, y, rng)
        best = x[np.argmin(y)]
        candidates = self._candidates(best, rng)
        mean, variance = np.zeros(len(candidates)), np.zeros(len(candidates))
        lead = 0.0
        for weight, process in zip(weights, [*self._members, own], strict=True):
            if weight > 0:
                m, s = process.predict(candidates)
                mean, variance = mean + weight * m, variance + weight**2 * s**2
                lead += weight * float(process.predict(best[None])[0][0])
        deviation = np.sqrt(np.maximum(variance, 1e-12))
        z = (lead - mean) / deviation
        gain = deviation * (z * ndtr(z) + np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
        return candidates[int(np.argmax(gain))]

    def _candidates(self, best: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        widths = 10 ** rng.uniform(-3, -0.5, (AROUND, 1))
        near = np.clip(best + widths * rng.standard_normal((AROUND, len(best))), 0, 1)
        return np.vstack([rng.random((CANDIDATES, len(best))), near, self._ends])

    def _weights(self, own: Process, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """How often each process, the own one last, orders the values of the new problem best."""
        count = len(self._members)
        losses = np.empty((count + 1, DRAWS))
        for i in range(count):
            losses[i] = _loss(*self._members[i].predict(x[-RANKED:]), y[-RANKED:], rng)
        mean, deviation = own.left_out()
        losses[count] = _loss(mean[-RANKED:], deviation[-RANKED:], y[-RANKED:], rng)
        worse = np.median(losses[:count], axis=1) > np.quantile(losses[count], DILUTION)
        losses[:count][worse] = np.inf
        least = losses == losses.min(axis=0)
        return (least / least.sum(axis=0)).mean(axis=1)


def _loss(mean: np.ndarray, deviation: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Misordered pairs in draws of a process's values."""
    drawn = mean + deviation * rng.standard_normal((DRAWS, len(mean)))
    wrong = (drawn[:, :, None] < drawn[:, None]) ^ (y[:, None] < y)
    return wrong.sum(axis=(1, 2))


def _kept(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(y) <= MOST:
        return x, y
    best = np.argsort(y, kind="stable")[: MOST // 2]
    chosen = np.union1d(best, np.arange(len(y) - MOST // 2, len(y)))
    return x[chosen], y[chosen]


def _tame(y: np.ndarray) -> np.ndarray:
    """Values with the far tail drawn in, which a process could not fit: the logarithm above the median."""
    middle = float(np.median(y))
    low = float(y.min())
    room = middle - low
    return np.where(y > middle, middle + room * np.log1p(np.maximum(y - middle, 0) / room), y) if room > 0 else y


def _distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    return np.sqrt(np.maximum(squares, 0))


def _matern(distance: np.ndarray) -> np.ndarray:
    a = np.sqrt(5) * distance
    return (1 + a + a * a / 3) * np.exp(-a)

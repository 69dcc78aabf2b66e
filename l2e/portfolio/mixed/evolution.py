"""The evolution strategy over a grid: a normal distribution with a margin, and probabilities for options.

Stepped coordinates are sampled with the continuous ones and rounded; a margin keeps the probability of leaving their
cell above 1 / (dimension x population), so that none freezes (R. Hamano, S. Saito, M. Nomura, S. Shirakawa, "CMA-ES
with margin", GECCO 2022). Options of categories are drawn by probabilities that follow the best of each generation and
never fall below such a margin, in the manner of CatCMA (the same authors, GECCO 2024).
"""

import math
from statistics import NormalDist

import numpy as np

from l2e.core.cma_defaults import default_population
from l2e.portfolio.evolution import MAX_GROWTH, Evolution
from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.mixed.model import LatticeModel
from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run, Steps, mirror
from l2e.portfolio.surrogate import Surrogate

REACH = 3.0
"""Standard deviations within which the model is minimised."""

IDLE = 30
"""Generations in a row without a new point end a search."""

PATIENCE = 10.0
"""Evaluations per dimension without a better value that end a search."""

OPTION_DELAY = 8.0
"""Probabilities of options learn at the rate mu / (mu + this + options)."""

FIRST_CHANCE = 0.5
"""The probability of the options of the point at which a search begins."""

MAX_CONDITION = 1e10
"""Of the factor, above that of continuous searches: margins keep some axes long while others shrink."""

LEAST_GAIN = 1e-9
"""A value is better if it is by this share."""

NORMAL = NormalDist()


class MixedEvolution(Evolution):
    """MA-ES with margin on the ordered coordinates of a grid, and categories beside it.

    **Arguments:** `grid`; `point`: a snapped point where it begins; `sigma`; `surrogate`: ranks in place of
    evaluations while it has earned trust; `populations`: the population over its default; `local`: whether options
    begin near those of the point, or all alike; `record`: the value to beat.
    """

    def __init__(
        self,
        grid: Grid,
        point: np.ndarray,
        sigma: float,
        surrogate: Surrogate | None,
        *,
        populations: int = 1,
        local: bool = True,
        record: float = math.inf,
    ):
        size = populations * default_population(max(len(grid.ordered), 2))
        mean = point[grid.ordered] if len(grid.ordered) else np.zeros(1)
        super().__init__(mean, sigma, size, surrogate, None, record)
        self._grid = grid
        self._rank = {int(column): i for i, column in enumerate(grid.ordered)}
        self.chances = [_first_chances(len(g), o, local) for g, o in zip(grid.groups, grid.options(point), strict=True)]
        self.best_x: np.ndarray | None = None
        self._idle = 0
        self._since = 0
        self._own = math.inf
        self._keep_margin()

    def step(self, run: Run) -> Steps:
        assert isinstance(run, MixedRun)
        before = run.used
        z = run.rng.standard_normal((self.population, len(self.mean)))
        points = self._sample(run, z)
        yield from self._generation(run, z, points)
        self._keep_margin()
        self.used += run.used - before
        return self._ends(run.used - before, run.dimension)

    def inject(self, x: np.ndarray, f: float) -> None:
        """Go on from a better point that another search found."""
        self.best_x, self.best_f = x.copy(), f
        self._own, self._since = min(self._own, f), 0
        if len(self._grid.ordered):
            self.mean = x[self._grid.ordered].copy()
            self._keep_margin()

    def _sample(self, run: MixedRun, z: np.ndarray) -> np.ndarray:
        points = np.zeros((len(z), self._grid.dimension))
        if len(self._grid.ordered):
            points[:, self._grid.ordered] = self.mean + self.sigma * z @ self.factor.T
        for group, chances in enumerate(self.chances):
            self._grid.choose(points, group, run.rng.choice(len(chances), len(z), p=chances))
        return self._grid.snap(mirror(points))

    def _generation(self, run: MixedRun, z: np.ndarray, points: np.ndarray) -> Steps:
        surrogate, guided, chosen = self.surrogate, False, np.arange(len(points))
        if surrogate is not None:
            mean, matrix = self._frame()
            guided = surrogate.fit(run, mean, matrix, self.population)
        if guided and surrogate is not None:
            if surrogate.fresh:
                self._aim(run, z, points, surrogate)
            predicted = surrogate.predict(points)
            chosen = self._chosen(run, predicted, points, surrogate)
            true = yield from run.evaluate(points[chosen])
            surrogate.learn(predicted[chosen], true)
            values = predicted.copy()
            values[chosen] = true
        else:
            values = true = yield from run.evaluate(points)
        if len(true) and true.min() < self.best_f:
            self.best_x = points[chosen][int(np.argmin(true))].copy()
        self._note(true)
        if np.isfinite(values).any():
            shift = self._update(z, values, MAX_GROWTH)
            self.mean = np.clip(self.mean + shift, -HALF, HALF)
            self._learn_options(points, values)
        elif np.isfinite(run.best_f):
            self.mean = run.best_x[self._grid.ordered].copy() if len(self._grid.ordered) else self.mean
        return None

    def _frame(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and matrix of the frame of the model, which also has the coordinates of categories."""
        d, ordered = self._grid.dimension, self._grid.ordered
        mean, matrix = np.zeros(d), HALF * np.eye(d)
        if len(ordered):
            mean[ordered] = self.mean
            matrix[np.ix_(ordered, ordered)] = self.sigma * self.factor
        return mean, matrix

    def _aim(self, run: MixedRun, z: np.ndarray, points: np.ndarray, surrogate: Surrogate) -> None:
        """Put the model's minimum on the grid into the first place of the generation, if it was not evaluated yet."""
        mean, matrix = self._frame()
        assert surrogate.model is not None
        spread = np.sqrt((matrix**2).sum(axis=1))
        reach = REACH * spread
        low, high = mean - reach, mean + reach
        for column in self._grid.groups:
            low[column], high[column] = -HALF, HALF
        inverse = np.linalg.inv(matrix)
        model = LatticeModel(surrogate.model, mean, inverse, self._grid, low, high)
        starts = [self._grid.snap(mean[None])[0], points[int(np.argmin(model.value(points)))]]
        if np.isfinite(run.best_f) and (np.abs(run.best_x - mean) <= 2 * reach).all():
            starts.append(run.best_x)
        found = np.asarray([model.minimise(start) for start in starts])
        found = found[~run.is_known(found)]
        if len(found):
            points[0] = found[int(np.argmin(model.value(found)))]
            if len(self._grid.ordered):
                z[0] = np.linalg.solve(self.sigma * self.factor, points[0][self._grid.ordered] - self.mean)

    def _chosen(self, run: MixedRun, predicted: np.ndarray, points: np.ndarray, surrogate: Surrogate) -> np.ndarray:
        """What is truly evaluated: the minimum of the model, the best of the rest, and what costs nothing."""
        known = run.is_known(points)
        order = np.argsort(predicted, kind="stable")
        order = np.concatenate([[0], order[order != 0]]) if surrogate.fresh else order
        new = [int(i) for i in order if not known[i]][: surrogate.evaluations(self.population)]
        return np.concatenate([np.flatnonzero(known), np.asarray(new, dtype=int)])

    def _learn_options(self, points: np.ndarray, values: np.ndarray) -> None:
        pull = np.maximum(self.weights, 0)[: int(np.isfinite(values).sum())]
        if not self.chances or not pull.sum() > 0:
            return
        best = points[np.argsort(values, kind="stable")[: len(pull)]]
        mu = 1 / float(((pull / pull.sum()) ** 2).sum())
        for g, group in enumerate(self._grid.groups):
            shares = (pull / pull.sum()) @ (best[:, group] > 0)
            rate = mu / (mu + OPTION_DELAY + len(group))
            self.chances[g] = _with_margin(self.chances[g] + rate * (shares - self.chances[g]), self._margin)

    @property
    def _margin(self) -> float:
        return 1 / (self._grid.dimension * self.population)

    def _keep_margin(self) -> None:
        """Widen or move the marginal distributions that hardly ever leave their cell."""
        if not len(self._grid.stepped):
            return
        whole = np.zeros(self._grid.dimension)
        whole[self._grid.ordered] = self.mean
        lows, highs = self._grid.edges(whole)
        for column, low, high in zip(self._grid.stepped.tolist(), lows.tolist(), highs.tolist(), strict=True):
            self._keep(self._rank[column], low, high)

    def _keep(self, i: int, low: float, high: float) -> None:
        spread = self.sigma * math.sqrt(float(self.factor[i] @ self.factor[i]))
        if not (0 < spread < math.inf) or (math.isinf(low) and math.isinf(high)):
            return
        margin = self._margin
        if math.isinf(low):
            self.mean[i] = max(self.mean[i], high - spread * NORMAL.inv_cdf(1 - margin))
        elif math.isinf(high):
            self.mean[i] = min(self.mean[i], low + spread * NORMAL.inv_cdf(1 - margin))
        else:
            below = NORMAL.cdf((low - self.mean[i]) / spread)
            above = NORMAL.cdf((self.mean[i] - high) / spread)
            if min(below, above) >= margin / 2:
                return
            farther = -NORMAL.inv_cdf(max(below, margin / 2)), -NORMAL.inv_cdf(max(above, margin / 2))
            wanted = (high - low) / (farther[0] + farther[1])
            self.mean[i] = low + farther[0] * wanted
            self.factor[i] *= wanted / spread

    def _ends(self, spent: int, dimension: int) -> Reason | None:
        self._idle = 0 if spent else self._idle + 1
        better = self.best_f < self._own - LEAST_GAIN * abs(self._own) if math.isfinite(self._own) else True
        self._since = 0 if better else self._since + spent
        self._own = min(self._own, self.best_f)
        if self._idle >= IDLE or not (math.isfinite(self.sigma) and np.isfinite(self.factor).all()):
            return Reason.CONVERGED
        if self._since > PATIENCE * dimension + 2 * self.population:
            return Reason.STAGNATES
        if np.linalg.cond(self.factor) > MAX_CONDITION:
            return Reason.BROKEN
        return None


def _first_chances(count: int, option: int, local: bool) -> np.ndarray:
    chances = np.full(count, 1 / count)
    if local and count > 2:
        chances[:] = (1 - FIRST_CHANCE) / (count - 1)
        chances[option] = FIRST_CHANCE
    return chances


def _with_margin(chances: np.ndarray, margin: float) -> np.ndarray:
    """Probabilities of which none is below the margin over the number of other options."""
    least = margin / (len(chances) - 1)
    raised = np.maximum(chances, least)
    spare = raised - least
    return least + spare * (1 - least * len(chances)) / spare.sum()

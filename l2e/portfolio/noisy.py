"""The default method on noisy functions: no finite differences, and a recommendation instead of the luckiest value.

Most of the budget goes to the evolutionary searches, whose generations are smoothed (`l2e.portfolio.smoothing`). The
rest is spent on evaluating a few candidates again: the minimum of a quadratic fitted around where the best values are,
the middle of these, the middle of the latest points, the luckiest one, and points whose neighbours are good, too. Half
of them stay after each round (K. Jamieson, A. Talwalkar, "Non-stochastic best arm identification", 2016), and the best
median (or mean) is recommended.
"""

import dataclasses
import itertools
import math
from collections.abc import Generator
from typing import Literal

import numpy as np

from l2e.core.box import Box
from l2e.core.lattice import MixedBox
from l2e.core.program import AbstractProgram
from l2e.core.search import Account, Assessment, Recommendation, Span, padded
from l2e.portfolio.evaluated import Evaluated
from l2e.portfolio.method import Portfolio, drive, to_cube
from l2e.portfolio.policy import LARGE_ABOVE, Reach
from l2e.portfolio.quadratic import fit_quadratic, terms_of
from l2e.portfolio.reasons import Reason
from l2e.portfolio.router import Router
from l2e.portfolio.smoothing import SmoothingRun
from l2e.portfolio.transfer.method import Transfer

Statistic = Literal["median", "mean"]

SEARCHED = 0.9
"""The share of the budget that is searched with; the rest decides between candidates."""

BEST, LATEST = 0.1, 0.05
"""The share of the points with the lowest values around whose middle the quadratic is fitted, and the share of the
latest points whose middle is a candidate."""

SMOOTHED, NEIGHBOURS = 30, 2
"""Points with the lowest values that are smoothed, and how many neighbours per dimension each has."""

CANDIDATES = 8
REACH = Reach(3.0, 5.0)
"""How far the fit looks: points per coefficient, and where weights fall off."""

WITHOUT = ("coordinates", "gate", "look", "newton")
"""Parts that rely on differences of nearby values."""

DECIDING = "deciding"
"""The name of the last part in the trace."""


@dataclasses.dataclass(frozen=True, eq=False)
class Noisy(AbstractProgram):
    """The default method for functions whose values are uncertain.

    **Arguments:** `inner`: the method that searches; parts that need exact values are left out of it; `statistic`: of
    a point's values, by which candidates are compared.
    """

    inner: Portfolio | Transfer
    statistic: Statistic = "median"

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        explored = max(1, int(SEARCHED * budget))
        search = self._search(space, seed, explored, start, account)
        seen = Evaluated()
        batch = next(search)
        while True:
            asked, room = len(batch), explored - seen.count
            batch = batch[:room] if room > 0 else batch
            told = yield batch
            seen.add(batch, told)
            if seen.count >= explored and np.isfinite(seen.best_f):  # without a value there is nothing to decide
                break
            try:
                batch = search.send(padded(told, asked))
            except StopIteration:
                break
        if account.spans:
            account.spans[-1] = account.spans[-1]._replace(end=seen.count, reason=str(Reason.LIMIT))
        points = np.concatenate([*(one.points for one in account.known), seen.points])
        values = np.concatenate([*(one.values for one in account.known), seen.values])
        yield from self.decide(space, points, values, budget - seen.count, seen.count, account)

    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment | None:
        return None  # it was not measured

    def with_workers(self, workers: int) -> "Noisy":
        return dataclasses.replace(self, inner=self.inner.with_workers(workers))

    def _search(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        careful = dataclasses.replace(self.inner, policy=self.inner.policy.without(*WITHOUT))
        if isinstance(careful, Transfer) or isinstance(space, MixedBox) or space.dimension > LARGE_ABOVE:
            return careful.batches(space, seed, budget, start, account)
        rng = np.random.default_rng(seed)
        run = SmoothingRun(space.dimension, budget, rng, careful.policy, account, careful.workers)
        first = None if start is None else to_cube(start, space)
        return drive(run, Router().search(run, first), space)

    def decide(
        self, space: Box, points: np.ndarray, values: np.ndarray, left: int, used: int, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        """Evaluate candidates again and again, fewer of them each round, and the last one until nothing is left.

        **Arguments:** `points`, `values`: all that was seen; `left`, `used`: evaluations.
        """
        finite = np.isfinite(values)
        if not finite.any():
            return
        rivals = candidates(space, points[finite], values[finite])
        seen: list[list[float]] = [[] for _ in rivals]
        alive = list(range(len(rivals)))
        rounds = max(1, math.ceil(math.log2(len(rivals))) + 1)
        place = len(account.spans)
        account.spans.append(Span(DECIDING, used, used, f"{len(rivals)} candidates"))
        for round_ in itertools.count():
            share = left // max(rounds - round_, 1)
            asked = [i for _ in range(max(1, share // len(alive))) for i in alive][: max(left, 1)]
            told = yield rivals[asked]
            left, used = left - len(asked), used + len(asked)
            for i, value in zip(asked, told.tolist(), strict=True):
                seen[i].append(value)
            alive = sorted(alive, key=lambda i: self._worth(seen[i]))[: max(1, (len(alive) + 1) // 2)]
            account.recommended = self._recommendation(rivals[alive[0]], seen[alive[0]])
            account.spans[place] = account.spans[place]._replace(end=used)

    def _worth(self, values: list[float]) -> float:
        """A candidate that fails once is out."""
        return self._middle(np.asarray(values)) if values and np.isfinite(values).all() else np.inf

    def _middle(self, values: np.ndarray) -> float:
        return float(np.median(values) if self.statistic == "median" else values.mean())

    def _recommendation(self, point: np.ndarray, seen: list[float]) -> Recommendation | None:
        values = np.asarray([value for value in seen if np.isfinite(value)])
        if not len(values):
            return None
        error = error_of_median(values) if self.statistic == "median" else error_of_mean(values)
        return Recommendation(point.copy(), self._middle(values), error, len(values))


def error_of_mean(values: np.ndarray) -> float:
    """The standard error; infinite for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def error_of_median(values: np.ndarray) -> float:
    """Half of the interval between the values half a root of n before and behind the middle one, which holds the median
    in two of three samples, as a standard error would; infinite for a single value."""
    n = len(values)
    if n < 2:
        return np.inf
    ordered, middle, aside = np.sort(values), (n - 1) / 2, np.sqrt(n) / 2
    low, high = np.interp([middle - aside, middle + aside], np.arange(n), ordered)
    return float(high - low) / 2


def candidates(space: Box, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Points of the box that may be the best, from all that was seen, oldest first."""
    unit = np.asarray(space.to_unit(points))
    order = np.argsort(values, kind="stable")
    middle = unit[order[: max(1, int(BEST * len(order)))]].mean(axis=0)
    found = [middle, unit[-max(1, int(LATEST * len(unit))) :].mean(axis=0), unit[order[0]]]
    reach = np.sort(np.abs(unit - middle).max(axis=1))[: int(REACH.points * terms_of(unit.shape[1]))].max()
    scale = max(float(reach), 1e-9)
    model = fit_quadratic((unit - middle) / scale, values, np.arange(len(values)), REACH)
    if model is not None:
        length = float(np.linalg.norm(model.minimiser))
        found.append(middle + scale * model.minimiser / max(length / np.sqrt(unit.shape[1]), 1.0))
    first = order[:SMOOTHED]
    count = min(NEIGHBOURS * unit.shape[1] + 1, len(unit))
    smooth = [np.median(values[np.argsort(((unit - unit[i]) ** 2).sum(axis=1))[:count]]) for i in first]
    found += [unit[first[i]] for i in np.argsort(smooth, kind="stable")[: CANDIDATES - len(found)]]
    inside = space.from_unit(np.clip(np.asarray(found), 0, 1))
    return np.unique(space.snap(inside) if isinstance(space, MixedBox) else inside, axis=0)

"""The default method on noisy functions: no finite differences, and a recommendation instead of the luckiest value.

Most of the budget goes to the evolutionary searches, whose models average over many points. The rest is spent on
evaluating a few candidates again: the minimum of a quadratic fitted around where the best values are, the middle of
these, and points whose neighbours are good, too. Half of them stay after each round (K. Jamieson, A. Talwalkar,
"Non-stochastic best arm identification", 2016), and the best mean is recommended.
"""

import dataclasses
from collections.abc import Generator

import numpy as np

from l2e.core.box import Box
from l2e.core.lattice import MixedBox
from l2e.core.program import AbstractProgram
from l2e.core.search import Account, Assessment, Recommendation
from l2e.portfolio.method import Portfolio
from l2e.portfolio.policy import Reach
from l2e.portfolio.quadratic import fit_quadratic, terms_of
from l2e.portfolio.transfer.method import Transfer

SEARCHED = 0.8
"""The share of the budget that is searched with; the rest decides between candidates."""

BEST = 0.1
"""The share of the points with the lowest values around whose middle the quadratic is fitted."""

SMOOTHED, NEIGHBOURS = 30, 2
"""Points with the lowest values that are smoothed, and how many neighbours per dimension each has."""

CANDIDATES = 8
REACH = Reach(3.0, 5.0)
"""How far the fit looks: points per coefficient, and where weights fall off."""

WITHOUT = ("coordinates", "gate", "newton", "scout")
"""Parts that rely on differences of nearby values."""


@dataclasses.dataclass(frozen=True, eq=False)
class Noisy(AbstractProgram):
    """The default method for functions whose values are uncertain.

    **Arguments:** `inner`: the method that searches; parts that need exact values are left out of it.
    """

    inner: Portfolio | Transfer

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        explored = max(1, int(SEARCHED * budget))
        careful = dataclasses.replace(self.inner, policy=self.inner.policy.without(*WITHOUT))
        search = careful.batches(space, seed, explored, start, account)
        points, values = np.empty((0, space.dimension)), np.empty(0)
        batch = next(search)
        while len(values) < explored:
            batch = batch[: explored - len(values)]
            told = yield batch
            points, values = np.concatenate([points, batch]), np.concatenate([values, told])
            try:
                batch = search.send(told if len(told) else np.empty(0)) if len(values) < explored else batch
            except StopIteration:
                break
        yield from _decide(space, points, values, max(budget - len(values), 0), account)

    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment | None:
        return None  # it was not measured


def _decide(
    space: Box, points: np.ndarray, values: np.ndarray, left: int, account: Account
) -> Generator[np.ndarray, np.ndarray, None]:
    """Evaluate candidates again and again, fewer of them each round."""
    finite = np.isfinite(values)
    if not finite.any():
        return
    rivals = _candidates(space, points[finite], values[finite])
    seen: list[list[float]] = [[] for _ in rivals]
    alive = list(range(len(rivals)))
    rounds = max(1, int(np.ceil(np.log2(len(rivals)))) + 1)
    for round_ in range(rounds):
        share = left // (rounds - round_)
        each = max(1, share // len(alive))
        asked = [i for _ in range(each) for i in alive][:left]
        if not asked:
            break
        told = yield rivals[asked]
        left -= len(asked)
        for i, value in zip(asked, told.tolist(), strict=True):
            seen[i].append(value)
        alive = sorted(alive, key=lambda i: _mean(seen[i]))[: max(1, (len(alive) + 1) // 2)]
        account.recommended = _recommendation(rivals, seen, alive[0])


def _recommendation(rivals: np.ndarray, seen: list[list[float]], best: int) -> Recommendation | None:
    values = np.asarray([value for value in seen[best] if np.isfinite(value)])
    if not len(values):
        return None
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf
    return Recommendation(rivals[best].copy(), float(values.mean()), error, len(values))


def _mean(values: list[float]) -> float:
    """A candidate that fails once is out."""
    return float(np.mean(values)) if values and np.isfinite(values).all() else np.inf


def _candidates(space: Box, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The model's minimum, the middle of the best points, and the best smoothed points."""
    unit = np.asarray(space.to_unit(points))
    order = np.argsort(values, kind="stable")
    middle = unit[order[: max(1, int(BEST * len(order)))]].mean(axis=0)
    found = [middle]
    reach = np.sort(np.abs(unit - middle).max(axis=1))[: int(REACH.points * terms_of(unit.shape[1]))].max()
    scale = max(float(reach), 1e-9)
    model = fit_quadratic((unit - middle) / scale, values, np.arange(len(values)), REACH)
    if model is not None:
        length = float(np.linalg.norm(model.minimiser))
        found.append(middle + scale * model.minimiser / max(length / np.sqrt(unit.shape[1]), 1.0))
    first = order[:SMOOTHED]
    count = min(NEIGHBOURS * unit.shape[1] + 1, len(unit))
    smooth = [values[np.argsort(((unit - unit[i]) ** 2).sum(axis=1))[:count]].mean() for i in first]
    found += [unit[first[i]] for i in np.argsort(smooth, kind="stable")[: CANDIDATES - len(found)]]
    inside = space.from_unit(np.clip(np.asarray(found), 0, 1))
    return np.unique(space.snap(inside) if isinstance(space, MixedBox) else inside, axis=0)

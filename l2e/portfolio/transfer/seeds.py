"""Which of the past ends to try on a new member, and in which order."""

import numpy as np
from scipy.special import ndtri

REGRET_FLOOR = 1e-3
"""Regrets below this share of the centre's count as this."""

QUALITY = 3.0
"""The distance to a bad end counts up to this much more."""

NOISE = 0.3
"""Of the values that a new member shows, over their mean variance."""

DEVIATION, WORTH = 1.0, 0.3
"""The next seed has the least mean less so many deviations, and a bonus for the quality of its end."""


def regrets(cross: np.ndarray, best: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """log of the regret of each end on each member over that of its centre; what is unknown is filled in."""
    least = np.fmin(best, np.nanmin(np.where(np.isnan(cross), np.inf, cross), axis=1))
    room = np.maximum(centre - least, 0)
    floor = REGRET_FLOOR * np.where(room > 0, room, 1)
    table = np.asarray(np.log((cross - least[:, None] + floor[:, None]) / (room + floor)[:, None]))
    table = np.where(~np.isfinite(table) & ~np.isnan(cross), np.log(1 / REGRET_FLOOR), table)
    np.fill_diagonal(table, 0.0)  # an end says nothing of itself
    return _filled(table)


def _filled(table: np.ndarray) -> np.ndarray:
    """Unknown entries as the mean of their column, of their row where the column is unknown, or nothing."""
    known = ~np.isnan(table)
    sums = np.where(known, table, 0.0)
    columns = sums.sum(axis=0, keepdims=True) / np.maximum(known.sum(axis=0, keepdims=True), 1)
    rows = sums.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    guess = np.where(known.any(axis=0, keepdims=True), columns, rows)
    return np.where(known, table, guess)


def cover(table: np.ndarray, count: int) -> list[int]:
    """A greedy portfolio: each next end lowers the mean over members of the best regret so far the most."""
    chosen: list[int] = []
    best = np.zeros(len(table))
    for _ in range(min(count, table.shape[1])):
        worth = np.minimum(best[:, None], table).mean(axis=0)
        worth[chosen] = np.inf
        chosen.append(int(np.argmin(worth)))
        best = np.minimum(best, table[:, chosen[-1]])
    return chosen


def medoids(ends: np.ndarray, best: np.ndarray, count: int) -> list[int]:
    """Ends near many others, good ones first: distances are weighted by the rank of an end's value."""
    m = len(ends)
    squares = ((ends[:, None] - ends) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    np.fill_diagonal(squares, squares.min(axis=1) if m > 1 else 0.0)
    weighted = squares * (1 + QUALITY * ranks(best) / m)
    nearest, chosen = np.full(m, np.inf), []
    for _ in range(min(count, m)):
        worth = np.minimum(nearest[:, None], weighted).sum(axis=0)
        worth[chosen] = np.inf
        chosen.append(int(np.argmin(worth)))
        nearest = np.minimum(nearest, weighted[:, chosen[-1]])
    return chosen


def next_by_members(features: np.ndarray, tried: list[int], seen: np.ndarray) -> int:
    """The next seed if members' values at all ends are known: a Gaussian over the members.

    **Arguments:** `features`: scaled values of each member (rows) at each end; `seen`: those of the new one at `tried`.
    """
    mean, covariance = features.mean(axis=0), np.atleast_2d(np.cov(features.T))
    noise = NOISE * max(float(np.diagonal(covariance).mean()), 1e-9)
    return _argmin(mean, covariance, noise, tried, seen - mean[tried], np.zeros(len(mean)))


def next_by_distance(ends: np.ndarray, best: np.ndarray, tried: list[int], values: np.ndarray, centre: float) -> int:
    """The next seed by the new member's own values alone: a process over the ends, on normal scores."""
    scores = normal_scores(np.append(values, centre))
    places = np.vstack([ends, np.full((1, ends.shape[1]), 0.5)])
    apart = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    length = max(float(np.median(apart[np.triu_indices(len(ends), 1)])), 1e-9)
    bonus = np.append(WORTH * (2 * ranks(best) / len(ends) - 1), np.inf)
    return _argmin(np.zeros(len(places)), _matern(apart / length), NOISE, [*tried, len(ends)], scores, bonus)


def _argmin(
    mean: np.ndarray, covariance: np.ndarray, noise: float, tried: list[int], seen: np.ndarray, bonus: np.ndarray
) -> int:
    """The place with the least mean less deviation, given what was seen."""
    gram = covariance[np.ix_(tried, tried)] + noise * np.eye(len(tried))
    gain = np.linalg.solve(gram, covariance[tried]).T
    after = mean + gain @ seen
    left = np.maximum(np.diagonal(covariance) - (gain * covariance[:, tried]).sum(axis=1), 0)
    worth = after - DEVIATION * np.sqrt(left) + bonus
    worth[tried] = np.inf
    return int(np.argmin(worth))


def _matern(distance: np.ndarray) -> np.ndarray:
    """Matern 5/2."""
    a = np.sqrt(5) * distance
    return (1 + a + a * a / 3) * np.exp(-a)


def ranks(values: np.ndarray) -> np.ndarray:
    """0 for the least value."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Values by their rank, as quantiles of a normal distribution."""
    return ndtri((ranks(values) + 0.5) / len(values))

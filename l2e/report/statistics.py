"""Tests and effect sizes for comparing methods, on gaps: smaller is better, everything below 1e-8 is equal.

Holm (1979); Demsar (2006), "Statistical comparisons of classifiers over multiple data sets"; Vargha and Delaney (2000).
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from l2e.core.problem import GAP_FLOOR

ALPHA = 0.05


class Comparison(NamedTuple):
    """One method against another: per problem won, tied, lost; over problems a signed-rank test and effect sizes."""

    wins: int
    ties: int
    losses: int
    p: float
    effect: float  # matched-pairs rank-biserial correlation: 1 when better on all problems, -1 when worse on all
    superiority: float  # mean Vargha-Delaney A: the chance that a run of it is better than one of the other


class Friedman(NamedTuple):
    """Mean ranks over problems, Friedman's test, and the difference of mean ranks that is significant (Nemenyi)."""

    ranks: np.ndarray
    statistic: float
    p: float
    critical_difference: float


def outcome(ours: np.ndarray, theirs: np.ndarray) -> int:
    """1, 0 or -1: the runs are better, not different, or worse by a rank-sum test at 5 percent."""
    if len(ours) == 0 or len(theirs) == 0 or np.array_equal(np.unique(ours), np.unique(theirs)):
        return 0
    p = scipy.stats.mannwhitneyu(ours, theirs, alternative="two-sided").pvalue
    return 0 if p >= ALPHA else int(np.sign(superiority(ours, theirs) - 0.5))


def superiority(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Vargha and Delaney's A: P(ours < theirs) + P(ours = theirs) / 2."""
    less = (ours[:, None] < theirs[None, :]).mean()
    equal = (ours[:, None] == theirs[None, :]).mean()
    return float(less + equal / 2)


def compare(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> Comparison:
    """Compare two methods by their gaps on the same problems; the signed-rank test is on logarithms of medians."""
    outcomes = [outcome(a, b) for a, b in zip(ours, theirs, strict=True)]
    differences = np.asarray([decades(a, b) for a, b in zip(ours, theirs, strict=True)])
    differences = differences.round(9)  # equal ratios shall be ties, not ranked by rounding errors
    p, effect = signed_rank(differences)
    mean = float(np.mean([superiority(a, b) for a, b in zip(ours, theirs, strict=True)]))
    return Comparison(outcomes.count(1), outcomes.count(0), outcomes.count(-1), p, effect, mean)


def signed_rank(differences: np.ndarray) -> tuple[float, float]:
    """Wilcoxon's two-sided p, and the rank-biserial correlation; zero differences are left out."""
    nonzero = differences[differences != 0]
    if len(nonzero) == 0:
        return 1.0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of small samples, for which it is exact
        answer: Any = scipy.stats.wilcoxon(nonzero)
    ranks = scipy.stats.rankdata(np.abs(nonzero))
    return float(answer.pvalue), float(np.sum(ranks * np.sign(nonzero)) / ranks.sum())


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests: adjusted p-values, in the order given."""
    order = np.argsort(p_values, kind="stable")
    count, running = len(p_values), 0.0
    adjusted = [1.0] * count
    for place, index in enumerate(order):
        running = max(running, min(1.0, (count - place) * p_values[index]))
        adjusted[index] = running
    return adjusted


def friedman(gaps: np.ndarray) -> Friedman | None:
    """Of a matrix, one row per problem and one column per method; None with fewer than 3 methods or 2 problems."""
    problems, methods = gaps.shape
    if methods < 3 or problems < 2:
        return None
    ranks = ranks_of(gaps)
    if np.all(ranks == ranks[:, :1]):
        statistic, p = 0.0, 1.0
    else:
        statistic, p = map(float, scipy.stats.friedmanchisquare(*gaps.T))
    return Friedman(ranks.mean(axis=0), statistic, p, critical_difference(methods, problems))


def ranks_of(gaps: np.ndarray) -> np.ndarray:
    """Ranks along each row, 1 for the smallest, means for ties."""
    return scipy.stats.rankdata(gaps, axis=1)


def critical_difference(methods: int, problems: int) -> float:
    """Nemenyi's: mean ranks further apart differ significantly at 5 percent, all pairs considered."""
    quantile = scipy.stats.studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(methods * (methods + 1) / (6 * problems)))


def decades(ours: np.ndarray, theirs: np.ndarray) -> float:
    """By how many decades the median of their gaps is above ours; 0 when both have failed."""
    a, b = log_median(ours), log_median(theirs)
    return 0.0 if a == b else b - a


def log_median(gaps: np.ndarray) -> float:
    """The logarithm (base 10) of the median gap, floored at 1e-8."""
    return float(np.log10(max(np.median(gaps), GAP_FLOOR)))


def mean_and_error(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The mean and its standard error, which is infinite for a single value."""
    found = np.asarray(values, float)
    return float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else np.inf


def geometric_mean(gaps: Sequence[float] | np.ndarray) -> float:
    """The geometric mean, each gap floored at 1e-8."""
    return float(np.exp(np.log(np.maximum(gaps, GAP_FLOOR)).mean()))

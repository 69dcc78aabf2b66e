"""Tests and effect sizes, against scipy and against cases computed by hand."""

import numpy as np
import pytest
import scipy.stats

from l2e.report import statistics
from l2e.report.critical_difference import cliques


def test_holm_by_hand() -> None:
    """Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, made monotone."""
    assert statistics.holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_signed_rank_is_scipys_and_its_effect_is_by_hand() -> None:
    differences = np.array([1.0, -2.0, 3.0, 4.0, 0.0, 6.0])
    p, effect = statistics.signed_rank(differences)
    assert p == pytest.approx(scipy.stats.wilcoxon(differences[differences != 0]).pvalue)
    assert effect == pytest.approx((1 - 2 + 3 + 4 + 5) / 15)
    assert statistics.signed_rank(np.zeros(4)) == (1.0, 0.0)


def test_superiority_by_hand() -> None:
    ours, theirs = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0])
    assert statistics.superiority(ours, theirs) == pytest.approx((4 + 0.5) / 6)
    assert statistics.superiority(theirs, ours) == pytest.approx(1 - 4.5 / 6)
    assert statistics.superiority(ours, ours) == 0.5


def test_outcomes_follow_the_rank_sum_test() -> None:
    low, high = np.arange(10.0), np.arange(10.0) + 100
    assert statistics.outcome(low, high) == 1
    assert statistics.outcome(high, low) == -1
    assert statistics.outcome(low, low + 0.5) == 0
    assert statistics.outcome(np.zeros(10), np.zeros(10)) == 0


def test_a_comparison_over_problems() -> None:
    ours = [np.full(5, 1e-3) * (1 + 0.01 * np.arange(5)) for _ in range(6)]
    theirs = [gaps * 100 for gaps in ours[:4]] + [ours[4], ours[5] / 100]
    found = statistics.compare(ours, theirs)
    assert (found.wins, found.ties, found.losses) == (4, 1, 1)
    assert found.superiority == pytest.approx((4 + 0.5 + 0) / 6)
    expected = scipy.stats.wilcoxon([2.0, 2.0, 2.0, 2.0, -2.0]).pvalue
    assert found.p == pytest.approx(expected)


def test_friedman_is_scipys_and_the_critical_difference_demsars() -> None:
    rng = np.random.default_rng(0)
    gaps = rng.uniform(size=(14, 4)) + np.arange(4)
    found = statistics.friedman(gaps)
    assert found is not None
    expected = scipy.stats.friedmanchisquare(*gaps.T)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    # Demsar (2006), section 3.2.2: 4 methods, 14 data sets, q = 2.569, CD = 1.25
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert statistics.friedman(gaps[:, :2]) is None
    tied = statistics.friedman(np.ones((5, 3)))
    assert tied is not None
    assert (tied.p, tied.statistic) == (1.0, 0.0)


def test_ranks_share_ties() -> None:
    np.testing.assert_array_equal(
        statistics.ranks_of(np.array([[0.0, 3.0, 0.0], [1.0, 2.0, 3.0]])), [[1.5, 3, 1.5], [1, 2, 3]]
    )


def test_cliques_join_what_is_closer_than_the_difference() -> None:
    ranks = np.array([4.0, 1.0, 1.8, 3.2])
    assert cliques(ranks, 1.0) == [(0, 1), (2, 3)]
    assert cliques(ranks, 3.0) == [(0, 3)]
    assert cliques(ranks, 0.1) == []

"""Contests on robots: costs are negative, no optimum is known, and curves are normalised as in the paper."""

import numpy as np
import pytest

from l2e.bench.experiment import Note
from l2e.bench.record import RunRecord, RunSpec, now, versions
from l2e.report.collection import FLOOR_REMARK, results_of
from l2e.report.policy_figures import draw_policies, normalisation
from l2e.report.standard_tables import medians, ranking

PROBLEM = "ant-spring:f3:i1:d4328"


def record(method, seed, costs):
    trace = np.asarray([1, 20, 90][: len(costs)]), np.asarray(costs, float)
    spec = RunSpec(PROBLEM, method, "0", seed, 100)
    return RunRecord(spec, *trace, 100, 0, "budget", 1.0, 1.0, "host", versions(), None, now())


@pytest.fixture
def results():
    walks = [record("good", seed, [-150, -200 - seed, -300]) for seed in range(2)]
    stands = [record("bad", seed, [-100, -190 - seed]) for seed in range(2)]
    return results_of([*walks, *stands], Note("robots", "Robots"))


def test_gaps_are_to_a_little_below_the_lowest_cost(results):
    assert results.remarks == (FLOOR_REMARK,)
    np.testing.assert_allclose(results.gaps(PROBLEM, "good"), [3, 3])
    np.testing.assert_allclose(results.gaps(PROBLEM, "bad"), [113, 112])
    assert ranking(results).lines[0].label == "good"
    assert medians(results).lines


def test_normalisation_is_that_of_the_paper(results):
    mean, exponent = normalisation(list(results.runs))
    assert mean == pytest.approx((-300 - 300 - 190 - 191) / 4)
    assert exponent == 1


def test_learning_curves_are_drawn(results, tmp_path):
    (path,) = draw_policies(results, tmp_path)
    assert path.stat().st_size > 20_000

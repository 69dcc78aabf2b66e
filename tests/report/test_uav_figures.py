"""Pictures of flights, and the groups of terrains behind the radar."""

import numpy as np
import pytest

from l2e.api.minimize import minimize
from l2e.bench.experiment import Note
from l2e.bench.record import RunRecord, RunSpec, now, versions
from l2e.problems import uav
from l2e.report import uav_figures
from l2e.report.collection import results_of


def record(terrain, method, seed, cost, searcher="0"):
    spec = RunSpec(f"uav:f{terrain}:i1:d30", method, searcher, seed, 40)
    trace = np.asarray([1]), np.asarray([float(cost)])
    return RunRecord(spec, *trace, 40, 0, "budget", 1.0, 1.0, "host", versions(), None, now())


def contest(terrains):
    costs = {"short": 1000.0, "long": 4000.0}
    records = [record(t, m, seed, cost + t) for t in terrains for m, cost in costs.items() for seed in range(3)]
    return results_of(records, Note("terrains", "Terrains"))


def test_shares_are_the_lowest_cost_over_that_of_a_method_by_group():
    results = contest((1, 2, 9, 17))
    shares = uav_figures.shares_by_group(results, list(results.ordered))
    assert list(shares) == ["Terrain 1-8", "Terrain 9-16", "Terrain 17-24"]
    assert shares["Terrain 1-8"]["short"] == 1
    assert shares["Terrain 1-8"]["long"] == pytest.approx(np.mean([1001 / 4001, 1002 / 4002]))


def test_a_flight_is_drawn_from_the_side_and_from_above(tmp_path):
    problem = uav(3)
    points = problem.space.from_unit(np.random.default_rng(0).random((2, 30)))
    uav_figures.uav_figure(problem, {"first": points[0], "second": points[1]}, tmp_path / "f.png", "two points")
    assert (tmp_path / "f.png").stat().st_size > 100_000


def test_a_report_repeats_no_code_that_a_record_names():
    results = contest((1, 2))
    (run, *_) = results.cells["uav:f1:i1:d30", "short"]
    assert uav_figures.repeated(run, uav(1)) is None  # a method that nobody knows, module:factory for instance


def test_a_run_is_repeated_to_where_it_ended():
    problem = uav(1)
    found = minimize(problem, method="random-search", budget=40, rng=5)
    results = results_of([record(1, "random-search", 5, found.fun)], Note("one", "One"))
    np.testing.assert_array_equal(uav_figures.repeated(results.runs[0], problem), found.x)
    other = results_of([record(1, "random-search", 5, found.fun / 2)], Note("one", "One"))
    assert uav_figures.repeated(other.runs[0], problem) is None

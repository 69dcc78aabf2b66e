import json
from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e.portfolio.confidence import MEASURED, OUTSIDE, assess

RESULTS = Path(__file__).parents[2] / "results" / "envelope.json"


def solve(function, dimension=4, budget=400, **options):
    return l2e.minimize(function, bounds=[(-5, 5)] * dimension, budget=budget, rng=0, **options)


def test_the_numbers_are_the_measured_ones():
    summary = json.loads(RESULTS.read_text())["summary"]
    found = {kind: {int(b): row["confidence"] for b, row in rows.items()} for kind, rows in summary.items()}
    assert found == MEASURED


def test_a_smooth_function_is_inside():
    result = solve(lambda x: float(((x - 1) ** 2).sum()) + 100, budget=800)
    assert result.warnings == []
    assert result.confidence == MEASURED["plain"][200]


def test_noise_is_noticed():
    rng = np.random.default_rng(0)
    result = solve(
        lambda x: float(((x - 1) ** 2).sum() * (1 + 0.05 * rng.standard_normal()) + 3 * rng.random()), budget=800
    )
    assert "noise" in result.warnings[0]
    assert result.noise is not None
    assert result.confidence is None  # a search that went on under noise was not measured


@pytest.mark.parametrize("budget", [80, 140, 200, 400, 800])
def test_plateaus_are_noticed_whoever_searches(budget):
    result = solve(lambda x: float(np.round(((x - 1) ** 2).sum() / 20)), budget=budget)
    assert any("plateaus" in warning for warning in result.warnings)
    assert result.confidence in MEASURED["plateaus"].values()


def test_values_that_repeat_where_a_search_converged_are_no_plateaus():
    for offset in (0.0, 1e3):
        assert not any("plateaus" in w for w in solve(lambda x: offset + float(((x - 1) ** 2).sum())).warnings)  # noqa: B023


@pytest.mark.parametrize(
    ("dimension", "budget", "words"),
    [
        (41, 4200, "measured in 2 to 40 dimensions; this function has 41"),
        (12, 1, "a budget of 1 is tiny for 12 dimensions: expect the quality of random search"),
        (4, 40, "a budget of 40 is small for 4 dimensions: the method needs 80 or more"),
        (2, 30_000, "a budget of 30000 is beyond what was measured, up to 20000 in 2 dimensions"),
    ],
)
def test_outside_of_what_was_measured_the_confidence_is_halved(dimension, budget, words):
    said = assess(dimension, budget, np.arange(30.0), set())
    assert len(said.warnings) == 1
    assert words in said.warnings[0]
    assert said.confidence <= OUTSIDE


def test_points_cut_off_by_the_budget_have_not_failed():
    result = solve(lambda x: float((x**2).sum()), dimension=5, budget=13)
    assert [warning for warning in result.warnings if "finite" in warning] == []
    whole = np.append(np.arange(100.0), np.full(40, np.inf))  # a batch of 40 of which the budget allowed none
    assert assess(5, 100, whole, set()).warnings == ()
    assert "30 of 130 evaluations" in assess(5, 130, whole, set()).warnings[0]


@pytest.mark.parametrize("per_dimension", [20, 50, 200])
@pytest.mark.parametrize("which", [slice(0, 1), slice(0, None)])
def test_a_function_that_rounds_coordinates_is_not_called_noisy(per_dimension, which):
    """The middle of a box of whole numbers is where such a function jumps."""

    def rounding(x):
        y = x.copy()
        y[which] = np.round(y[which])
        return float(((y - 30) ** 2).sum())

    result = l2e.minimize(rounding, bounds=[(1, 100)] * 4, budget=per_dimension * 4, rng=0)
    assert not any("noise" in warning for warning in result.warnings)
    assert result.confidence in (*MEASURED["plateaus"].values(), *MEASURED["plain"].values())


@pytest.mark.parametrize("dimension", [2, 5, 12])
def test_a_start_that_is_a_minimum_is_not_called_noisy(dimension):
    result = solve(lambda x: float(x @ x), dimension=dimension, budget=80 * dimension)
    assert result.warnings == []
    assert result.confidence == MEASURED["plain"][50]


def test_a_part_that_failed_is_said():
    assert "another took over" in assess(5, 500, np.arange(500.0), {"failed"}).warnings[0]


def test_failed_evaluations_are_said():
    with pytest.warns(RuntimeWarning, match="rank last"):
        result = solve(lambda x: float((x**2).sum()) if x[0] < 0 else float("nan"))
    assert any("no finite value" in warning for warning in result.warnings)


def test_no_evaluation_at_all():
    assert assess(3, 300, np.empty(0), set()).warnings == ()


def test_methods_that_say_nothing():
    result = solve(lambda x: float((x**2).sum()), method="cmaes")
    assert result.confidence is None
    assert result.warnings == []


def test_ask_and_tell_say_the_same_as_minimize():
    def function(x):
        return float(np.round(((x - 1) ** 2).sum() / 20))

    optimizer = l2e.Optimizer(bounds=[(-5, 5)] * 4, budget=800, rng=0)
    while not optimizer.stop():
        points = optimizer.ask()
        optimizer.tell(points, [function(x) for x in points])
    result = optimizer.result()
    assert any("plateaus" in warning for warning in result.warnings)
    assert result.confidence == solve(function, budget=800).confidence

import json
from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e.experts.envelope import BUDGETS, DIMENSIONS, MEASURED, OUTSIDE, assess

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
    assert result.confidence == MEASURED["noise"][200]


def test_plateaus_are_noticed():
    result = solve(lambda x: float(np.round(((x - 1) ** 2).sum() / 20)))
    assert any("plateaus" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("dimension", "budget", "word"), [(DIMENSIONS[1] + 1, 4200, "dimension"), (4, 10 * 4, "evaluations per dimension")]
)
def test_outside_of_what_was_measured_the_confidence_is_halved(dimension, budget, word):
    said = assess(dimension, budget, np.arange(30.0), set())
    assert len(said.warnings) == 1
    assert word in said.warnings[0]
    assert said.confidence <= OUTSIDE
    assert BUDGETS[0] > 10


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

    optimizer = l2e.Optimizer(bounds=[(-5, 5)] * 4, budget=400, rng=0)
    while not optimizer.stop():
        points = optimizer.ask()
        optimizer.tell(points, [function(x) for x in points])
    result = optimizer.result()
    assert any("plateaus" in warning for warning in result.warnings)
    assert result.confidence == solve(function).confidence

"""Searches that were not told their budget, or are asked for more than they were told."""

import numpy as np
import pytest

from l2e.portfolio import horizons
from l2e.portfolio.router import Router
from l2e.portfolio.run import Run

D = 4
SHIFT = np.asarray([1.3, -0.7, 2.1, -1.9])


def bowl(x):
    return float(((x - SHIFT) ** 2 * [1, 10, 100, 1000]).sum())


def valley(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def waves(x):
    y = x - SHIFT
    return float((y**2 - 10 * np.cos(2 * np.pi * y) + 10).sum() + y[0] * y[1])


def asked(search, function, evaluations):
    """The points that a search asks for."""
    points = [next(search)]
    while sum(map(len, points)) < evaluations:
        points.append(search.send(np.asarray([function(x) for x in points[-1]])))
    return np.concatenate(points)


def new_run(budget):
    return Run(D, budget, np.random.default_rng(3))


@pytest.mark.parametrize("function", [bowl, valley, waves])
@pytest.mark.parametrize("per_dimension", [20, 60, 200])
def test_a_told_search_knows_of_no_horizon_up_to_its_budget(function, per_dimension) -> None:
    budget = per_dimension * D
    plain, planned = new_run(budget), new_run(budget)
    first = asked(Router().search(plain, np.zeros(D)), function, budget)
    second = asked(horizons.search(Router(), planned, np.zeros(D)), function, budget)
    np.testing.assert_array_equal(first, second)
    assert planned.account.spans == plain.account.spans
    assert planned.budget == budget


@pytest.mark.parametrize("function", [bowl, valley, waves])
def test_without_a_budget_it_begins_as_a_short_search(function) -> None:
    short, long = new_run(horizons.FIRST * D), new_run(1000 * D)
    begun = horizons.FIRST * D
    first = asked(Router().search(short, np.zeros(D)), function, begun)
    second = asked(horizons.search(Router(), long, np.zeros(D), open_ended=True), function, begun)
    np.testing.assert_array_equal(first[:begun], second[:begun])


def seen_budgets(run, search, function, evaluations):
    budgets = []

    def watched(x):
        if not budgets or budgets[-1] != run.budget:
            budgets.append(run.budget)
        return function(x)

    asked(search, watched, evaluations)
    return [budget / D for budget in budgets]


def test_horizons_lie_farther_and_farther_apart_and_end_at_the_budget() -> None:
    run = new_run(900 * D)
    search = horizons.search(Router(), run, np.zeros(D), open_ended=True)
    assert seen_budgets(run, search, waves, 900 * D) == [35, 100, 400, 900]
    run = new_run(150 * D)
    search = horizons.search(Router(), run, np.zeros(D), open_ended=True)
    assert seen_budgets(run, search, waves, 150 * D) == [35, 150]
    run = new_run(15 * D)
    search = horizons.search(Router(), run, np.zeros(D), open_ended=True)
    assert seen_budgets(run, search, waves, 15 * D) == [15]


def test_who_asks_for_more_than_was_told_gets_a_new_plan() -> None:
    run = new_run(30 * D)
    search = horizons.search(Router(), run, np.zeros(D))
    assert seen_budgets(run, search, waves, 450 * D) == [30, 100, 400, 1600]
    assert max(span.end for span in run.account.spans) >= 450 * D - 20
    assert all(span.begin <= span.end for span in run.account.spans)


def test_quasi_newton_goes_on_at_a_horizon_and_is_not_tried_again_where_it_converged() -> None:
    run = new_run(1000 * D)
    asked(horizons.search(Router(), run, np.zeros(D), open_ended=True), valley, 130 * D)
    spans = run.account.spans
    first = next(i for i, span in enumerate(spans) if span.part == "newton")
    assert (spans[first].reason, spans[first + 1].part) == (horizons.REPLANNED, "newton")
    assert spans[first + 1].reason == "converged"
    assert any(span.begin > 100 * D for span in spans)  # the next plan has begun
    later = [spans[i - 1].part for i, span in enumerate(spans) if i > first + 1 and span.part == "newton"]
    assert set(later) <= {"starts"}  # it begins at drawn points only


def test_values_that_are_no_numbers_end_nothing() -> None:
    run = new_run(1000 * D)
    search = horizons.search(Router(), run, np.zeros(D), open_ended=True)
    points = asked(search, lambda x: np.inf, 450 * D)
    assert np.isfinite(points).all()

"""Which part has which evaluations, read from the trace."""

import dataclasses
import itertools

import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation, searched, valley

from l2e.meta.gate.outcomes import Scripted
from l2e.portfolio.gate import Action
from l2e.portfolio.policy import PARTS, Policy
from l2e.portfolio.reasons import Reason
from l2e.portfolio.router import Router

D = 6
POLICY = Policy()


def wavy(x):
    y = np.asarray(x) - 1.3
    return float((y**2 + 3 * (1 - np.cos(3 * y))).sum())


def seen(function, per_dimension, seed=0, start=None, policy=POLICY, gate=None):
    start = np.zeros(D) if start is None else start
    return searched(Router(gate), function, start, per_dimension * D, seed, policy)


def spans(run, part):
    return [span for span in run.account.spans if span.part == part]


@pytest.mark.parametrize("per_dimension", [3, 50, 80, 200, 600])
@pytest.mark.parametrize("function", [valley, wavy])
def test_the_trace_holds_every_evaluation_once(function, per_dimension):
    points, run = seen(function, per_dimension)
    trace = run.account.spans
    assert trace[0].part == "start"
    assert trace[0][1:3] == (0, 1)
    for one, other in itertools.pairwise(trace):
        assert one.end == other.begin
    assert trace[-1].end == run.used == len(points)
    assert trace[-1].reason in ("running", "budget")
    assert not [span for span in trace[:-1] if span.reason in ("running", "budget")]


def test_the_last_span_ends_with_the_budget_even_if_a_batch_is_cut():
    run = fresh_run(D, 40, policy=POLICY.without("look", "newton", "surrogate"))
    search = Router().search(run, np.zeros(D))
    points = next(search)
    while run.used < run.budget:
        points = search.send(np.asarray([valley(x) for x in points]))
    assert run.used > run.budget
    assert run.account.spans[-1].end == run.budget
    assert run.account.spans[-1].reason == "budget"


def test_what_a_search_begins_with_depends_on_its_budget():
    low, high = POLICY.scout_budgets
    budgets = ((POLICY.look_below, "look"), (low + 1, "scout"), (high, "scout"), (high + 1, "line"))
    for per_dimension, first in budgets:
        _, run = seen(valley, int(per_dimension), start=np.full(D, -4.0))
        assert next(span.part for span in run.account.spans if span.part not in ("start", "separability")) == first
    assert POLICY.look_below == low


def test_a_start_better_than_what_is_around_it_is_not_left_for_long():
    good, bad = rotation(D).T @ np.full(D, 0.9), np.full(D, -4.0)
    lengths = {}
    for name, start in (("good", good), ("bad", bad)):
        _, run = seen(valley, 50, start=start, gate=Scripted(Action.WIDE))
        (scout,) = spans(run, "scout")
        lengths[name] = scout.end - scout.begin
        assert bool(spans(run, "newton")) == (name == "good")  # there the gate is not asked
    assert lengths["good"] <= 2 * D < POLICY.scout_for * D <= lengths["bad"]


def test_there_is_no_scout_where_the_model_has_no_cross_terms():
    run = fresh_run(25, 50 * 25)
    drive(Router().search(run, np.ones(25)), lambda x: float(x @ x), 50 * 25)
    assert not spans(run, "scout")
    assert spans(run, "newton")


def test_quasi_newton_leaves_ripples_early_and_stays_on_a_smooth_function():
    def rippled(x):
        return valley(x) + float((1 - np.cos(9 * (rotation(D) @ np.asarray(x) - 1))).sum())

    def ends(function):
        _, run = seen(function, 30, gate=Scripted(Action.NEWTON))
        return [span.reason for span in spans(run, "newton")]

    assert ends(rippled) == ["rippled"]
    assert "rippled" not in ends(valley)


def test_a_separable_wavy_function_is_searched_along_its_axes_also_with_little_to_spend():
    ends = {
        policy: [seen(wavy, 50, seed, policy=policy)[1].best_f for seed in range(9)]
        for policy in (POLICY, POLICY.without("coordinates"))
    }
    assert np.median(ends[POLICY]) < 1e-6 < 0.5 < np.median(ends[POLICY.without("coordinates")])


@pytest.mark.parametrize(("per_dimension", "told"), [(200, False), (600, True)])
def test_only_with_much_to_spend_a_population_is_told_what_is_left(per_dimension, told):
    """With less, searches with a model begin anywhere in the cube until all is spent."""
    _, run = seen(valley, per_dimension)
    assert run.best_f < 1e-8
    assert run.remaining < 2 * D
    assert bool(spans(run, "L-SHADE") or spans(run, "shrinking")) == told


def test_each_part_can_be_left_out_and_then_has_no_evaluations():
    parts = [
        ("newton", "newton", valley, 120),
        ("look", "look", valley, 20),
        ("scout", "scout", valley, 60),
        ("coordinates", "coordinates", wavy, 60),
        ("global", "interactions", valley, 600),
    ]
    for left_out, part, function, budget in parts:
        assert spans(seen(function, budget)[1], part)
        assert not spans(seen(function, budget, policy=POLICY.without(left_out))[1], part)
    assert POLICY.without("look", "gate") == POLICY.without("gate").without("look")


def test_an_unknown_part_is_an_error_that_names_the_known_ones():
    with pytest.raises(ValueError, match="unknown part of the default method 'newtn'; did you mean newton"):
        POLICY.without("newtn")
    assert all(not POLICY.without(part).has(part) for part in PARTS)


def test_every_decision_has_a_unit_and_evidence():
    for field in dataclasses.fields(Policy):
        if field.name != "left_out":
            assert field.metadata["unit"]
            assert field.metadata["evidence"].startswith("default-method#")


class Breaking:
    """A gate that fails when it is asked."""

    def choose(self, run, seen):
        raise ZeroDivisionError("on purpose")


def test_a_part_that_fails_hands_over_and_is_written_down():
    points, run = seen(valley, 30, gate=Breaking())
    (failed,) = [span for span in run.account.spans if span.reason.startswith("failed")]
    assert failed.part == "look"
    assert failed.reason == "failed: ZeroDivisionError: on purpose"
    assert failed.end > failed.begin
    assert str(Reason.FAILED) in run.notes
    assert len(points) > 30 * D - 20
    assert run.best_f < valley(np.zeros(D))


def test_when_all_parts_fail_points_are_sampled(monkeypatch):
    from l2e.portfolio.evolution import Evolution
    from l2e.portfolio.newton import QuasiNewton

    def step(self, run):
        raise FloatingPointError("on purpose")

    monkeypatch.setattr(Evolution, "step", step)
    monkeypatch.setattr(QuasiNewton, "step", step)
    points, run = seen(valley, 50)
    assert len(points) > 50 * D - 10
    assert len(spans(run, "sampling")) > 10
    assert len(np.unique(points, axis=0)) == len(points)
    assert np.isfinite(run.best_f)


def test_quasi_newton_minds_ripples_with_little_to_spend_and_again_above_a_scout():
    minded = [per for per in (20, 60, 61, 100, 101, 200, 499, 500, 2000) if POLICY.minds_ripples(5, 5 * per)]
    assert minded == [20, 60, 101, 200, 499]
    assert not POLICY.minds_ripples(POLICY.look_up_to + 1, 20 * (POLICY.look_up_to + 1))

import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation, searched

from l2e.portfolio.late_stages import suits_lshade
from l2e.portfolio.policy import Policy
from l2e.portfolio.reasons import Reason
from l2e.portfolio.router import Router
from l2e.portfolio.stages import Seen
from l2e.portfolio.starts import Starts

D = 5
POLICY = Policy()
DRAWN, KEPT = POLICY.starts_drawn, POLICY.starts_kept


def taken(function, count, dimension=D):
    """This many starts, with what was drawn for them."""
    run, starts, drawn = fresh_run(dimension, 10**6), Starts(dimension), []

    def watched(x):
        drawn.append((function(x), tuple(x)))
        return drawn[-1][0]

    def program():
        for _ in range(count):
            found.append((yield from starts.take(run)))

    found: list[tuple[np.ndarray, float]] = []
    drive(program(), watched, 10**6)
    return found, drawn, starts


def test_a_start_is_the_best_point_drawn_so_far_that_no_search_began_from():
    found, drawn, _ = taken(lambda x: float(np.sin(3 * x).sum()), 6)
    assert len(drawn) == 6 * DRAWN * D
    left = []
    for number, (x, value) in enumerate(found):
        left = sorted([*left, *drawn[number * DRAWN * D : (number + 1) * DRAWN * D]])
        assert (value, tuple(x)) == left.pop(0)


def test_failed_evaluations_are_begun_from_last_and_few_points_are_kept():
    found, _, starts = taken(lambda x: float(x[0]) if x[0] > 0 else np.nan, 8, dimension=40)
    assert all(np.isfinite(value) for _, value in found)
    assert starts._points.shape == (KEPT, 40)
    found, _, _ = taken(lambda x: np.nan, 2)
    assert [value for _, value in found] == [np.inf, np.inf]


def wells(x):
    """A wide well at the start and narrower and deeper ones elsewhere, none of them separable."""
    y = rotation(len(x)) @ np.asarray(x)
    places = np.asarray([[0.0] * D, [3, -3, 3, -3, 3], [-3, 3, 2, 3, -3]])
    q = ((y - places) ** 2).sum(axis=1) * (1 + np.arange(3)) / 30
    return float((-np.exp(-q) * (1 + np.arange(3))).sum())


def traced(budget):
    """The spans of a search on wells."""
    _, run = searched(Router(), wells, np.full(D, 0.1), budget)
    return run.account.spans, run


def test_with_much_to_spend_other_starts_are_tried_before_a_population_and_after_it():
    trace, run = traced(1000 * D)
    parts = [span.part for span in trace]
    population = parts.index("L-SHADE")  # slopes lead to a few minima
    assert parts[:population].count("starts") > 5
    assert parts[population + 1 :].count("starts") >= 2
    last = [span for span in trace if span.part == "starts"][-1]
    assert last.begin <= run.budget - POLICY.kept_back * D
    assert run.remaining < 3 * D
    assert run.best_f < -2.9  # the deepest


def test_with_little_left_no_other_start_is_tried():
    few = round(POLICY.other_starts_least / POLICY.other_starts)
    assert "starts" not in {span.part for span in traced(few * D)[0]}
    assert "starts" in {span.part for span in traced(4 * few * D)[0]}


def judged(function, budget=1000 * D, dimension=D):
    """The parts of a search, the evaluations of each summed, and its run."""
    _, run = searched(Router(), function, np.full(dimension, 0.1), budget)
    spent = dict.fromkeys((span.part for span in run.account.spans), 0)
    for span in run.account.spans:
        spent[span.part] += span.end - span.begin
    return spent, run


def many_wells(x):
    """Smooth wells all over the cube, without anything that leads from one to another."""
    rng = np.random.default_rng(5)
    places, widths = rng.uniform(-4.5, 4.5, (60, D)), rng.uniform(0.3, 3, 60)
    depths = rng.uniform(0.3, 0.9, 60)
    depths[0] = 1.0
    q = ((np.asarray(x) - places) ** 2).sum(axis=1) * widths / D
    return float(1 - (depths * np.exp(-q)).max())


def rastrigin(x):
    y = rotation(len(x)) @ (np.asarray(x) - 1.3)
    return float((y**2 + 10 * (1 - np.cos(2 * np.pi * y))).sum())


def saw(x):
    """Kinks all over the cube: no slope leads anywhere."""
    y = rotation(len(x)) @ np.asarray(x)
    return float((np.abs(y) + 3 * np.abs(np.mod(3.7 * y, 2) - 1)).sum())


def test_where_slopes_lead_to_minima_without_structure_other_starts_have_most_of_the_rest():
    spent, run = judged(many_wells)
    assert spent["newton"] + spent["starts"] > 0.6 * run.budget


def test_where_a_quadratic_explains_the_whole_or_there_are_no_slopes_a_population_has_most():
    for function in (rastrigin, saw):
        spent, run = judged(function)
        # rounding, which differs between processors, decides whether kinks count as rugged before any other start
        assert spent.get("starts", 0) > 0 or function is saw
        assert spent["newton"] + spent.get("starts", 0) < 0.3 * run.budget
        assert spent["shrinking"] > 0.4 * run.budget


def test_structure_is_what_a_quadratic_explains_of_the_ranks():
    _, _, starts = taken(lambda x: float(np.exp(((x - 1) ** 2).sum())), 4)
    assert starts.structure() > 0.8
    _, _, starts = taken(lambda x: float(np.sin(9 * x).sum()), 4)
    assert starts.structure() < 0.3
    assert Starts(D).structure() == 0
    _, _, starts = taken(lambda x: np.nan, 4)
    assert starts.structure() == 0


def test_searches_without_slopes_are_unsound():
    starts = Starts(D)
    assert starts.soundness == 1
    starts.ends += [Reason.CONVERGED, Reason.SURPASSED, Reason.STUCK, Reason.RUGGED]
    assert starts.soundness == 0.5


@pytest.mark.parametrize(("dimension", "weak", "ends", "bowl", "expected"), [
    (2, False, [Reason.RUGGED], False, True),
    (3, False, [Reason.RUGGED], False, False),
    (3, False, [Reason.RUGGED], True, True),
    (4, False, [Reason.RUGGED], True, False),
    (9, True, [Reason.RUGGED], False, True),
    (9, False, [Reason.CONVERGED], False, True),
    (9, False, [], False, False),
])  # fmt: skip
def test_who_searches_the_cube_follows_from_what_the_starts_showed(dimension, weak, ends, bowl, expected):
    function = (lambda x: float((x**2).sum())) if bowl else (lambda x: float(np.sin(9 * x).sum()))
    _, _, starts = taken(function, 6, dimension)
    starts.ends += ends
    run = fresh_run(dimension, 1000 * dimension)
    seen = Seen(run, np.zeros(dimension), None, starts, weak=weak)
    assert (starts.structure() >= POLICY.bowl_from) == bowl
    assert suits_lshade(seen) == expected

import functools

import numpy as np
from searching import drive, fresh_run, rotation, searched

from l2e.experts import router
from l2e.experts.quasi_newton import QuasiNewton
from l2e.experts.router import KEPT_BACK, LEAST_ELSEWHERE, Router
from l2e.experts.shrinking import Shrinking
from l2e.experts.starts import DRAWN, KEPT, Starts

D = 5


def taken(function, count, dimension=D):
    """So many starts, with what was drawn for them."""
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


def begun(monkeypatch, budget):
    """The names of experts in the order in which they begin, with the evaluations used until then."""
    order, calls = [], [0]

    def counted(x):
        calls[0] += 1
        return wells(x)

    for expert in (QuasiNewton, Shrinking):
        made = functools.partial(
            lambda expert, *given: order.append((expert.__name__, calls[0])) or expert(*given), expert
        )
        monkeypatch.setattr(router, expert.__name__, made)
    _, run = searched(Router(), counted, np.full(D, 0.1), budget)
    return order, run


def test_with_much_to_spend_other_starts_are_tried_before_a_population_and_after_it(monkeypatch):
    order, run = begun(monkeypatch, 1000 * D)
    names = [name for name, _ in order]
    population = names.index("Shrinking")
    assert names[:population].count("QuasiNewton") > 5
    assert names[population + 1 :].count("QuasiNewton") >= 2
    assert order[-1][1] <= run.budget - (KEPT_BACK - DRAWN) * D
    assert run.remaining < 3 * D
    assert run.best_f < -2.9  # the deepest


def test_with_little_left_no_other_start_is_tried(monkeypatch):
    few = round(LEAST_ELSEWHERE / router.ELSEWHERE_SHARE)
    order, _ = begun(monkeypatch, few * D)
    assert len(order) == 1
    order, _ = begun(monkeypatch, 4 * few * D)
    assert len(order) > 1

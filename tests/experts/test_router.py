import functools

import numpy as np
import pytest
from searching import drive, fresh_run, rotation, searched, valley

from l2e.experts import router
from l2e.experts.router import SCOUTED, Router
from l2e.experts.shade import Shade
from l2e.experts.shrinking import Shrinking

D = 6


def wavy(x):
    y = np.asarray(x) - 1.3
    return float((y**2 + 3 * (1 - np.cos(3 * y))).sum())


def first_difference(points):
    """The place of the first finite difference: a step of 1e-8 along one axis."""
    steps = np.abs(np.diff(points, axis=0))
    return int(np.flatnonzero((steps < 1e-6).sum(axis=1) >= D - 2)[0])


def seen(function, per_dimension, seed=0, start=None, **parts):
    return searched(Router(**parts), function, np.zeros(D) if start is None else start, per_dimension * D, seed)


@pytest.mark.parametrize(("per_dimension", "scouts"), [(39, False), (40, True), (60, True), (61, False)])
def test_an_evolutionary_search_goes_before_quasi_newton_with_40_to_60_evaluations_per_dimension(per_dimension, scouts):
    far = np.full(D, -4.0)
    with_scout, without = (seen(valley, per_dimension, start=far, scout=scout)[0] for scout in (True, False))
    first = first_difference(without)
    assert first < 2 * D + 4  # after the start and the line
    assert first_difference(with_scout) - first >= (SCOUTED * D - 2 if scouts else 0)
    if not scouts:
        np.testing.assert_array_equal(with_scout, without)


def test_a_start_better_than_what_is_around_it_is_not_left_for_long():
    good, bad = rotation(D).T @ np.full(D, 0.9), np.full(D, -4.0)
    assert first_difference(seen(valley, 50, start=good)[0]) <= 12 + 3 * D
    assert first_difference(seen(valley, 50, start=bad)[0]) >= 12 + SCOUTED * D


def test_scouting_is_left_out_where_the_model_has_no_cross_terms():
    def bowl(x):
        return float(x @ x)

    runs = [fresh_run(25, 50 * 25) for _ in range(2)]
    for run, scout in zip(runs, (True, False), strict=True):
        drive(Router(scout=scout).search(run, np.ones(25)), bowl, 50 * 25)
    assert runs[0].best_f == runs[1].best_f


def test_a_separable_wavy_function_is_searched_along_its_axes_also_with_little_to_spend():
    ends = {
        separable: [seen(wavy, 50, seed, separable=separable)[1].best_f for seed in range(9)]
        for separable in (True, False)
    }
    assert np.median(ends[True]) < 1e-6 < 0.5 < np.median(ends[False])


@pytest.mark.parametrize(("per_dimension", "told"), [(200, False), (600, True)])
def test_only_with_much_to_spend_a_population_is_told_what_is_left(monkeypatch, per_dimension, told):
    """With less, searches with a model begin anywhere in the cube until all is spent."""
    begun = []
    for expert in (Shade, Shrinking):
        made = functools.partial(lambda expert, *given: begun.append(expert) or expert(*given), expert)
        monkeypatch.setattr(router, expert.__name__, made)
    _, run = seen(valley, per_dimension)
    assert run.best_f < 1e-8
    assert run.remaining < 2 * D
    assert bool(begun) == told

import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation, valley

from l2e.portfolio.run import finish
from l2e.portfolio.trust_region import TrustRegion

D = 5
TURN = rotation(D, 4)


def looked(function, evaluations, start=None, least=1e-7, seed=0):
    """The search after this many evaluations, all its points, and why it ended."""
    start = np.zeros(D) if start is None else start
    run, points = fresh_run(len(start), 10_000, seed), []

    def watched(x):
        points.append(np.array(x))
        return function(x)

    def program():
        value = float((yield from run.evaluate(start))[0])
        look = TrustRegion(start, value, 2.0, least)
        return look, (yield from finish(look, run, evaluations))

    with np.errstate(all="ignore"):
        look, reason = drive(program(), watched, 10_000)
    return look, np.asarray(points), str(reason)


def bowl(x):
    y = TURN @ (np.asarray(x) - 1.3)
    return float(y**2 @ np.asarray([1.0, 3.0, 9.0, 27.0, 81.0]))


def test_a_turned_bowl_is_solved_with_few_evaluations():
    look, _, _ = looked(bowl, 15 * D)
    assert look.f < 1e-3 * bowl(np.zeros(D))
    look, points, reason = looked(bowl, 1000)
    assert reason == "converged"
    assert look.f < 1e-10
    assert len(points) < 40 * D


def test_its_model_is_the_function_where_that_is_a_quadratic():
    look, _, _ = looked(bowl, 1000)
    hessian = TURN.T @ np.diag(2 * np.asarray([1.0, 3.0, 9.0, 27.0, 81.0])) @ TURN
    np.testing.assert_allclose(look.hessian, hessian, atol=0.15 * np.abs(hessian).max())


def test_first_points_lie_along_the_coordinates_two_for_each():
    _, points, _ = looked(valley, 2 * D + 1)
    for i in range(D):
        pair = points[1 + 2 * i : 3 + 2 * i]
        assert set(np.flatnonzero(pair[0] != pair[1])) == {i}
        assert np.abs(pair[0] - pair[1])[i] in (2.0, 4.0)


@pytest.mark.parametrize("corner", [4.9, 5.0])
def test_a_minimum_in_a_corner_is_found_without_leaving_the_cube(corner):
    look, points, _ = looked(lambda x: float(((np.asarray(x) - 7) ** 2).sum()), 20 * D, start=np.full(D, corner))
    assert np.abs(points).max() <= 5
    np.testing.assert_array_equal(look.x, np.full(D, 5.0))


@pytest.mark.parametrize("dimension", [1, 2])
def test_few_dimensions(dimension):
    look, _, _ = looked(lambda x: float(((np.asarray(x) - 1) ** 2).sum()), 100, start=np.zeros(dimension))
    assert look.f < 1e-10


@pytest.mark.parametrize("odd", [np.inf, 1e90, -1e90, 0.0])
def test_odd_values_neither_raise_nor_go_on_for_ever(odd):
    def function(x):
        return odd if x[0] > 0.5 else bowl(x)

    look, points, _ = looked(function, 2000)
    assert np.isfinite(points).all()
    assert np.isfinite(look.x).all()
    constant, _, reason = looked(lambda x: 1.0 if np.isinf(odd) else odd, 2000)
    assert reason == "converged"
    assert constant.f == (1.0 if np.isinf(odd) else odd)


def test_it_goes_on_from_a_better_point_of_another_search():
    look, _, _ = looked(valley, 6 * D)
    better = np.full(D, 0.123)
    look.adopt(better, look.f + 1)
    assert (look.x != better).any()
    look.adopt(better, look.f - 1)
    np.testing.assert_array_equal(look.x, better)
    assert len(look.points) == 2 * D + 1

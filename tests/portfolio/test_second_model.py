import math

import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation, valley

from l2e.portfolio.quadratic import terms_of
from l2e.portfolio.run import finish
from l2e.portfolio.second_model import SecondModel
from l2e.portfolio.trust_region import TrustRegion

D = 4
TURN = rotation(D, 7)
CURVATURE = TURN.T @ np.diag([1.0, 10.0, 100.0, 1000.0]) @ TURN


def bowl(x):
    away = np.asarray(x) - 1.3
    return float(away @ CURVATURE @ away) + 3.0


def fitted(count, function=bowl):
    """A second model that has seen random points, around the origin."""
    run, second = fresh_run(D, 1000), SecondModel()

    def program():
        yield from run.evaluate(run.rng.uniform(-2, 2, (count, D)))
        second.update(run, np.zeros(D), 1.0)

    drive(program(), function, count)
    return second


def searched(function, evaluations):
    run = fresh_run(D, 1000)

    def program():
        value = float((yield from run.evaluate(np.zeros(D)))[0])
        look = TrustRegion(np.zeros(D), value, 2.0, 1e-7)
        yield from finish(look, run, evaluations)
        return look

    with np.errstate(all="ignore"):
        found = drive(program(), function, 1000)
    assert found is not None
    return found


def test_there_is_no_fit_before_all_coefficients_are_known():
    assert fitted(terms_of(D)).local is None
    assert fitted(terms_of(D) + 1).local is not None


def test_a_fit_to_a_quadratic_is_that_quadratic():
    second = fitted(2 * terms_of(D))
    assert second.local is not None
    x, s = np.full(D, 0.2), np.asarray([0.5, -0.1, 0.0, 0.3])
    gradient, hessian = second.local.slope(x)
    np.testing.assert_allclose(gradient, 2 * CURVATURE @ (x - 1.3), rtol=1e-3)
    np.testing.assert_allclose(hessian, 2 * CURVATURE, rtol=1e-3, atol=1.0)
    assert second.gain(x, s) == pytest.approx(bowl(x) - bowl(x + s), rel=1e-3)


def test_it_is_followed_only_while_it_is_the_better_prophet():
    second = fitted(2 * terms_of(D))
    assert not second.is_followed
    second.judge((2.0, 1.0), 1.0)
    assert second.is_followed
    assert not second.is_sure
    for _ in range(4):
        second.judge((2.0, 1.0), 1.0)
    assert second.is_sure
    second.judge((1.0, math.nan), 1.0)
    assert not second.is_followed
    second.judge((1.0, math.inf), 0.0)
    assert np.isfinite(second.errors).all()


def test_without_a_fit_nothing_is_judged():
    second = SecondModel()
    second.judge((1.0, 0.0), 1.0)
    assert (second.errors == 1).all()
    assert second.gain(np.zeros(D), np.ones(D)) == 0


def test_an_ill_conditioned_quadratic_is_solved_with_ten_evaluations_per_dimension():
    look = searched(bowl, 10 * D)
    assert look.second.is_followed
    assert look.f - 3.0 < 1e-5


def test_where_it_is_no_use_it_is_not_followed():
    def rough(x):
        return float(np.abs(np.asarray(x) - 1.3).sum() + 2 * np.sin(40 * np.asarray(x)).sum())

    assert not searched(rough, 15 * D).second.is_followed
    assert searched(valley, 15 * D).f < valley(np.zeros(D))

import dataclasses
import math

import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation

from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.policy import Policy
from l2e.portfolio.router import Router
from l2e.portfolio.run import finish
from l2e.portfolio.secants import Curvature, Pair


def newton_from(start, function, budget):
    run = fresh_run(len(start), budget)

    def program():
        value = float((yield from run.evaluate(start))[0])
        return (yield from finish(QuasiNewton(start, value), run))

    return drive(program(), function, budget), run


def test_converges_on_an_ill_conditioned_rotated_quadratic():
    turn, scale = rotation(6), np.logspace(0, 6, 6)
    optimum = np.asarray([1.0, -2.0, 3.0, 0.5, -0.5, 2.5])
    reason, run = newton_from(np.zeros(6), lambda x: float((turn @ (x - optimum)) ** 2 @ scale), 600)
    assert reason == "converged"
    assert run.best_f < 1e-8
    assert run.used < 50 * 6


def test_the_first_inverse_curvature_follows_the_first_scale():
    turn, scale = rotation(6), np.logspace(0, 2, 6)

    def largest(first_scale):
        run = fresh_run(6, 200)

        def program():
            value = float((yield from run.evaluate(np.zeros(6)))[0])
            newton = QuasiNewton(np.zeros(6), value, first_scale)
            yield from newton.step(run)
            return newton.curvature

        known = drive(program(), lambda x: float((turn @ (x - 1)) ** 2 @ scale), 200)
        assert known is not None
        return np.linalg.eigvalsh(known.inverse)[-1]

    assert largest(300.0) == pytest.approx(10 * largest(30.0), rel=0.1)


def test_finds_a_corner_exactly():
    reason, run = newton_from(np.zeros(4), lambda x: float(x @ [1.0, -2.0, 3.0, -4.0]), 200)
    assert reason == "converged"
    np.testing.assert_array_equal(run.best_x, [-5, 5, -5, 5])


def test_sphere_with_its_optimum_in_a_corner():
    _, run = newton_from(np.zeros(5), lambda x: float(((x - 5) ** 2).sum()), 300)
    assert run.best_f == 0


@pytest.mark.parametrize("size", [1e-6, 1e-2])
def test_yields_at_once_where_differences_are_noise(size):
    rng = np.random.default_rng(0)
    reason, run = newton_from(np.ones(5), lambda x: float((x @ x) * (1 + size * rng.standard_normal())), 500)
    assert reason == "noisy"
    assert run.used <= 2 * 5 + 20


def test_yields_on_a_plateau_and_on_failures():
    assert newton_from(np.ones(3), lambda x: float(np.floor(x @ x)), 100)[0] == "flat"
    assert newton_from(np.ones(3), lambda x: float(x @ x) if (x == 1).all() else np.nan, 100)[0] == "no values nearby"


def test_calls_a_rugged_function_rugged():
    def rastrigin(x):
        return float(10 * (1 - np.cos(2 * np.pi * x)).sum() + x @ x)

    assert newton_from(np.asarray([2.3, -1.2, 0.6, 3.4, -3.3]), rastrigin, 2000)[0] == "rugged"


def test_never_leaves_the_cube():
    seen = []

    def function(x):
        seen.append(x)
        return float(((x - 8) ** 2).sum() + x[0] * x[1])

    newton_from(np.full(3, 4.9), function, 200)
    assert (np.abs(np.asarray(seen)) <= 5).all()


def test_secants_explain_a_quadratic_after_enough_steps():
    turn = rotation(4, 1)
    hessian = turn.T @ np.diag([1.0, 10.0, 100.0, 1000.0]) @ turn
    curvature, rng = Curvature(4, 0.01), np.random.default_rng(0)
    for _ in range(12):
        s = rng.standard_normal(4)
        curvature.learn(Pair(s, hessian @ s))
    s = rng.standard_normal(4)
    assert np.linalg.norm(curvature.matrix() @ s - hessian @ s) < 1e-2 * np.linalg.norm(hessian @ s)
    assert np.linalg.eigvalsh(curvature.matrix())[0] > 0


def test_a_model_that_still_expects_gains_has_not_converged():
    """Where curvature changes at every scale, a failed line search is no minimum, however much was gained before."""
    turn, scale = rotation(8, 3), np.logspace(0, 6, 8)

    def wavy(x):
        y = turn @ (x - 1.5)
        return float((y * np.exp(0.08 * np.sin(9 * np.log(np.abs(y) + 1e-30)))) ** 2 @ scale)

    reason, run = newton_from(np.zeros(8), wavy, 3000)
    assert run.best_f > 1e-12
    assert reason == "stuck"


@pytest.mark.parametrize("power", [1.2, 1.4, 1.6])
def test_a_sum_of_small_powers_is_not_left_as_rugged(power):
    """Values rise less than the curvature at the minimum says; but gains there do not fall as at a smooth one."""
    turn = rotation(5, 4)
    _, run = newton_from(np.zeros(5), lambda x: float((np.abs(turn @ (x - 2.2)) ** power).sum()), 1000)
    assert run.best_f < 1e-8


@pytest.mark.parametrize(("dimension", "longest"), [(8, 110), (26, 180)])
def test_it_is_given_longer_where_the_quadratic_has_no_cross_terms(dimension, longest):
    turned = rotation(dimension)
    policy = dataclasses.replace(
        Policy().without("coordinates"), ripples_above_budget=math.inf
    )  # nine is a steep power
    run = fresh_run(dimension, 190 * dimension, policy=policy)
    powers = np.linspace(2, 9, dimension)
    drive(
        Router().search(run, np.ones(dimension)),
        lambda x: float((np.abs((x - 0.3) @ turned) ** powers).sum()),
        run.budget,
    )
    last = [span for span in run.account.spans if span.part == "newton"][-1]
    assert longest - 30 < last.end / dimension <= longest + 10


def test_jumps_along_few_coordinates_are_told_from_noise():
    def stepped(x):  # the middle of the box is where one coordinate jumps
        return float(((x - 0.3) ** 2).sum()) + 100 * float(np.floor(x[0]))

    reason, run = newton_from(np.asarray([1.0, 0.0, 0.5, -2.0]) - 1e-9, stepped, 200)
    assert reason == "jumps"
    assert run.used <= 20

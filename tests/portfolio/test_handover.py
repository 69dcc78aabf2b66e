import numpy as np
from helpers.searching import drive, fresh_run, rotation

from l2e.portfolio.handover import distribution
from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.policy import Policy
from l2e.portfolio.router import Router
from l2e.portfolio.run import finish

POLICY = Policy()


def stepped(function, dimension, evaluations):
    """A quasi-Newton search after so many evaluations."""
    start, run = np.zeros(dimension), fresh_run(dimension, 10_000)
    kept = []

    def program():
        value = float((yield from run.evaluate(start))[0])
        kept.append(QuasiNewton(start, value))
        return (yield from finish(kept[0], run, evaluations))

    drive(program(), function, 10_000)
    return kept[0]


def test_the_distribution_has_the_shape_of_the_level_sets():
    turn, scale = rotation(5), np.logspace(0, 4, 5)
    optimum = np.asarray([1.0, -2.0, 3.0, 0.5, -0.5])
    newton = stepped(lambda x: float((turn @ (x - optimum)) ** 2 @ scale), 5, 120)
    found = distribution(newton, POLICY)
    assert found is not None
    sigma, factor = found
    whitened = turn @ (sigma * factor)
    rises = (whitened**2 * scale[:, None]).sum(axis=0)  # of each axis of the distribution: equal in the right metric
    assert rises.max() < 100 * rises.min()  # the identity would give 10^4


def test_nothing_to_hand_over_before_the_first_step():
    assert distribution(QuasiNewton(np.zeros(3), 1.0), POLICY) is None


def test_axes_stay_within_the_box():
    newton = stepped(lambda x: float((x[0] - 1) ** 2 + 1e-4 * ((x - 4) ** 2).sum()), 4, 40)
    found = distribution(newton, POLICY)
    assert found is not None
    sigma, factor = found
    assert np.linalg.norm(sigma * factor, 2) <= POLICY.handover_longest * (1 + 1e-9)


def test_a_kinked_ridge_is_descended_where_quasi_newton_is_stuck():
    """y_1^2 + c |y_2..|: differences fail at the kink; with the metric handed over the search goes on."""
    turn, scale = rotation(10), np.logspace(0, 2, 9)
    optimum = np.linspace(-2, 3, 10)

    def ridge(x):
        y = turn @ (x - optimum)
        return float(5 * y[0] ** 2 + 300 * np.sqrt((scale * y[1:] ** 2).sum()))

    run = fresh_run(10, 2000)
    drive(Router().search(run, np.zeros(10)), ridge, 2000)
    assert run.best_f < 1e-5

import numpy as np
import pytest
from helpers.searching import drive, fresh_run, searched, valley

import l2e
from l2e.meta.gate.outcomes import Scripted
from l2e.portfolio.gate import FEATURES, MOMENTS, Gate, GateWeights, features
from l2e.portfolio.method import Portfolio
from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.probes import NO_LINE
from l2e.portfolio.router import Router


def weights(bias=0.0, direct=None):
    inner = np.random.default_rng(0).standard_normal((3, len(FEATURES)))
    zeros = np.zeros(len(FEATURES))
    return GateWeights(inner, np.zeros(3), np.zeros(3), zeros if direct is None else direct, np.asarray(bias))


def gated(gate, budget):
    return searched(Router(gate=gate), valley, np.zeros(6), budget)


def test_a_gate_that_never_leaves_changes_nothing():
    with_gate, run = gated(Gate(weights(bias=-1.0)), 600)
    np.testing.assert_array_equal(with_gate, gated(None, 600)[0])
    assert "left" not in run.notes


def test_leaving_ends_quasi_newton_at_the_first_moment_and_nothing_before_it_differs():
    gate = Scripted(0)
    left, run = gated(gate, 600)
    stayed, _ = gated(None, 600)
    assert "left" in run.notes
    assert len(gate.seen) == 1
    same = int((left[: len(stayed)] == stayed[: len(left)]).all(axis=1).argmin())
    assert 12 + MOMENTS[0] * 6 <= same < 12 + MOMENTS[1] * 6 + 1


def test_the_gate_is_asked_at_most_once_for_each_moment():
    gate = Scripted(None)
    gated(gate, 1200)
    assert 3 <= len(gate.seen) <= len(MOMENTS)


@pytest.mark.parametrize(("dimension", "budget"), [(6, 60 * 6), (6, 101 * 6), (25, 80 * 25)])
def test_a_gate_is_not_asked_outside_of_where_it_gains(dimension, budget):
    def value(method):
        return l2e.minimize(banana, bounds=[(-4, 5)] * dimension, budget=budget, method=method, rng=0).fun

    assert Portfolio.trained().gate_for(dimension, budget) is None
    assert Portfolio.trained().gate_for(6, 80 * 6) is not None
    assert value("auto") == value(Portfolio())


def banana(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def test_features_are_finite_and_do_not_change_with_the_scale_of_values():
    def at_third_step(scale):
        run = fresh_run(6, 600)

        def program():
            value = float((yield from run.evaluate(np.zeros(6)))[0])
            newton = QuasiNewton(np.zeros(6), value)
            for _ in range(4):
                yield from newton.step(run)
            return features(run, newton, NO_LINE)

        return drive(program(), lambda x: scale * valley(x), 600)

    plain, scaled = at_third_step(1.0), at_third_step(1024.0)
    assert plain.shape == (len(FEATURES),)
    assert np.isfinite(plain).all()
    assert np.abs(plain).max() < 10
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


def test_weights_of_other_shapes_or_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite weights"):
        Gate(weights(direct=np.zeros(3)))
    with pytest.raises(ValueError, match="finite weights"):
        Gate(weights(bias=np.nan))

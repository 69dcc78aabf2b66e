import numpy as np
import pytest
from helpers.searching import drive as answered
from helpers.searching import fresh_run, searched, valley

import l2e
from l2e.meta.gate.outcomes import Scripted
from l2e.portfolio.gate import ACTIONS, AFTER_SCOUT, FEATURES, Action, Gate, GateWeights, by_hand, features
from l2e.portfolio.method import Portfolio
from l2e.portfolio.policy import Policy
from l2e.portfolio.router import Router
from l2e.portfolio.run import finish
from l2e.portfolio.searches import evolution
from l2e.portfolio.trust_region import TrustRegion

D = 6
BUDGET = 25 * D
LONGER = 50 * D
START = np.full(D, -4.0)


def weights(action=Action.NEWTON, direct=None):
    inner = np.random.default_rng(0).standard_normal((3, len(FEATURES)))
    zeros = np.zeros((len(ACTIONS), len(FEATURES)))
    bias = np.asarray([float(each is action) for each in ACTIONS])
    return GateWeights(inner, np.zeros(3), np.zeros((len(ACTIONS), 3)), zeros if direct is None else direct, bias)


def asked(gate, budget=BUDGET):
    return searched(Router(gate=gate), valley, START, budget)


def gated(gate, budget=BUDGET):
    """Who had which evaluations, without the look for separability."""
    return [span for span in asked(gate, budget)[1].account.spans if span.part != "separability"]


@pytest.mark.parametrize(
    ("action", "budget", "parts"),
    [
        (Action.NEWTON, BUDGET, ["start", "look", "newton"]),
        (Action.NEAR, BUDGET, ["start", "look", "evolution"]),
        (Action.WIDE, BUDGET, ["start", "look", "evolution"]),
        (Action.LOOK, BUDGET, ["start", "look", "look"]),
        (Action.NEWTON, LONGER, ["start", "scout", "newton"]),
        (Action.WIDE, LONGER, ["start", "scout", "evolution"]),
    ],
)
def test_the_action_that_the_gate_takes_has_the_next_evaluations(action, budget, parts):
    spans = gated(Gate(weights(action)), budget)
    assert [span.part for span in spans][:3] == parts
    assert spans[1].reason == f"then {action}"


@pytest.mark.parametrize(("budget", "actions"), [(BUDGET, ACTIONS), (LONGER, ACTIONS[:AFTER_SCOUT])])
def test_searches_are_equal_up_to_the_choice_and_differ_after_it(budget, actions):
    points = {action: asked(Scripted(action), budget)[0] for action in actions}
    chosen = gated(Scripted(Action.NEWTON), budget)[1].end
    for action in actions:
        np.testing.assert_array_equal(points[action][:chosen], points[Action.NEWTON][:chosen])
    after = {tuple(points[action][chosen + 1]) for action in actions}
    assert len(after) == len(actions)


def test_after_a_scout_only_its_own_actions_are_taken():
    assert gated(Gate(weights(Action.LOOK)), LONGER)[1].reason == f"then {Action.NEWTON}"


def test_a_scout_that_goes_on_is_the_same_search_as_one_without_quasi_newton():
    policy = Policy().without("coordinates")  # looked for at another moment
    went_on, _ = searched(Router(Scripted(Action.WIDE)), valley, START, LONGER, policy=policy)
    alone, _ = searched(Router(), valley, START, LONGER, policy=policy.without("newton"))
    np.testing.assert_array_equal(went_on, alone)


def test_near_is_as_wide_as_the_look_and_wide_as_a_search_that_begins():
    def spread(action):
        points, run = asked(Scripted(action))
        begin = next(span.begin for span in run.account.spans if span.part == "evolution")
        return float(np.std(points[begin : begin + 5], axis=0).mean())

    assert spread(Action.NEAR) < 0.8 * spread(Action.WIDE)


def test_without_a_gate_a_very_short_search_is_a_look_and_others_take_quasi_newton():
    look = TrustRegion(np.zeros(D), 1.0, 2.0, 1e-7)
    assert by_hand(fresh_run(D, 10 * D), look) is Action.LOOK
    assert by_hand(fresh_run(D, 20 * D), look) is Action.NEWTON
    run = fresh_run(D, LONGER)
    assert by_hand(run, evolution(run, np.zeros(D), 2.0)) is Action.NEWTON


@pytest.mark.parametrize(("dimension", "budget"), [(6, 36 * 6), (25, 20 * 25)])
def test_there_is_no_look_with_more_to_spend_or_in_many_dimensions(dimension, budget):
    bounds = [(-4, 5)] * dimension
    trace = l2e.minimize(banana, bounds=bounds, budget=budget, rng=0).trace
    assert "look" not in [span.part for span in trace]
    short = l2e.minimize(banana, bounds=[(-4, 5)] * 6, budget=20 * 6, rng=0).trace
    assert "look" in [span.part for span in short]


def test_the_gate_can_be_left_out():
    assert Portfolio.trained().gate_for() is not None
    assert Portfolio.trained(Policy().without("gate")).gate_for() is None


def banana(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def first_of(kind, run, value):
    return TrustRegion(np.zeros(D), value, 2.0, 1e-7) if kind == "look" else evolution(run, np.zeros(D), 2.0)


@pytest.mark.parametrize("kind", ["look", "scout"])
def test_features_are_finite_and_do_not_change_with_the_scale_of_values(kind):
    def seen(scale):
        run = fresh_run(D, BUDGET)

        def program():
            value = float((yield from run.evaluate(np.zeros(D)))[0])
            first = first_of(kind, run, value)
            yield from finish(first, run, 7 * D)
            return features(run, first)

        return answered(program(), lambda x: scale * valley(x), BUDGET)

    plain, scaled = seen(1.0), seen(1024.0)
    assert plain.shape == (len(FEATURES),)
    assert np.isfinite(plain).all()
    assert np.abs(plain).max() < 10
    np.testing.assert_allclose(scaled, plain, atol=1e-6)
    block = [name.startswith(f"{kind}: ") for name in FEATURES]
    other = [name.startswith(("look: ", "scout: ")) and not mine for name, mine in zip(FEATURES, block, strict=True)]
    assert np.abs(plain[block]).max() > 0
    assert not plain[other].any()


@pytest.mark.parametrize("kind", ["look", "scout"])
@pytest.mark.parametrize("value", [np.inf, 1e300, -1e300, 7.0])
def test_features_of_odd_values_are_finite(kind, value):
    run = fresh_run(D, BUDGET)

    def program():
        yield from run.evaluate(np.zeros(D))
        first = first_of(kind, run, 3.0)
        yield from finish(first, run, 7 * D)
        return features(run, first)

    with np.errstate(all="ignore"):
        assert np.isfinite(answered(program(), lambda x: value, BUDGET)).all()


def test_weights_of_other_shapes_or_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite weights"):
        Gate(weights(direct=np.zeros((len(ACTIONS), 3))))
    with pytest.raises(ValueError, match="finite weights"):
        Gate(weights(direct=np.full((len(ACTIONS), len(FEATURES)), np.nan)))

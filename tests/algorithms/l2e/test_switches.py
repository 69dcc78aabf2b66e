"""Every switch between the paper's reading and ours changes what it says and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.kinds import parse_settings
from l2e.algorithms.l2e import L2E, Shared
from l2e.algorithms.l2e.contracts import AbstractOperator
from l2e.algorithms.l2e.gates import FixedGate, HardGate, SoftGate
from l2e.algorithms.l2e.projection import LowRank
from l2e.core.box import box
from l2e.core.traced import runtime

N, D = 6, 3
KEY = jax.random.key(3)
UNIT = box([(0.0, 1.0)] * D)
POINTS = jax.random.uniform(jax.random.key(1), (N, D))
VALUES = jnp.sum((POINTS - 0.3) ** 2, axis=1)


def built(operator="mamba", **settings):
    given = {"operator": operator, "population_size": N, "schedule": "shared", "width": 4, **settings}
    return parse_settings({"kind": "l2e", **given}).build(D, 4, KEY)


def leaves(tree):
    return {jax.tree_util.keystr(where): leaf for where, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def changed_weights(first, second):
    """The names of arrays that only one of two trees has, or that differ."""
    a, b = leaves(first), leaves(second)
    return {
        name for name in a.keys() | b.keys() if name not in a or name not in b or not np.array_equal(a[name], b[name])
    }


def proposals(optimizer):
    return optimizer.propose(POINTS, VALUES, jnp.asarray(0), KEY)


SELECTIVE = ".schedule.operator.selective.parameters."
ROUTER = ".schedule.operator.router.output.weight"
SWITCHES = [
    ("mamba", {"gate": "soft-raw", "gate_gradient": True}, {".gate.tau"}, False),
    ("mamba", {"projection": "fused"}, set(), True),  # proposals are not inside yet
    ("mamba", {"metric": "diagonal"}, {".metric.log_diagonal"}, False),
    ("base", {"metric": "low-rank", "rank": 1}, {".metric.log_diagonal", ".metric.factor"}, True),
    ("mamba", {"state_output": "unused"}, {SELECTIVE + "weight", SELECTIVE + "bias"}, True),
    ("mamba", {"spectral": "divided"}, {ROUTER}, True),
    ("mamba", {"spectral": "none"}, set(), True),
    ("mamba", {"coefficient": 0.5}, set(), True),
    ("base", {"spectral": "divided"}, set(), True),
    ("base", {"spectral": "bounded"}, set(), True),
    ("base", {"noise": False}, {".schedule.operator.noise_scales"}, True),
    ("base", {"absolute": True}, set(), True),
]


@pytest.mark.parametrize(("operator", "switch", "weights", "proposes"), SWITCHES, ids=[f"{s[:2]}" for s in SWITCHES])
def test_a_switch_changes_its_own_weights_only_and_proposals_if_it_should(operator, switch, weights, proposes):
    plain, other = built(operator), built(operator, **switch)
    assert changed_weights(plain, other) == weights
    assert proposes != np.array_equal(proposals(plain), proposals(other))


def test_c_is_a_factor_only_where_it_is_used():
    unused, used = built(state_output="unused"), built(state_output="used")
    assert not changed_weights(unused, used)
    assert not np.array_equal(proposals(unused), proposals(used))


def test_certified_operators_can_be_built_from_settings():
    certified = built("certified", contraction=0.5, noise=False)
    assert certified.schedule.operator.contraction == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": "certified", "spectral": "divided"}, "spectral is for base and mamba and coordinate-free"),
        ({"operator": "base", "state_output": "used"}, "state_output is for mamba, the operator is base"),
        ({"operator": "base", "contraction": 0.5}, "contraction is for certified"),
        ({"operator": "coordinate-free", "absolute": True}, "absolute is for base and mamba"),
    ],
)
def test_settings_that_mean_nothing_to_an_operator_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        built(**settings)


@pytest.mark.parametrize("scale_free", [True, False])
def test_a_differentiable_gate_has_the_same_weights_and_their_true_derivative(scale_free):
    with runtime.float64():
        guided, proposed = jnp.asarray([1.0, 2.0, 0.3]), jnp.asarray([0.5, 2.5, 0.2])
        stopped, open_gate = (SoftGate(0.7, scale_free, differentiable) for differentiable in (False, True))
        np.testing.assert_array_equal(stopped.weights(guided, proposed), open_gate.weights(guided, proposed))

        def first(gate, value):
            return gate.weights(guided.at[0].set(value), proposed)[0]

        assert float(jax.grad(lambda value: first(stopped, value))(1.0)) == 0
        h = 1e-6
        central = (first(open_gate, 1 + h) - first(open_gate, 1 - h)) / (2 * h)
        assert float(jax.grad(lambda value: first(open_gate, value))(1.0)) == pytest.approx(float(central), rel=1e-6)


class Outward(AbstractOperator):
    """Away from the middle of the cube, and out of it."""

    def __call__(self, points, values, key):
        return 0.5 + 4 * (points - 0.5)


METRIC = LowRank(jnp.asarray([1.0, 2.0, 0.5]), jnp.asarray([[1.0], [2.0], [-1.5]]))


def outward(gate, project_fused, metric=METRIC):
    return L2E(Shared(Outward()), gate, metric=metric, population_size=N, project_fused=project_fused)


def begun(optimizer):
    state = optimizer.init(UNIT, KEY)
    return optimizer.tell(state, jnp.sum(optimizer.ask(state), axis=1))


def test_a_fused_point_is_projected_in_the_metric_after_the_gate():
    optimizer = outward(FixedGate(0.25), True)
    state = begun(optimizer)
    raw = 0.1 * state.points + 0.9 * (0.5 + 4 * (state.points - 0.5))
    np.testing.assert_allclose(state.candidates, raw, rtol=1e-6)
    np.testing.assert_allclose(optimizer.ask(state), METRIC.project(raw), rtol=1e-6)  # what is evaluated is inside
    fused = optimizer.tell(state, jnp.zeros(N))
    blend = 0.25 * state.points + 0.75 * raw
    np.testing.assert_allclose(fused.candidates, METRIC.project(blend), rtol=1e-5)
    early = outward(FixedGate(0.25), False)
    assert not np.allclose(fused.candidates, early.tell(begun(early), jnp.zeros(N)).candidates)


def test_a_gate_that_selects_does_not_see_when_points_are_projected():
    late, early = outward(HardGate(), True), outward(HardGate(), False)
    values = jnp.asarray([0.0, 9.0] * 3)
    np.testing.assert_allclose(late.ask(begun(late)), early.ask(begun(early)), rtol=1e-6)
    np.testing.assert_allclose(
        late.tell(begun(late), values).points, early.tell(begun(early), values).points, rtol=1e-6
    )

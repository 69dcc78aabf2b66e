"""Diagnostics against what is known by hand: linear operators, full Jacobians, fixed points."""

import io
import json
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from l2e import JAXFunction, box
from l2e.algorithms.l2e import L2E, AttentionMLP, Shared, diagnostics
from l2e.algorithms.l2e.contracts import AbstractOperator
from l2e.algorithms.l2e.gates import FixedGate, HardGate
from l2e.algorithms.l2e.operators.certified import Certified
from l2e.core.traced import runtime
from l2e.report import diagnose
from l2e.report.diagnosis import Report, diagnostics_figure

N, D = 6, 3
SPHERE = JAXFunction(lambda x: jnp.sum((x - 1.0) ** 2), box([(-5, 5)] * D))


class Linear(AbstractOperator):
    """`O(x) = m + A (x - m)` on the whole population, m the middle of the cube."""

    matrix: jax.Array

    def __call__(self, points, values, key):
        return 0.5 + (self.matrix @ (points - 0.5).reshape(-1)).reshape(points.shape)


class Inward(AbstractOperator):
    """Moves half of the way to the optimum of `SPHERE`, so every proposal is better."""

    def __call__(self, points, values, key):
        return (points + 0.6) / 2


@pytest.fixture(autouse=True)
def _double():
    with runtime.float64():
        yield


def solver(operator, **options):
    return L2E(Shared(operator), population_size=N, **options)


def scaling(factor):
    return Linear(factor * jnp.eye(N * D))


def swap():
    """Individuals 0 and 1 change places, an isometry."""
    order = np.arange(N)
    order[:2] = 1, 0
    return Linear(jnp.asarray(np.kron(np.eye(N)[order], np.eye(D))))


def rotation(angle):
    """A rotation in one plane, the identity elsewhere."""
    matrix = np.eye(N * D)
    matrix[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return Linear(jnp.asarray(matrix))


def start(key=0):
    first, second = jax.random.split(jax.random.key(key))
    return 0.3 + 0.4 * jax.random.uniform(first, (N, D)), jax.random.normal(second, (N,))


@eqx.filter_jit
def norm_and_jacobian(operator, points, values, key):
    def function(x):
        return operator(x, values, key)

    return diagnostics.spectral_norm(function, points, key, 300), jax.jacfwd(function)(points).reshape(N * D, N * D)


@pytest.mark.parametrize(
    "operator",
    [
        AttentionMLP(N, D, key=jax.random.key(1)),
        Certified(D, key=jax.random.key(2)),
        Linear(jnp.diag(jnp.linspace(0.1, 3.0, N * D))),
    ],
    ids=lambda operator: type(operator).__name__,
)
def test_power_iteration_equals_the_svd_of_the_whole_jacobian(operator):
    points, values = start()
    (norm, direction), jacobian = norm_and_jacobian(operator, points, values, jax.random.key(3))
    singular = jnp.linalg.svd(jacobian, compute_uv=False)
    assert float(norm) == pytest.approx(float(singular[0]), rel=1e-6)
    assert float(norm) <= float(singular[0]) * (1 + 1e-12)
    assert float(jnp.linalg.norm(direction)) == pytest.approx(1)
    if isinstance(operator, Linear):
        assert float(norm) == pytest.approx(3.0)


def test_a_constant_map_has_norm_0():
    norm, direction = diagnostics.spectral_norm(lambda x: 0 * x, start()[0], jax.random.key(0))
    assert float(norm) == 0
    assert np.isfinite(direction).all()


def test_secants_see_jumps_that_a_jacobian_does_not():
    points, _ = start()
    direction = jnp.zeros((N, D)).at[0, 0].set(1.0)
    linear = diagnostics.secant_ratio(lambda x: 2 * x, points, direction, jax.random.key(0))
    assert float(linear) == pytest.approx(2.0)

    def jumps(x):
        return x + jnp.where(x[0, 0] > points[0, 0], 1.0, 0.0)

    assert float(diagnostics.spectral_norm(jumps, points, jax.random.key(0))[0]) == pytest.approx(1.0)
    length = diagnostics.RADIUS * float(jnp.linalg.norm(points - points.mean(0)))
    jump = math.sqrt(N * D) / length
    assert float(diagnostics.secant_ratio(jumps, points, direction, jax.random.key(0))) > 0.9 * jump


def test_a_run_with_a_known_operator():
    run = diagnostics._run(solver(Inward(), alpha=1.0), SPHERE, jax.random.key(0), 5)
    np.testing.assert_array_equal(run.accepted, 1)
    np.testing.assert_array_equal(run.improved, 1)
    distances = jnp.linalg.norm(run.points - 0.6, axis=(1, 2))
    np.testing.assert_allclose(diagnostics.residuals(run), distances / 2, rtol=1e-9)  # |(x + m)/2 - x|
    np.testing.assert_allclose(distances, distances[0] / 2.0 ** np.arange(6), rtol=1e-9)
    np.testing.assert_allclose(diagnostics.spreads(run)[3], diagnostics.spreads(run)[0] / 8, rtol=1e-9)
    np.testing.assert_allclose(run.best, run.best[0] / 4.0 ** np.arange(6), rtol=1e-6)
    assert diagnostics.fejer_share(run.points) == 1
    fitted = diagnostics.decay(diagnostics.residuals(run))
    assert fitted.factor == pytest.approx(0.5)


def test_gate_statistics():
    worse = diagnostics._run(solver(scaling(3.0), alpha=0.0), SPHERE, jax.random.key(0), 3)  # proposals equal parents
    np.testing.assert_array_equal(worse.accepted, 1)
    np.testing.assert_array_equal(worse.improved, 0)
    np.testing.assert_array_equal(diagnostics.residuals(worse), 0)
    fixed = diagnostics._run(solver(Inward(), alpha=1.0, gate=FixedGate(0.25)), SPHERE, jax.random.key(0), 3)
    np.testing.assert_allclose(fixed.accepted, 0.75)
    distances = jnp.linalg.norm(fixed.points - 0.6, axis=(1, 2))
    np.testing.assert_allclose(distances[1:] / distances[:-1], 0.25 + 0.75 / 2, rtol=1e-9)


def test_residual_is_0_at_a_fixed_point():
    operator = Certified(D, contraction=0.5, key=jax.random.key(4))
    optimizer = solver(operator)
    points, values = start()
    step = eqx.filter_jit(lambda x: optimizer.propose(x, values, jnp.asarray(0), jax.random.key(0)))
    for _ in range(120):
        points = step(points)
    assert float(jnp.linalg.norm(step(points) - points)) < 1e-14
    found = diagnostics.contraction(optimizer, points, values, jax.random.key(0), 4)
    np.testing.assert_allclose(found.measured, 0, atol=1e-14)


def test_contraction_of_a_scaling_is_its_averaged_factor():
    points, values = start()
    found = diagnostics.contraction(solver(scaling(0.5), alpha=0.4), points, values, jax.random.key(0), 20)
    assert found.rate is None  # nothing certifies it
    assert not found.holds
    assert found.measured_rate == pytest.approx(0.6 + 0.4 * 0.5, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.5, 0.9])
def test_non_expansiveness_alone_gives_no_rate(alpha):
    """Counterexamples to `|x_K - x*| <= (1 - alpha)^K |x_0 - x*|`: the identity, and slow rotations."""
    points, values = start()
    unmoved = diagnostics.contraction(solver(scaling(1.0), alpha=alpha), points, values, jax.random.key(0), 10)
    np.testing.assert_array_equal(unmoved.measured, 0)  # every population is a fixed point, none attracts
    angle = 0.1
    optimizer = solver(rotation(angle), alpha=alpha)
    x = jnp.full((N, D), 0.5).at[0, 0].set(0.6)  # x* = 1/2 in the plane of the rotation
    distances = [0.1]
    for _ in range(10):
        x = optimizer.propose(x, values, jnp.asarray(0), jax.random.key(0))
        distances.append(float(jnp.linalg.norm(x - 0.5)))
    factor = math.sqrt(1 - 2 * alpha * (1 - alpha) * (1 - math.cos(angle)))  # |1 - alpha + alpha e^(i angle)|
    np.testing.assert_allclose(distances, 0.1 * factor ** np.arange(11), rtol=1e-9)
    assert distances[10] > 0.9 * distances[0] > (1 - alpha) ** 10 * distances[0]


def test_a_gate_per_individual_can_expand_a_non_expansive_map():
    """Selection by rows of an isometry: (a, 0) with its first row kept and its second row swapped is (a, a)."""
    alpha = 0.9
    optimizer = solver(swap(), alpha=alpha)
    values = jnp.arange(N, dtype=float)
    x = jnp.full((N, D), 0.5).at[0].set(0.7)  # x* = 1/2
    proposed = optimizer.propose(x, values, jnp.asarray(0), jax.random.key(0))
    assert float(jnp.linalg.norm(proposed - 0.5)) <= float(jnp.linalg.norm(x - 0.5))
    keep_first = HardGate().fuse(jnp.zeros(N).at[0].set(1.0), x, proposed)
    ratio = float(jnp.linalg.norm(keep_first - 0.5) / jnp.linalg.norm(x - 0.5))
    assert ratio == pytest.approx(math.sqrt(1 + alpha**2))


def test_fejer():
    points = np.zeros((4, 1, 1))
    points[:, 0, 0] = [3.0, 4.0, 1.0, 0.0]
    assert diagnostics.fejer_share(points) == pytest.approx(2 / 3)
    optimizer = solver(Certified(D, contraction=0.9, key=jax.random.key(5)))
    x, values = start()
    step = eqx.filter_jit(lambda x: optimizer.propose(x, values, jnp.asarray(0), jax.random.key(0)))
    iterates = [x]
    for _ in range(60):
        iterates.append(step(iterates[-1]))
    assert diagnostics.fejer_share(np.stack(iterates)) == 1


def test_trends():
    steps = np.arange(1, 101)
    assert diagnostics.decay(3.0 / np.sqrt(steps)).exponent == pytest.approx(-0.5)
    assert diagnostics.decay(3.0 * 0.9**steps).factor == pytest.approx(0.9)
    assert math.isnan(diagnostics.decay(np.zeros(5)).factor)
    assert diagnostics.training_trend(1 / np.sqrt(steps)).exponent == pytest.approx(-1)
    rows = diagnostics.depth_trend([4.0, 1.0, 2.0], [9.0, 8.0, 7.0], (1, 2, 5))
    assert rows == [diagnostics.Depth(1, 1.0, 1.0, 8.0), diagnostics.Depth(2, 2.0, 1.0, 7.0)]


def test_diagnosis_of_a_certified_solver(tmp_path):
    optimizer = solver(Certified(D, contraction=0.8, key=jax.random.key(6)), alpha=0.5)
    found = diagnostics.diagnose_run(optimizer, SPHERE, jax.random.key(0), 12, samples=3)
    np.testing.assert_array_equal(found.sampled, [0, 6, 12])
    assert np.all(found.operator_norm <= 0.8 * (1 + 1e-9))
    assert np.all(found.map_norm <= 0.9 * (1 + 1e-9))
    assert found.residual.shape == found.spread.shape == found.best.shape == (13,)
    assert found.accepted.shape == found.improved.shape == (12,)
    assert np.all(np.diff(found.best) <= 0)
    assert found.frozen.holds
    path = tmp_path / "new" / "picture.png"
    diagnostics_figure(Report("a title", 0.5, {"sphere": found}, found.frozen), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_command(tmp_path):
    text = io.StringIO()
    optimizer = L2E(Shared(Certified(2, key=jax.random.key(7))), population_size=N)
    options = {"name": "tiny", "out": tmp_path, "dimension": 2, "generations": 10, "samples": 2}
    diagnose.diagnose(optimizer, console=Console(file=text, width=140), functions=(1,), **options)
    assert "bound 0.91^k holds" in text.getvalue()
    facts = json.loads((tmp_path / "diagnosis.json").read_text())
    run = facts["runs"]["f1"]
    assert facts["certified"]["holds"] is True
    assert [row["generations"] for row in run["trend"]] == [1, 2, 5, 10]
    assert run["gap"][-1] >= 0
    assert max(run["operator_norm"]) <= 0.9 * (1 + 1e-9)
    assert (tmp_path / "diagnosis.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match="training functions"):
        diagnose.diagnose(optimizer, console=Console(file=text), functions=(4,), **options)

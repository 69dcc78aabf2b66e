import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import L2E, AttentionMLP, CoordinateFree, Shared, StructuredMamba, Unshared
from l2e.algorithms.l2e.contracts import AbstractGuide, AbstractOperator
from l2e.algorithms.l2e.gates import FixedGate, HardGate, SoftGate
from l2e.algorithms.l2e.projection import Euclidean
from l2e.core.box import box
from l2e.core.traced import runtime
from l2e.core.traced.loop import unroll
from l2e.core.traced.problem import JAXFunction
from l2e.core.traced.search import AlgorithmSearch

N, D = 8, 2
KEY = jax.random.key(0)
SPACE = box([(-1.0, 3.0)] * D)


class Push(AbstractOperator):
    """A smooth operator of few weights that looks at no values: `c + A (x - c)`."""

    matrix: jax.Array
    centre: jax.Array

    def __call__(self, points, values, key):
        return self.centre + (points - self.centre) @ self.matrix.T


class Halfway(AbstractGuide):
    """A guide with something to say: halfway to the middle of the cube."""

    def __call__(self, points, values, generation):
        guided = (points + 0.5) / 2
        return guided, smooth_unit(guided)


class Inner(Euclidean):
    """A metric of another box: the middle of the cube."""

    def project(self, points):
        return jnp.clip(points, 0.25, 0.75)


def smooth_unit(points):
    return jnp.sum((4 * points - 2) ** 2 * jnp.asarray([1.0, 5.0]), axis=1)


def bowl(x):
    return (x[0] - 1) ** 2 + 5 * (x[1] - 1) ** 2


def push(scale: float = 0.8) -> Push:
    with runtime.float64():
        matrix = jnp.asarray([[0.9, 0.2], [-0.1, 0.7]], jnp.float64)
        return Push(scale * matrix, jnp.asarray([0.45, 0.55], jnp.float64))


def small(key):
    return AttentionMLP(N, D, width=2, key=key)


def solver(**options) -> L2E:
    return L2E(Shared(small(KEY)), population_size=N, **options)


GATES = {"hard": HardGate(), "soft": SoftGate(), "raw": SoftGate(0.5, scale_free=False), "fixed": FixedGate(0.3)}


def drive(optimizer: L2E, rounds: int, seed: int = 0, poison=None):
    """Run on the host; returns the batches, their values and the states before each."""
    driver = AlgorithmSearch(optimizer, SPACE, jax.random.key(seed))
    batches = []
    for index in range(rounds):
        points = driver.ask()
        values = np.asarray([float(bowl(point)) for point in points])
        if poison is not None:
            values[poison(index)] = np.inf
        batches.append((points, values, driver.state))
        driver.tell(values)
    return batches, driver


def test_first_batch_is_a_uniform_population_with_the_start_in_it() -> None:
    start = np.array([2.5, -0.5])
    driver = AlgorithmSearch(solver(), SPACE, KEY, start)
    points = driver.ask()
    assert points.shape == (N, D)
    np.testing.assert_allclose(points[0], start)
    driver.tell(np.zeros(N))
    assert int(driver.state.generation) == 0


def test_hard_gate_never_worsens_an_individual_and_takes_one_batch_per_generation() -> None:
    batches, driver = drive(solver(), 12)
    previous = np.full(N, np.inf)
    for index, (points, values, state) in enumerate(batches):
        np.testing.assert_array_equal(np.asarray(state.values), previous)
        np.testing.assert_allclose(points, 4 * np.asarray(state.candidates) - 1, atol=1e-12)
        previous = np.minimum(previous, values)
        assert int(state.generation) == index - 1
    np.testing.assert_array_equal(np.asarray(driver.state.values), previous)
    points = 4 * np.asarray(driver.state.points) - 1
    np.testing.assert_allclose(previous, [bowl(point) for point in points], rtol=1e-9)
    assert previous.min() < batches[0][1].min()
    assert solver().rounds == 1


@pytest.mark.parametrize("name", ["soft", "raw", "fixed"])
def test_blending_gates_take_two_batches_per_generation(name) -> None:
    optimizer = solver(gate=GATES[name])
    assert optimizer.rounds == 2
    batches, driver = drive(optimizer, 7)
    assert [int(state.generation) for _, _, state in batches] == [-1, 0, 0, 1, 1, 2, 2]
    assert [bool(state.settled) for _, _, state in batches] == [True, False, True, False, True, False, True]
    np.testing.assert_allclose(np.asarray(driver.state.values), batches[-1][1])
    np.testing.assert_array_equal(np.asarray(driver.state.points), np.asarray(batches[-1][2].candidates))


def test_blend_is_the_formula() -> None:
    for gate in (SoftGate(0.7, scale_free=False), SoftGate(0.7), FixedGate(0.3)):
        batches, _ = drive(solver(gate=gate), 3)
        (old, old_values, _), (proposed, values, _), (fused, _, _) = batches
        difference = old_values - values
        if isinstance(gate, SoftGate) and gate.scale_free:
            both = np.concatenate([old_values, values])
            difference = difference / np.abs(both - both.mean()).mean()
        share = 0.3 if isinstance(gate, FixedGate) else 1 / (1 + np.exp(difference / 0.7))[:, None]
        np.testing.assert_allclose(fused, share * old + (1 - share) * proposed, rtol=1e-9)


@pytest.mark.parametrize("scale_free", [True, False])
def test_soft_gate_at_temperature_zero_chooses_as_the_hard_gate(scale_free) -> None:
    hard, _ = drive(solver(), 3)
    for tau in (0.0, 1e-12):
        soft, _ = drive(solver(gate=SoftGate(tau, scale_free=scale_free)), 3)
        np.testing.assert_allclose(soft[2][0], 4 * np.asarray(hard[2][2].points) - 1, atol=1e-12)


def test_gates_with_failed_values() -> None:
    guided, proposed = jnp.array([1.0, jnp.inf, 1.0, jnp.inf]), jnp.array([2.0, 1.0, jnp.inf, jnp.inf])
    for gate in (HardGate(), SoftGate(1e-9), SoftGate(1e-9, scale_free=False)):
        np.testing.assert_array_equal(gate.weights(guided, proposed), [1, 0, 1, 1])
    np.testing.assert_allclose(FixedGate(0.25).weights(guided, proposed), np.full(4, 0.25))


def test_scale_relative_does_not_see_scale_or_offset_and_the_raw_one_does() -> None:
    guided, proposed = jnp.array([1.0, 3.0, 2.0]), jnp.array([2.0, 1.0, 2.5])
    relative, raw = SoftGate(), SoftGate(scale_free=False)
    moved = relative.weights(1e4 * guided + 5, 1e4 * proposed + 5)
    np.testing.assert_allclose(moved, relative.weights(guided, proposed), rtol=1e-4)
    np.testing.assert_allclose(raw.weights(1e4 * guided, 1e4 * proposed), [1, 0, 1], atol=1e-6)
    np.testing.assert_array_equal(relative.weights(jnp.full(3, 3e38), jnp.full(3, 3e38)), np.full(3, 0.5))


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_alpha_averages_with_the_identity(alpha) -> None:
    operator = push()
    batches, _ = drive(L2E(Shared(operator), alpha=alpha, population_size=N), 2)
    old = (batches[0][0] + 1) / 4
    moved = np.asarray(operator.centre) + (old - np.asarray(operator.centre)) @ np.asarray(operator.matrix).T
    expected = np.clip((1 - alpha) * old + alpha * moved, 0, 1)
    np.testing.assert_allclose((batches[1][0] + 1) / 4, expected, atol=1e-12)


def test_proposals_are_projected_in_the_metric() -> None:
    outward, metric = Shared(push(scale=6.0)), Inner()
    clipped = drive(L2E(outward, population_size=N), 2)[0][1][0]
    projected = drive(L2E(outward, metric=metric, population_size=N), 2)[0][1][0]
    assert not np.allclose(clipped, projected)
    unit = (clipped + 1) / 4
    np.testing.assert_allclose((projected + 1) / 4, np.clip(unit, 0.25, 0.75), atol=1e-12)


def test_guide_enters_through_the_gate_only() -> None:
    """Same first population and proposals; then the better of guided and proposed points."""
    plain, _ = drive(solver(), 2)
    guided, driver = drive(solver(guide=Halfway()), 2)
    np.testing.assert_array_equal(plain[1][0], guided[1][0])
    old = np.asarray(guided[1][2].points)
    halfway = (old + 0.5) / 2
    better = np.asarray(smooth_unit(halfway)) < guided[1][1]
    assert better.any()
    expected = np.where(better[:, None], halfway, (guided[1][0] + 1) / 4)
    np.testing.assert_allclose(np.asarray(driver.state.points), expected, atol=1e-6)


@functools.partial(eqx.filter_jit)
def unrolled(optimizer, problem, key, generations=5):
    return unroll(optimizer, problem, optimizer.init(problem.space, key), key, generations)


@pytest.mark.parametrize("name", GATES)
def test_unroll_equals_the_host_loop(name) -> None:
    optimizer = L2E(Unshared(small, 3, key=KEY), gate=GATES[name], population_size=N)
    with runtime.float64():
        state, trace = unrolled(optimizer, JAXFunction(bowl, SPACE), jax.random.key(3))
    batches, driver = drive(optimizer, 5, seed=3)
    np.testing.assert_allclose(np.asarray(state.points), np.asarray(driver.state.points), atol=1e-9)
    np.testing.assert_array_equal(np.asarray(trace.nfev), N * np.arange(1, 6))
    np.testing.assert_allclose(trace.fun[-1], min(values.min() for _, values, _ in batches), rtol=1e-9)


def test_scanning_over_blocks_equals_indexing_them() -> None:
    optimizer = L2E(Unshared(small, 4, key=KEY), population_size=N)
    with runtime.float64():
        problem = JAXFunction(bowl, SPACE)
        expected = unrolled(optimizer, problem, jax.random.key(3), 4)[0]

        def step(state, block):
            now = optimizer.with_operator(block)
            return now.tell(state, problem.evaluate(now.ask(state))), None

        state = jax.lax.scan(step, optimizer.init(SPACE, jax.random.key(3)), optimizer.schedule.blocks(4))[0]
    np.testing.assert_allclose(np.asarray(state.candidates), np.asarray(expected.candidates), atol=1e-9)


def final_loss(weights, optimizer, generations):
    """The mean value of the population after an unroll, by the weights of the operator."""
    optimizer = optimizer.with_operator(weights)
    state, _ = unroll(optimizer, JAXFunction(bowl, SPACE), optimizer.init(SPACE, KEY), KEY, generations)
    return jnp.mean(state.values)


def check_gradient(optimizer: L2E, generations: int, tolerance: float = 1e-5) -> None:
    """Along a random direction of all weights, against central differences."""
    with runtime.float64():
        weights = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), optimizer.schedule.operator)
        leaves, structure = jax.tree.flatten(weights)
        keys = jax.random.split(jax.random.key(8), len(leaves))
        drawn = [jax.random.normal(key, leaf.shape, jnp.float64) for key, leaf in zip(keys, leaves, strict=True)]
        direction = jax.tree.unflatten(structure, drawn)
        loss = eqx.filter_jit(lambda weights: final_loss(weights, optimizer, generations))
        gradients = eqx.filter_jit(eqx.filter_grad(lambda weights: final_loss(weights, optimizer, generations)))(
            weights
        )
        exact = sum(jax.tree.leaves(jax.tree.map(jnp.vdot, gradients, direction)))
        h = 1e-6
        ahead, behind = (
            loss(jax.tree.map(lambda w, d, sign=sign: w + sign * h * d, weights, direction)) for sign in (1, -1)
        )
        central = (ahead - behind) / (2 * h)
    assert abs(float(central)) > 1e-6
    assert float(exact) == pytest.approx(float(central), rel=tolerance)


@pytest.mark.parametrize(
    "gate", [HardGate(), FixedGate(0.3), SoftGate(differentiable=True)], ids=["hard", "fixed", "differentiable"]
)
def test_gradient_of_the_unroll_equals_central_differences(gate) -> None:
    check_gradient(L2E(Shared(push()), gate=gate, population_size=N), 1 + 4 * (1 if gate.selects else 2))


@pytest.mark.parametrize(
    ("operator", "gate"),
    [
        (AttentionMLP(N, D, width=4, key=KEY), HardGate()),
        (StructuredMamba(D, width=4, heads=2, key=KEY), HardGate()),
        (CoordinateFree(width=4, key=KEY), SoftGate()),
    ],
    ids=["attention-mlp", "mamba", "coordinate-free"],
)
def test_gradient_is_exact_but_for_the_stops(operator, gate, monkeypatch) -> None:
    """With the stops of values taken out nothing else is missing from the derivative of an unroll."""
    monkeypatch.setattr(jax.lax, "stop_gradient", lambda tree: tree)
    check_gradient(L2E(Shared(operator), gate=gate, population_size=N), 1 + 3 * (1 if gate.selects else 2), 1e-4)


def test_values_through_the_soft_gate_carry_no_gradient() -> None:
    gradient = jax.grad(lambda values: jnp.sum(SoftGate().weights(values, jnp.arange(3.0))))(jnp.ones(3))
    np.testing.assert_array_equal(gradient, np.zeros(3))


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize(
    "poison", [lambda index: slice(None), lambda index: slice(1, None), lambda index: slice(index % 2 * N)]
)
def test_failed_values_never_give_nan(name, poison) -> None:
    batches, driver = drive(solver(gate=GATES[name]), 9, poison=poison)
    assert all(np.isfinite(points).all() for points, _, _ in batches)
    for leaf in jax.tree.leaves(driver.state):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            assert not np.isnan(np.asarray(leaf)).any()


def test_an_operator_that_breaks_proposes_what_there_is() -> None:
    broken = L2E(Shared(Push(jnp.full((2, 2), jnp.nan), jnp.zeros(2))), population_size=N)
    batches, _ = drive(broken, 3)
    np.testing.assert_allclose(batches[2][0], batches[0][0])


@pytest.mark.parametrize("name", GATES)
def test_float32(name) -> None:
    space = box([(-1.0, 3.0)] * D, dtype=np.float32)
    optimizer = solver(gate=GATES[name])
    state = optimizer.init(space, KEY)
    tell = eqx.filter_jit(lambda optimizer, state, values: optimizer.tell(state, values))
    for _ in range(4):
        points = optimizer.ask(state)
        assert points.dtype == jnp.float32
        state = tell(optimizer, state, jnp.sum(points**2, axis=1))
    assert all(leaf.dtype != jnp.float64 for leaf in jax.tree.leaves(state))


def test_other_numbers_do_not_compile_again() -> None:
    traces = []

    @eqx.filter_jit
    def tell(optimizer, state):
        traces.append(None)
        return optimizer.tell(state, jnp.zeros(N))

    for alpha, tau in ((0.9, 1.0), (0.5, 0.1)):
        optimizer = solver(alpha=alpha, gate=SoftGate(tau))
        with runtime.float64():
            tell(optimizer, optimizer.init(SPACE, KEY))
    assert len(traces) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: solver(alpha=1.5), "alpha must be a number from 0 to 1"),
        (lambda: SoftGate(-1.0), "tau must be"),
        (lambda: FixedGate(2.0), "weight must be"),
        (lambda: L2E(Shared(push()), population_size=1), "population_size must be at least 2"),
    ],
)
def test_numbers_outside_their_range_are_refused(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()

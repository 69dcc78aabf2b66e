"""The gradient of a whole episode, and what must not change it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.toy import toy

from l2e.algorithms import CMAES
from l2e.algorithms.l2e import L2E, AttentionMLP, Shared, Staged, StructuredMamba, Unshared
from l2e.algorithms.l2e.gates import SoftGate
from l2e.core.box import box
from l2e.core.traced.problem import JAXFunction
from l2e.meta import FunctionTasks, LogGap, NormalisedImprovement, RandomBBOBTasks, rollout
from l2e.meta.loss import MetaLoss, Trainee, split_weights

KEY = jax.random.key(3)
GENERATIONS = 6


def quartic(x):
    return jnp.sum((x - 0.3) ** 2) + 0.1 * jnp.sum((x - 0.3) ** 4)


def smooth_tasks():
    return FunctionTasks([JAXFunction(quartic, box([(-2, 2)] * 3))], [0.0])


def operator(kind):
    if kind == "base":
        return lambda key: AttentionMLP(8, 3, width=4, key=key)
    return lambda key: StructuredMamba(3, width=4, heads=2, key=key)


def l2e(kind="base", schedule="unshared", gate=None):
    make = operator(kind)
    made = {
        "unshared": lambda: Unshared(make, GENERATIONS, key=KEY),
        "shared": lambda: Shared(make(KEY)),
        "staged": lambda: Staged(make, 2, GENERATIONS, key=KEY),
    }[schedule]()
    return L2E(made, population_size=8) if gate is None else L2E(made, gate, population_size=8)


def meta_loss(optimizer, tasks=None, objective=None, generations=GENERATIONS, **options):
    weights, rest = split_weights(Trainee(optimizer), jnp.zeros(()).dtype)
    loss = MetaLoss(rest, tasks or smooth_tasks(), objective or LogGap(), generations, **options)
    return loss, weights


def directional(loss, weights, key, moves=lambda name: True):
    """Derivative along a random direction by back-propagation and by central differences."""
    direction = jax.tree_util.tree_map_with_path(
        lambda path, leaf: (
            jax.random.normal(jax.random.key(7), leaf.shape, leaf.dtype) * moves(jax.tree_util.keystr(path))
        ),
        weights,
    )

    def along(t):
        return loss(jax.tree.map(lambda leaf, d: leaf + t * d, weights, direction), 0, key, 0.0)

    both, step = jax.jit(jax.value_and_grad(along)), 1e-6  # one compilation for both
    return float(both(0.0)[1]), float((both(step)[0] - both(-step)[0]) / (2 * step))


def grad(loss, weights, cut_every=None):
    return jax.jit(jax.grad(lambda w: loss(w, 0, KEY, 0.0, cut_every)))(weights)


def blind(optimizer, kind):
    """The optimizer with zero weights where values come in: no gradient passes there, on purpose."""
    operators = optimizer.schedule.operators
    if kind == "base":
        blinded = eqx.tree_at(lambda o: (o.query, o.key), operators, replace_fn=jnp.zeros_like)
    else:
        blinded = eqx.tree_at(lambda o: o.embedding.weight, operators, replace_fn=lambda w: w.at[..., -2:].set(0))
    return eqx.tree_at(lambda o: o.schedule.operators, optimizer, blinded)


@pytest.mark.parametrize(("kind", "schedule"), [("base", "unshared"), ("mamba", "unshared")])
def test_gradient_of_an_episode_is_that_of_central_differences(kind, schedule):
    closed = (".query", ".key") if kind == "base" else (".embedding.weight", ".router")
    with jax.enable_x64(True):
        loss, weights = meta_loss(blind(l2e(kind, schedule), kind))
        moves = lambda name: not any(part in name for part in closed)  # noqa: E731
        exact, numeric = directional(loss, weights, jax.random.key(1), moves)
    assert exact == pytest.approx(numeric, rel=1e-5)
    assert abs(exact) > 1e-4


def test_a_soft_gate_is_unrolled_with_its_second_round():
    with jax.enable_x64(True):
        loss, weights = meta_loss(l2e("base", "unshared", SoftGate()))
        gradient = grad(loss, weights)
    scales = gradient.optimizer.schedule.operators.row_scales
    assert (np.abs(scales).max(axis=(1, 2)) > 0).all()


def test_gradient_of_any_other_optimizer():
    with jax.enable_x64(True):
        loss, weights = meta_loss(toy(), objective=NormalisedImprovement())
        exact, numeric = directional(loss, weights, jax.random.key(1))
    assert exact == pytest.approx(numeric, rel=1e-5)
    assert abs(exact) > 1e-3


@pytest.fixture(scope="module")
def full():
    """Loss, weights and gradient of a rematerialised episode."""
    with jax.enable_x64(True):
        loss, weights = meta_loss(l2e())
        return loss, weights, grad(loss, weights)


def test_rematerialisation_changes_nothing(full):
    loss, weights, gradient = full
    with jax.enable_x64(True):
        kept = grad(MetaLoss(loss.rest, loss.tasks, loss.objective, GENERATIONS, rematerialise=False), weights)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), gradient, kept)


def test_scanned_weights_are_the_indexed_ones():
    """Scanning over blocks equals running the optimizer as it is, which indexes its stack of weights."""
    with jax.enable_x64(True):
        optimizer = l2e()
        task = smooth_tasks().of(jnp.asarray(0), KEY)
        episode = jax.jit(lambda key: rollout(optimizer, task, key, GENERATIONS))(KEY)
        init_key, _, _ = jax.random.split(KEY, 3)
        step = jax.jit(lambda state: optimizer.tell(state, task.evaluate(optimizer.ask(state))))
        state = step(optimizer.init(task.space, init_key))
        means = []
        for _ in range(GENERATIONS):
            state = step(state)
            means.append(float(state.values.mean()))
        np.testing.assert_allclose(episode.mean, means, rtol=1e-10)


def test_every_block_of_weights_gets_a_gradient(full):
    scales = np.asarray(full[2].optimizer.schedule.operators.row_scales)
    assert scales.shape[0] == GENERATIONS
    assert (np.abs(scales).max(axis=(1, 2)) > 0).all()


def test_one_segment_of_truncated_back_propagation_is_full_back_propagation(full):
    loss, weights, gradient = full
    with jax.enable_x64(True):
        one_segment = grad(loss, weights, GENERATIONS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13), gradient, one_segment)


def test_segments_do_not_see_each_other():
    """With segments of one generation the first block's gradient is that of the first generation alone."""
    with jax.enable_x64(True):
        # the keys of an episode depend on its length, so the operator must not be random here
        quiet = L2E(
            Unshared(lambda key: AttentionMLP(8, 3, noise=False, key=key), GENERATIONS, key=KEY), population_size=8
        )
        loss, weights = meta_loss(quiet)
        short = MetaLoss(loss.rest, loss.tasks, loss.objective, 1)
        cut = grad(loss, weights, 1)
        alone = grad(short, weights)
    first = np.asarray(cut.optimizer.schedule.operators.row_scales)[0]
    assert np.abs(first).max() > 0
    # later populations keep individuals of the first generation, but no gradient flows back to it
    np.testing.assert_allclose(
        first * GENERATIONS, np.asarray(alone.optimizer.schedule.operators.row_scales)[0], rtol=1e-9
    )


def test_padded_and_classical_optimizers_can_be_unrolled():
    task = RandomBBOBTasks([1], 4).sample(KEY)
    episode = jax.jit(lambda key: rollout(CMAES(8), task, key, 30))(KEY)
    assert episode.mean.shape == (30,)
    assert float(episode.best[-1]) < float(episode.start_best)
    assert (np.diff(episode.best) <= 0).all()

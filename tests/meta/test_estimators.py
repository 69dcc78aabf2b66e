"""Gradient estimators on a toy whose true gradient is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.toy import toy

from l2e.core.box import box
from l2e.core.errors import UnknownNameError
from l2e.core.traced.problem import JAXFunction
from l2e.meta import AntitheticES, FullBPTT, FunctionTasks, NormalisedImprovement, PersistentES, TruncatedBPTT
from l2e.meta.estimators.evolution import tied_like
from l2e.meta.loss import MetaLoss, Trainee, Work, split_weights
from l2e.meta.rollout import advance

GENERATIONS = 4


def bowl(x):
    return jnp.sum((x - 0.3) ** 2)


def broken(x):
    return jnp.sum(jnp.sqrt(x - 100.0))


def setting(functions=(bowl,), generations=GENERATIONS, greedy=False):
    tasks = FunctionTasks([JAXFunction(f, box([(-2, 2)] * 2)) for f in functions], [0.0] * len(functions))
    weights, rest = split_weights(Trainee(toy(greedy)), jnp.zeros(()).dtype)
    return MetaLoss(rest, tasks, NormalisedImprovement(), generations), weights


def work(families=1, tasks=1, seed=0):
    key = jax.random.key(seed)
    keys = jax.random.split(key, families * tasks).reshape(families, tasks)
    return Work(jnp.arange(families, dtype=jnp.int32), keys, key, jnp.zeros(()))


def vector(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@eqx.filter_jit
def compiled(estimator, loss, weights, given):
    return estimator(loss, weights, estimator.init(loss, weights, given), given)[0]


def estimated(estimator, loss, weights, given):
    return compiled(estimator, loss, weights, given)


def test_full_back_propagation_is_the_mean_of_the_tasks_gradients_clipped_one_by_one():
    with jax.enable_x64(True):
        loss, weights = setting((bowl, lambda x: jnp.sum(x**4)))
        given = work(2, 3)
        free = estimated(FullBPTT(clip=float("inf")), loss, weights, given)
        single = jax.jit(jax.value_and_grad(lambda w, family, key: loss(w, family, key, 0.0)))
        tasks = [(family, key) for family in range(2) for key in given.keys[family]]
        values, gradients = zip(*[single(weights, jnp.asarray(f), key) for f, key in tasks], strict=True)
        mean_gradient, mean = free.mean()
        one_by_one = np.stack([vector(gradient) for gradient in gradients])
        norms = np.linalg.norm(one_by_one, axis=1)
        limit = float(np.sort(norms)[3] + np.sort(norms)[2]) / 2
        tight = estimated(FullBPTT(clip=limit), loss, weights, given)
        clipped = vector(tight.mean()[0])
        unclipped = float(tight.unclipped_norm())
    np.testing.assert_allclose(mean, np.mean(values), rtol=1e-10)
    np.testing.assert_allclose(vector(mean_gradient), one_by_one.mean(axis=0), rtol=1e-9)
    assert float(free.clipped) == 0
    assert float(tight.clipped) == 3
    factors = np.minimum(1, limit / norms)
    np.testing.assert_allclose(clipped, (factors[:, None] * one_by_one).mean(axis=0), rtol=1e-9)
    assert float(tight.norm) == pytest.approx(norms.sum())
    assert unclipped == pytest.approx(np.linalg.norm(one_by_one.mean(axis=0)))


@pytest.mark.parametrize(
    "estimator",
    [FullBPTT(), TruncatedBPTT(2), AntitheticES(4, 0.01), PersistentES(2, 0.01)],
    ids=lambda e: type(e).__name__,
)
def test_a_task_that_is_not_finite_is_counted_and_does_no_harm(estimator):
    with jax.enable_x64(True):
        loss, weights = setting((bowl, broken))
        given = work(2, 1)
        estimate = estimated(estimator, loss, weights, given)
        twice = Work(jnp.zeros(2, jnp.int32), given.keys[jnp.asarray([0, 0])], given.step_key, given.strength)
        good = estimated(estimator, loss, weights, twice)  # the good task twice: its mean is that of one
        means = [vector(part.mean()[0]) for part in (estimate, good)]
    assert float(estimate.skipped) == 1
    assert float(estimate.counted) == 1
    assert np.isfinite(vector(estimate.gradient)).all()
    np.testing.assert_allclose(*means, rtol=1e-9)


@pytest.mark.parametrize("shaping", ["raw", "normalised", "ranks"])
def test_evolution_strategies_point_along_the_true_gradient(shaping):
    with jax.enable_x64(True):
        loss, weights = setting()
        given = work(1, 4)
        truth = vector(estimated(FullBPTT(clip=float("inf")), loss, weights, given).mean()[0])
        es = AntitheticES(300, 0.003, shaping, parallel=50)
        guess = vector(estimated(es, loss, weights, given).mean()[0])
    cosine = truth @ guess / np.linalg.norm(truth) / np.linalg.norm(guess)
    assert cosine > 0.97
    if shaping == "raw":
        np.testing.assert_allclose(guess, truth, atol=0.2 * np.linalg.norm(truth))


def test_persistent_es_is_unbiased_and_restarts():
    """Summed over the steps of one episode, its mean is the gradient of the sum of the segments' losses."""
    particles, length = 1500, 2
    with jax.enable_x64(True):
        loss, weights = setting()
        key = jax.random.key(0)
        same = Work(jnp.zeros(1, jnp.int32), jnp.broadcast_to(key, (1, particles)), key, jnp.zeros(()))
        estimator = PersistentES(length, 0.003, clip=float("inf"))
        carry = eqx.filter_jit(estimator.init)(loss, weights, same)
        carry = eqx.tree_at(lambda c: c.age, carry, jnp.zeros_like(carry.age))
        total = 0.0
        step = eqx.filter_jit(estimator)
        for i in range(GENERATIONS // length):
            fresh = Work(same.families, jax.random.split(jax.random.key(10 + i), particles)[None], key, same.strength)
            estimate, carry = step(loss, weights, carry, fresh)
            total = total + vector(estimate.mean()[0])

        def truth(w):
            # the same episode in two pieces, as the estimator sees it
            task, run = loss.start(w, 0, key)
            run, first = advance(loss.optimizer(w, task, 0.0, run), task, run, length)
            _, second = advance(loss.optimizer(w, task, 0.0, run), task, run, length)
            return loss.objective(first) + loss.objective(second)

        exact = vector(jax.jit(jax.grad(truth))(weights))
    np.testing.assert_allclose(total, exact, atol=0.15 * np.linalg.norm(exact))
    assert (np.asarray(carry.age) == 0).all()
    assert not vector(carry.noise).any()


def test_persistent_es_begins_with_all_ages():
    loss, weights = setting(generations=8)
    carry = PersistentES(2).init(loss, weights, work(2, 4))
    assert sorted(np.ravel(carry.age)) == [0, 0, 2, 2, 4, 4, 6, 6]
    with pytest.raises(ValueError, match="must divide"):
        PersistentES(3).init(loss, weights, work())


def test_tied_noise_is_smooth_over_generations_and_of_unit_variance():
    tree = {"own": jnp.zeros((50, 400)), "common": jnp.zeros(400)}
    flags = {"own": True, "common": False}
    one = tied_like(jax.random.key(0), tree, flags, 1)["own"]
    np.testing.assert_array_equal(one, np.broadcast_to(one[:1], one.shape))
    three = np.asarray(tied_like(jax.random.key(0), tree, flags, 3)["own"])
    np.testing.assert_allclose(three.std(axis=1), 1, atol=0.15)
    assert abs(np.corrcoef(three[0], three[1])[0, 1]) > 0.95
    assert abs(np.corrcoef(three[0], three[-1])[0, 1]) < 0.2


def test_nonsense_is_an_error():
    with pytest.raises(ValueError, match="clip must be positive"):
        FullBPTT(0.0)
    with pytest.raises(ValueError, match="length must be at least 1"):
        TruncatedBPTT(0)
    with pytest.raises(UnknownNameError, match="did you mean ranks"):
        AntitheticES(shaping="rank")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="at least 2"):
        AntitheticES(pairs=1)

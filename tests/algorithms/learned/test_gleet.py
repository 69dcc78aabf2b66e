"""GLEET: how particles move, what the policy sees and decides, and that failures do no harm."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.learned.gleet import GLEET
from l2e.algorithms.learned.swarm_policy import FEATURES, LEAST_DEVIATION, MOST_DEVIATION, SwarmView
from l2e.core.box import Box

pytestmark = pytest.mark.usefixtures("quick_compilation")

N, D, BUDGET = 12, 3, 120


@pytest.fixture(scope="module")
def model() -> GLEET:
    return GLEET.untrained(BUDGET, N, jax.random.key(0))


def space(dimension: int = D) -> Box:
    return Box(jnp.full(dimension, -5.0), jnp.full(dimension, 5.0))


def bowl(points):
    return jnp.sum((points - 1) ** 2, axis=1)


observe = eqx.filter_jit(lambda model, state, values: model.observe(state, values))
act = eqx.filter_jit(lambda model, state, action: model.act(state, action))
judge = eqx.filter_jit(lambda model, view: model.judge(view))
started = eqx.filter_jit(lambda model, key: model.init(space(), key))


def observed(model, batches, scale=1.0, offset=0.0):
    """The state and what is seen of it after some batches on a bowl."""
    state, view = started(model, jax.random.key(1)), None
    for batch in range(batches):
        state = act(model, state, jnp.full(N, 0.5)) if batch else state
        state, view = observe(model, state, scale * bowl(model.ask(state)) + offset)
    return state, view


def test_a_particle_moves_by_the_formula(model) -> None:
    state, _ = observed(model, 3)
    near = 0.5 + 0.01 * jax.random.uniform(jax.random.key(2), (2, N, D))  # so that no speed meets its limit
    slow = jnp.full((N, D), 0.01)
    state = eqx.tree_at(lambda s: (s.positions, s.best_positions, s.velocities), state, (*near, slow))
    own_only, leader_only = (act(model, state, jnp.full(N, share)) for share in (1.0, 0.0))
    leader = np.asarray(state.best_positions)[int(jnp.argmin(state.best_values))]
    inertia = 0.9 - 0.5 * 3 * N / BUDGET
    for moved, target in ((own_only, np.asarray(state.best_positions)), (leader_only, leader[None])):
        velocity = np.asarray(moved.velocities)
        pull = velocity - inertia * np.asarray(state.velocities)
        direction = target - np.asarray(state.positions)
        factors = (pull * direction).sum(1, keepdims=True) / (direction**2).sum(1, keepdims=True)
        np.testing.assert_allclose(pull, factors * direction, atol=1e-6)  # one number per particle
        assert (factors >= -1e-4).all()
        assert (factors <= 4.1 + 1e-4).all()
        expected = np.clip(np.asarray(state.positions) + velocity, 0, 1)
        np.testing.assert_allclose(moved.positions, expected, rtol=1e-6)
    fast = act(model, eqx.tree_at(lambda s: s.velocities, state, -jnp.ones((N, D))), jnp.full(N, 0.5))
    np.testing.assert_allclose(fast.velocities, -0.1, rtol=1e-6)


def test_an_action_counts_between_0_and_1(model) -> None:
    state, _ = observed(model, 2)
    for inside, outside in ((0.0, -0.7), (1.0, 1.9)):
        a, b = (act(model, state, jnp.full(N, share)) for share in (inside, outside))
        np.testing.assert_array_equal(a.positions, b.positions)


def test_features_are_what_they_are_called(model) -> None:
    state, view = observed(model, 4)
    x, best = np.asarray(state.positions), np.asarray(state.best_positions)
    values, best_values = np.asarray(state.values), np.asarray(state.best_values)
    leader = best[best_values.argmin()]
    features = np.asarray(view.now)
    assert features.shape == (N, FEATURES)
    np.testing.assert_allclose(features[:, 0], values.argsort().argsort() / (N - 1), atol=1e-6)
    first = np.asarray(bowl(model.ask(started(model, jax.random.key(1)))))
    scale = first.mean() - first.min()
    above, lost = (values - best_values.min()) / scale, (values - best_values) / scale
    np.testing.assert_allclose(features[:, 1], above / (1 + above), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(features[:, 2], lost / (1 + lost), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(features[:, 3], 1 - 4 * N / BUDGET, rtol=1e-5)
    np.testing.assert_allclose(features[:, 4], np.asarray(state.stagnation) * N / BUDGET, rtol=1e-5)
    np.testing.assert_allclose(features[:, 6], np.linalg.norm(leader - x, axis=1) / np.sqrt(D), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(features[:, 7], np.linalg.norm(best - x, axis=1) / np.sqrt(D), rtol=1e-4, atol=1e-6)
    product = np.linalg.norm(best - x, axis=1) * np.linalg.norm(leader - x, axis=1)
    cosine = ((best - x) * (leader - x)).sum(1) / np.where(product > 0, product, 1)
    np.testing.assert_allclose(features[:, 8], cosine, rtol=1e-3, atol=1e-4)


def test_what_is_remembered_is_from_the_last_improvement(model) -> None:
    state, _ = observed(model, 3)
    state = act(model, state, jnp.full(N, 0.5))
    better = jnp.where(jnp.arange(N) == 4, state.best_values - 1e-3, state.best_values + 1)
    after, view = observe(model, state, better)
    others = np.arange(N) != 4
    np.testing.assert_array_equal(after.improved[4], view.now[4])
    np.testing.assert_array_equal(np.asarray(after.improved)[others], np.asarray(state.improved)[others])
    assert int(after.stagnation[4]) == 0
    np.testing.assert_array_equal(np.asarray(after.stagnation)[others], np.asarray(state.stagnation)[others] + 1)
    leads = bool(better[4] < jnp.min(state.best_values))
    assert not leads or int(jnp.argmin(after.best_values)) == 4
    expected = view.now[4] if leads else state.leader
    np.testing.assert_array_equal(after.leader, expected)
    assert int(after.leader_stagnation) == (0 if leads else int(state.leader_stagnation) + 1)


def test_it_does_not_see_the_offset_or_the_unit_of_the_values(model) -> None:
    _, plain = observed(model, 4)
    _, other = observed(model, 4, 64.0, 1024.0)
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


def test_decisions_are_equivariant_to_the_order_of_the_particles(model) -> None:
    keys = jax.random.split(jax.random.key(3), 3)
    view = SwarmView(
        jax.random.uniform(keys[0], (N, FEATURES)),
        jax.random.uniform(keys[1], (N, FEATURES)),
        jax.random.uniform(keys[2], (FEATURES,)),
    )
    order = np.random.default_rng(4).permutation(N)
    judged, shuffled = judge(model, view), judge(model, SwarmView(view.now[order], view.improved[order], view.leader))
    np.testing.assert_allclose(shuffled.mean, np.asarray(judged.mean)[order], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(shuffled.value, np.asarray(judged.value)[order], rtol=1e-3, atol=1e-4)
    assert ((judged.mean >= 0) & (judged.mean <= 1)).all()
    assert ((judged.deviation >= LEAST_DEVIATION) & (judged.deviation <= MOST_DEVIATION)).all()
    assert np.asarray(judged.mean).std() > 0  # particles are told apart


def test_every_weight_takes_part(model) -> None:
    _, view = observed(model, 3)

    def loss(m):
        judged = m.judge(view)
        weights = jnp.arange(N)
        return jnp.sum(weights * (judged.mean + judged.deviation + judged.value))

    gradient = eqx.filter_jit(eqx.filter_grad(loss))(model)
    for leaf in jax.tree.leaves((gradient.policy, gradient.critic)):
        assert np.isfinite(leaf).all()
        assert np.any(np.asarray(leaf) != 0)


def test_the_critic_stays_behind_and_the_budget_is_told(model) -> None:
    deployed = model.without_critic().with_budget(5 * BUDGET)
    assert deployed.critic is None
    assert float(deployed.budget) == 5 * BUDGET
    np.testing.assert_array_equal(deployed.policy.memory.weight, model.policy.memory.weight)


def test_failed_evaluations_poison_nothing(model) -> None:
    """A third of each batch fails and one batch as a whole, the first or a later one; or all of them."""
    some = (np.arange(N) + np.arange(4)[:, None]) % 3 == 0
    for failing in (some | (np.arange(4)[:, None] == 2), some | (np.arange(4)[:, None] == 0), np.ones((4, N), bool)):
        state = started(model, jax.random.key(5))
        for failed in failing:
            state, view = observe(model, state, jnp.where(failed, jnp.inf, bowl(model.ask(state))))
            judged = judge(model, view)
            assert all(np.isfinite(part).all() for part in (*view, *judged))
            state = act(model, state, judged.mean)
            assert (np.abs(np.asarray(model.ask(state))) <= 5).all()
            assert np.isfinite(state.velocities).all()

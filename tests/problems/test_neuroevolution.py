"""Policies for robots: their size and arithmetic, which episodes they meet, and that nothing counts after the end."""

import importlib.util
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.api import problem_catalog
from l2e.bench.suite import instances
from l2e.core.errors import MissingExtraError
from l2e.problems import gym_neuroevolution, neuroevolution
from l2e.problems._neuroevolution import suite
from l2e.problems._neuroevolution.policy import act, layer_sizes, unpacked, weight_count

HAS_BRAX = importlib.util.find_spec("brax") is not None
HAS_MUJOCO = all(importlib.util.find_spec(name) is not None for name in ("gymnasium", "mujoco"))
with_brax = pytest.mark.skipif(not HAS_BRAX, reason="needs the extra brax")
with_mujoco = pytest.mark.skipif(not HAS_MUJOCO, reason="needs the extra mujoco")


@pytest.mark.parametrize(
    ("robot", "sizes"), [("ant", {3: 4328, 4: 5384, 5: 6440, 6: 7496}), ("humanoid", {3: 11569, 4: 12625, 5: 13681})]
)
def test_dimensions_are_those_of_the_policy(robot, sizes):
    for depth, size in sizes.items():
        problem = neuroevolution(robot, depth)
        assert problem.dimension == size
        assert (problem.space.lower == -0.2).all()
        assert (problem.space.upper == 0.2).all()
        assert problem_catalog.problem(f"{robot}-spring:f{depth}").dimension == size
    assert neuroevolution(robot, 4).name == f"{robot}-4 (spring)"


def test_policy_is_a_chain_of_layers_with_tanh():
    sizes = layer_sizes(5, 2, depth=1)
    assert sizes == (5, 32, 32, 2)
    weights = np.random.default_rng(0).normal(size=weight_count(sizes))
    place, rows = 0, np.linspace(-1, 1, 5)
    for inputs, outputs in itertools.pairwise(sizes):
        matrix = weights[place : place + inputs * outputs]
        offset = weights[place + inputs * outputs : place + (inputs + 1) * outputs]
        rows = np.tanh([matrix[o::outputs] @ rows + offset[o] for o in range(outputs)])
        place += (inputs + 1) * outputs
    assert place == len(weights)
    np.testing.assert_allclose(act(unpacked(weights, sizes), np.linspace(-1, 1, 5), np.tanh), rows)
    traced = act(unpacked(jnp.asarray(weights, jnp.float32), sizes), jnp.linspace(-1, 1, 5), jnp.tanh)
    np.testing.assert_allclose(traced, rows, rtol=1e-4, atol=1e-6)


def test_suites_have_the_papers_depths():
    found = instances("ant-spring", (), (4328, 5384, 6440), (1,))
    assert [instance.problem for instance in found] == [
        "ant-spring:f3:i1:d4328",
        "ant-spring:f4:i1:d5384",
        "ant-spring:f5:i1:d6440",
    ]
    assert problem_catalog.problem("ant-mujoco:f3").dimension == gym_neuroevolution("ant", 3).dimension == 6824
    assert problem_catalog.problem("humanoid-mujoco:f3").dimension == 14897


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("aunt", 3), "did you mean ant"), (("ant", 7), "between 0 and 6"), (("ant", 3, -1), "seed must be at least 0")],
)
def test_wrong_arguments_are_errors_that_say_what_is_allowed(arguments, message):
    for make in (neuroevolution, gym_neuroevolution):
        with pytest.raises(ValueError, match=message):
            make(*arguments)


@pytest.mark.skipif(HAS_BRAX, reason="brax is installed")
def test_without_brax_an_evaluation_names_the_extra():
    with pytest.raises(MissingExtraError, match=r"l2e\[brax\]"):
        neuroevolution("ant", 0)(np.zeros(1160))


@pytest.mark.skipif(HAS_MUJOCO, reason="gymnasium is installed")
def test_without_gymnasium_an_evaluation_names_the_extra():
    problem = gym_neuroevolution("ant", 0)
    with pytest.raises(MissingExtraError, match=r"l2e\[mujoco\]"):
        problem(np.zeros(problem.dimension))


class Clock:
    """In place of a robot: every step is worth 1, and an episode ends after a number of steps that its key decides."""

    class State:
        def __init__(self, obs, reward, done, left):
            self.obs, self.reward, self.done, self.left = obs, reward, done, left

    def reset(self, key):
        left = jax.random.randint(key, (), 3, 300)
        return self.State(jnp.zeros(27), jnp.zeros(()), jnp.zeros(()), left)

    def step(self, state, action):
        left = state.left - 1
        return self.State(state.obs, 1.0 + 0 * action.sum(), (left == 0).astype(jnp.float32), left)


jax.tree_util.register_pytree_node(
    Clock.State, lambda s: ((s.obs, s.reward, s.done, s.left), None), lambda _, leaves: Clock.State(*leaves)
)


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(suite, "environment", lambda robot: Clock())
    suite._program.cache_clear()
    yield neuroevolution("ant", 0, seed=4)
    suite._program.cache_clear()


def test_nothing_is_added_after_the_end_of_an_episode(clock, capsys):
    batch = np.random.default_rng(0).uniform(-0.2, 0.2, (13, clock.dimension))
    key = clock.key_of(batch)
    lengths = [int(jax.random.randint(k, (), 3, 300)) for k in jax.random.split(key, 10)]
    assert max(lengths) > 200 > min(lengths)
    rewards = clock.rewards(batch, key)
    np.testing.assert_array_equal(rewards, np.tile(np.minimum(lengths, 200), (13, 1)))
    np.testing.assert_allclose(clock(batch), -rewards.mean(axis=1))
    assert "ant-0 (spring) compiled in" in capsys.readouterr().err


def test_policies_of_a_batch_meet_the_same_episodes_and_the_next_batch_meets_others(clock):
    batch = np.random.default_rng(1).uniform(-0.2, 0.2, (12, clock.dimension))
    first, again, other = clock(batch), clock(batch), clock(batch[:3])
    assert len(set(first)) == 1
    np.testing.assert_array_equal(first, again)
    assert other[0] != first[0]
    assert neuroevolution("ant", 0, seed=5)(batch)[0] != first[0]


@pytest.mark.parametrize("count", [1, 4, 13])
def test_traced_evaluation_takes_the_key_of_the_episodes(clock, count):
    batch = np.random.default_rng(2).uniform(-0.2, 0.2, (count, clock.dimension))
    with jax.enable_x64(False):
        traced = jax.jit(lambda points, key: clock.evaluate(points, key))(batch.astype(np.float32), clock.key_of(batch))
    np.testing.assert_allclose(traced, clock(batch), rtol=1e-6)
    with jax.enable_x64(True), pytest.raises(ValueError, match="Brax computes in float32"):
        clock.evaluate(batch)


@with_brax
def test_a_chunk_of_policies_has_the_rewards_of_each_policy_alone():
    """Against a plain loop over one robot, in which nothing is batched but the episodes, by `jax.vmap`."""
    problem = neuroevolution("ant", 0)
    batch = np.random.default_rng(3).uniform(-0.2, 0.2, (2, problem.dimension)).astype(np.float32)
    key, steps = jax.random.key(5), 12
    robot = suite.environment("ant")

    def one(weights):
        layers = unpacked(weights, layer_sizes(27, 8, 0))

        def step(carry, _):
            state, alive, total = carry
            state = jax.vmap(robot.step)(state, act(layers, state.obs, jnp.tanh))
            return (state, alive * (1 - state.done), total + alive * state.reward), None

        begin = jax.vmap(robot.reset)(jax.random.split(key, suite.EPISODES))
        start = (begin, jnp.ones(suite.EPISODES), jnp.zeros(suite.EPISODES))
        return jax.lax.scan(step, start, None, length=steps)[0][2]

    with jax.enable_x64(False), pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "STEPS", steps)
        found = jax.jit(lambda points: suite._chunk_rewards("ant", 0, points, key))(batch)
        np.testing.assert_allclose(found, jax.jit(jax.vmap(one))(batch), rtol=2e-3)


@with_brax
def test_an_ant_that_stands_still_is_paid_for_being_healthy():
    problem = neuroevolution("ant", 0)
    value = problem(np.zeros(problem.dimension))
    assert -210 < value < -190  # a reward of 1 in each of 200 steps, and what the fall to the ground adds
    key = jax.random.key(0)
    np.testing.assert_array_equal(*(problem.rewards(np.zeros(problem.dimension), key) for _ in range(2)))


@with_mujoco
def test_robots_of_gymnasium_walk_with_the_same_policies():
    problem = gym_neuroevolution("ant", 0, seed=1)
    batch = np.random.default_rng(0).uniform(-0.2, 0.2, (2, problem.dimension))
    values = problem(batch)
    np.testing.assert_array_equal(problem(batch), values)
    assert np.isfinite(values).all()
    assert problem(batch[0]) != values[0]

"""PPO and Q-learning: what they compute, that they learn, and that trainings by them can be interrupted."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from helpers.toy import shifted_bowls, toy

from l2e.algorithms.learned.controlled import AbstractActorCritic, AbstractScored, Judgement
from l2e.core.box import Box
from l2e.core.errors import UnknownNameError
from l2e.core.traced.trees import load_tree, save_tree
from l2e.core.traced.types import Key
from l2e.meta import LogGap, TrainSpec, train
from l2e.meta.config import parse_config
from l2e.meta.estimators.dqn import DQN, Transitions
from l2e.meta.estimators.ppo import PPO, generalised_advantages, log_density
from l2e.meta.train import Trainer

KEY = jax.random.key(5)
ROWS = 6
DEVIATION = 0.3


class StepState(eqx.Module):
    space: Box
    key: Key
    point: jax.Array
    value: jax.Array
    trials: jax.Array


def started(space, key):
    key, first = jax.random.split(key)
    point = jax.random.uniform(first, (space.dimension,), space.lower.dtype)
    return StepState(space, key, point, jnp.asarray(jnp.inf, point.dtype), jnp.tile(point, (ROWS, 1)))


def looked(state, values):
    best = jnp.argmin(values)
    better = values[best] < state.value
    point = jnp.where(better, state.trials[best], state.point)
    value = jnp.where(better, values[best], state.value)
    return StepState(state.space, state.key, point, value, state.trials), jnp.ones((1,), point.dtype)


def stepped(state, size):
    key, draw = jax.random.split(state.key)
    trials = jnp.clip(state.point + size * jax.random.normal(draw, state.trials.shape, state.trials.dtype), 0, 1)
    return StepState(state.space, key, state.point, state.value, trials)


class DrawnStep(AbstractActorCritic[StepState]):
    """A random walk downhill; the action is the logarithm of its step."""

    mean: jax.Array
    critic: jax.Array

    def init(self, space, key, start=None):
        return started(space, key)

    def ask(self, state):
        return state.space.from_unit(state.trials)

    def wanted(self, state):
        return jnp.asarray(ROWS, jnp.int32)

    def observe(self, state, values):
        return looked(state, values)

    def judge(self, observation):
        return Judgement(self.mean, jnp.full(1, DEVIATION, self.mean.dtype), self.critic * observation)

    def standing(self, state):
        return state.value[None]

    def decide(self, observation, key):
        return self.mean

    def act(self, state, action):
        return stepped(state, 10.0 ** jnp.clip(action[0], -4, 1))


class ChosenStep(AbstractScored[StepState]):
    """The same walk with steps of three lengths to choose from."""

    weights: jax.Array

    def init(self, space, key, start=None):
        return started(space, key)

    def ask(self, state):
        return state.space.from_unit(state.trials)

    def wanted(self, state):
        return jnp.asarray(ROWS, jnp.int32)

    def observe(self, state, values):
        return looked(state, values)

    def scores(self, observation):
        return self.weights * observation[0]

    def reward(self, state):
        return -state.value

    def decide(self, observation, key):
        return jnp.argmax(self.weights)

    def act(self, state, action):
        return stepped(state, jnp.asarray([10.0, 0.1, 1e-4])[action])


def spec(optimizer: Any, estimator: Any, **changes: Any) -> TrainSpec:
    given = {"batch": 8, "parallel": 4, "generations": 7, "steps": 1000, "validate_every": 1000, "clip": float("inf")}
    return TrainSpec(optimizer, shifted_bowls(), LogGap("best"), estimator, **{**given, **changes})


RATE = 0.1
DRAWN = spec(DrawnStep(jnp.zeros(1), jnp.zeros(1)), PPO(length=4, epochs=2, discount=0.9), transform=optax.sgd(RATE))
CHOSEN = spec(
    ChosenStep(jnp.zeros(3)),
    DQN(length=5, memory=200, sample=64, exploration=0.5, renewal=10, reward="decades", discount=0.5),
    learning_rate=0.05,
)


@pytest.fixture(scope="module")
def played() -> list[Any]:
    """States and infos of a training by PPO, one per step, without its validations."""
    return list(itertools.islice(train(DRAWN, KEY), 80))


@pytest.fixture(scope="module")
def replayed() -> list[Any]:
    """The same by Q-learning."""
    return list(itertools.islice(train(CHOSEN, KEY), 80))


def test_advantages_are_sums_of_discounted_surprises() -> None:
    rewards, values = jnp.asarray([1.0, 0.5, 2.0]), jnp.asarray([0.3, 0.7, -0.2])
    surprises = np.asarray(rewards) + 0.9 * np.asarray([0.7, -0.2, 0.9]) - np.asarray(values)
    expected = [sum(0.72**k * surprises[t + k] for k in range(3 - t)) for t in range(3)]
    np.testing.assert_allclose(generalised_advantages(rewards, values, jnp.asarray(0.9), 0.9, 0.8), expected, rtol=1e-6)


def test_the_density_is_that_of_the_normal_distribution() -> None:
    numbers = np.linspace(-3, 3, 601)
    density = np.exp(log_density(jnp.asarray(numbers), jnp.asarray(0.2), jnp.asarray(0.5)))
    np.testing.assert_allclose(density.sum() * 0.01, 1, rtol=1e-4)
    np.testing.assert_allclose((density * numbers).sum() * 0.01, 0.2, rtol=1e-3)


def test_ppo_follows_the_policy_gradient_in_its_first_epoch(played) -> None:
    """With fresh data the ratio is 1 and the clip is idle: the gradient is that of advantage times log density."""
    state = played[0][0]
    segments, live = state.carry.segments, np.asarray(state.carry.segments.live)
    score = np.asarray(segments.actions)[..., 0] / DEVIATION**2  # derivative of the log density by the mean, 0 so far
    gains = (np.asarray(segments.advantages)[..., 0] * score * live).sum(-1) / live.sum(-1)
    np.testing.assert_allclose(state.weights.optimizer.mean[0], RATE * gains.mean(), rtol=1e-3)
    error = 0.5 * 2 * (np.asarray(segments.returns)[..., 0] * live).sum(-1) / live.sum(-1)
    np.testing.assert_allclose(state.weights.optimizer.critic[0], RATE * error.mean(), rtol=1e-3)
    np.testing.assert_allclose((np.asarray(segments.advantages)[..., 0] * live).sum(), 0, atol=1e-3)


def test_ppo_finds_the_length_of_a_step(played) -> None:
    """Steps begin as long as the box; downhill needs shorter ones."""
    state = played[-1][0]
    assert float(state.weights.optimizer.mean[0]) < -0.3
    assert float(state.weights.optimizer.critic[0]) > 0.1  # there is something to be gained
    rewards = [float(state.carry.segments.rewards.mean()) for state, _ in played]
    assert np.mean(rewards[-20:]) > 1.3 * np.mean(rewards[:10])


def test_episodes_end_and_begin_on_fresh_tasks(played) -> None:
    keys = [np.asarray(jax.random.key_data(state.carry.players.key)) for state, _ in played]
    for (state, info), now, before in zip(played[1:], keys[1:], keys, strict=False):
        players, segments = state.carry.players, state.carry.segments
        live, ages = np.asarray(segments.live), np.asarray(players.age)
        np.testing.assert_array_equal(players.fresh, ages >= 7)
        assert (np.asarray(segments.rewards) >= 0).all()
        np.testing.assert_array_equal(live.sum(-1), np.where(ages > 7, 7 - (ages - 4), 4))
        if info.step % 2 == 0:  # the second epoch: nothing was played
            np.testing.assert_array_equal(now, before)
    changed = [(a != b).any(-1).mean() for a, b in zip(keys[2::2], keys[::2], strict=False)]
    assert 0.3 < np.mean(changed) < 0.7  # an episode has two segments


def test_q_learning_finds_the_best_of_three_steps(replayed) -> None:
    scores = np.asarray(replayed[-1][0].weights.optimizer.weights)
    assert scores.argmax() == 1
    assert scores[1] > 0.05


def test_the_error_is_against_the_reward_and_the_target_of_the_best_following_action() -> None:
    trainer = Trainer(CHOSEN)
    weights, target = (
        eqx.tree_at(lambda w: w.optimizer.weights, trainer.first_weights, jnp.asarray(scores))
        for scores in ([1.0, 2.0, 3.0], [0.5, 0.25, -1.0])
    )
    views, following = jnp.ones((3, 1)), jnp.asarray([[1.0], [2.0], [1.0]])
    rows = Transitions(
        views,
        jnp.asarray([0, 1, 2]),
        jnp.asarray([1.0, 2.0, 9.0]),
        following,
        jnp.asarray([1.0, 0, 1]),
        jnp.asarray([1.0, 1, 0]),
    )
    wanted = [1 + 0.5 * -1.0, 2.0]  # the third action is the best, which the target thinks worth -1; then an end
    errors = [(1 - wanted[0]) ** 2, (2 - wanted[1]) ** 2]
    error = DQN(discount=0.5)._error(trainer.loss, weights, target, rows)
    np.testing.assert_allclose(error, np.mean(errors), rtol=1e-6)


def test_what_happens_after_the_end_of_an_episode_does_not_count(replayed) -> None:
    memory = replayed[4][0].carry.memory  # five steps of 8 times 5 generations
    live, alive = (np.asarray(part).reshape(5, 8, 5) for part in (memory.live, memory.alive))
    assert 0 < (live == 0).mean() < 0.5
    assert (alive[live == 0] == 0).all()
    assert ((live - alive).sum(-1) <= 1).all()  # one end each
    np.testing.assert_array_equal(live.sum(-1)[0] == 5, alive.sum(-1)[0] >= 4)


@pytest.mark.parametrize(("training", "states"), [(DRAWN, "played"), (CHOSEN, "replayed")], ids=["PPO", "DQN"])
def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, request, training, states) -> None:
    whole = request.getfixturevalue(states)
    save_tree(tmp_path / "half.safetensors", whole[2][0])
    loaded = load_tree(tmp_path / "half.safetensors", Trainer(training).begin(jax.random.key(0)))
    going_on = train(training, jax.random.key(9), loaded)
    again = [next(going_on)[0] for _ in range(4)][-1]
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(whole[6][0]), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_array_equal(a, b)


def test_what_cannot_be_trained_so_is_an_error() -> None:
    with pytest.raises(TypeError, match="for ActorCritic: Toy"):
        next(train(spec(toy(), PPO()), KEY))
    with pytest.raises(TypeError, match="for Scored: DrawnStep"):
        next(train(spec(DRAWN.optimizer, DQN()), KEY))
    with pytest.raises(ValueError, match="cannot hold the 16 of one step"):
        next(train(spec(CHOSEN.optimizer, DQN(length=2, memory=4)), KEY))
    with pytest.raises(UnknownNameError, match="decades"):
        PPO(reward="decade")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="epochs must be at least 1"):
        PPO(epochs=0)


def test_training_files_name_their_keys() -> None:
    config = parse_config({"optimizer": {"kind": "gleet"}, "estimator": {"kind": "ppo", "length": 5}})
    assert config.spec().estimator == PPO(length=5, clip=10.0)
    assert config.settings["estimator"]["kind"] == "ppo"
    assert config.settings["optimizer"] == {"kind": "gleet", "population_size": 100}
    other = parse_config({"optimizer": {"kind": "dedqn"}, "estimator": {"kind": "dqn", "memory": 50}})
    assert other.spec().estimator == DQN(memory=50, clip=10.0)
    with pytest.raises(UnknownNameError, match="ratio_clip"):
        parse_config({"optimizer": {"kind": "gleet"}, "estimator": {"kind": "ppo", "ratio_clp": 0.2}})

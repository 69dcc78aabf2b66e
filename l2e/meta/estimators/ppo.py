"""Proximal policy optimization as a gradient estimator, for optimizers that a policy controls.

J. Schulman, F. Wolski, P. Dhariwal, A. Radford, O. Klimov, "Proximal policy optimization algorithms", 2017; advantages
by J. Schulman et al., "High-dimensional continuous control using generalized advantage estimation", ICLR 2016.
"""

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.learned.controlled import AbstractActorCritic
from l2e.core.traced.types import Count, Key, Scalar, Values
from l2e.meta.estimators import play
from l2e.meta.estimators.backprop import AbstractGradientEstimator, Estimate, add_tasks, check_clip, zero_estimate
from l2e.meta.estimators.play import Player, Reward
from l2e.meta.loss import MetaLoss, Work
from l2e.meta.tasks import Task


class Segment(eqx.Module):
    """What was seen and done in some generations of an episode, one entry each, and how good it was.

    All but `live` (1, or 0 after the end of the episode) have an entry for each number of an action; `likelihoods` are
    logarithms of densities.
    """

    views: Any
    actions: Float[Array, "t ..."]
    likelihoods: Float[Array, "t ..."]
    values: Float[Array, "t ..."]
    rewards: Float[Array, "t ..."]
    live: Float[Array, "t"]
    advantages: Float[Array, "t ..."]
    returns: Float[Array, "t ..."]


class Played(eqx.Module):
    """What PPO carries: the episodes, what happened last in them, and how often it was learned from."""

    players: Player
    segments: Segment
    epoch: Count


class PPO(AbstractGradientEstimator):
    """The gradient of the clipped surrogate objective and of the critic's error.

    Every task of the batch is an episode under way. In each `epochs`-th step all of them are played on for `length`
    generations; that step and those after it take a gradient each from what happened. An episode that ends begins
    again on a fresh task. First episodes are cut to different lengths, so that all ages are equally frequent.

    The ratio of probabilities is taken and clipped for each number of an action by itself, not for their product: a
    swarm decides a hundred numbers at once, and the product leaves any clip with the first small step.

    **Arguments:**

    - `length`: generations played at a time.
    - `epochs`: gradients taken from them.
    - `discount`: of rewards, per generation; `trace`: the lambda of the advantages, 1 for sums of rewards to the end
      of the segment.
    - `ratio_clip`: how far from 1 the ratio counts.
    - `critic_weight`: of the critic's squared error.
    - `reward`: "share": the fall of the best gap as a share of the first one, the published reward; "decades": by how
      much log10 of the best gap fell (below 1e-8 all gaps are equal), so that each decade counts the same; "own": the
      same for each number of an action by its own `standing`, which says who earned it.
    - `clip`: the largest norm of one task's gradient.
    """

    kind: ClassVar[str] = "ppo"
    length: int = eqx.field(static=True, default=10)
    epochs: int = eqx.field(static=True, default=3)
    discount: float = eqx.field(static=True, default=0.999)
    trace: float = eqx.field(static=True, default=0.95)
    ratio_clip: float = eqx.field(static=True, default=0.1)
    critic_weight: float = eqx.field(static=True, default=0.5)
    reward: Reward = eqx.field(static=True, default="own")
    clip: float = eqx.field(static=True, default=10.0)

    def __check_init__(self) -> None:
        check_clip(self.clip)
        play.check_reward(self.reward)
        if self.length < 1 or self.epochs < 1:
            raise ValueError(f"length and epochs must be at least 1, got {self.length} and {self.epochs}")
        if not (0 <= self.discount <= 1 and 0 <= self.trace <= 1):
            raise ValueError(f"discount and trace are from 0 to 1, got {self.discount} and {self.trace}")

    def init(self, loss: MetaLoss, weights: Any, work: Work) -> Played:
        players = play.first_players(loss, AbstractActorCritic, weights, work)
        shapes = jax.eval_shape(lambda: self._collect(loss, weights, players, work)[1])
        segments = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
        return Played(players, segments, jnp.zeros((), jnp.int32))

    def __call__(self, loss: MetaLoss, weights: Any, carry: Played, work: Work) -> tuple[Estimate, Played]:
        players, segments = jax.lax.cond(
            carry.epoch == 0,
            lambda: self._collect(loss, weights, carry.players, work),
            lambda: (carry.players, carry.segments),
        )

        def group(total: Estimate, inputs: Any) -> tuple[Estimate, None]:
            one = jax.value_and_grad(lambda weights, segment: self._surrogate(loss, weights, segment))
            losses, gradients = jax.vmap(lambda segment: one(weights, segment))(inputs)
            return add_tasks(total, losses, gradients, self.clip), None

        total = jax.lax.scan(group, zero_estimate(weights), segments)[0]
        return total, Played(players, segments, jnp.mod(carry.epoch + 1, self.epochs))

    def _collect(self, loss: MetaLoss, weights: Any, players: Player, work: Work) -> tuple[Player, Segment]:
        """Play all episodes on; those that ended begin anew with the keys of this step."""

        def one(family: Count, key: Key, player: Player) -> tuple[Player, Segment]:
            player = play.begun(loss, AbstractActorCritic, weights, family, player, key, work)
            task, optimizer = play.task_and_optimizer(loss, AbstractActorCritic, weights, family, player.key)
            return self._play(loss, optimizer, task, player)

        players, segments = play.over_tasks(one, work, players)
        return players, eqx.tree_at(lambda s: s.advantages, segments, _standardised(segments))

    def _play(
        self, loss: MetaLoss, optimizer: AbstractActorCritic[Any], task: Task, player: Player
    ) -> tuple[Player, Segment]:
        def generation(player: Player, key: Key) -> tuple[Player, Any]:
            judgement = optimizer.judge(player.view)
            action_key, task_key = jax.random.split(key)
            noise = jax.random.normal(action_key, judgement.mean.shape, judgement.mean.dtype)
            action = judgement.mean + judgement.deviation * noise
            after = play.act(optimizer, task, player, action, task_key)
            likelihood = log_density(action, judgement.mean, judgement.deviation)
            live = (player.age < loss.generations).astype(after.best.dtype)
            reward = live * self._reward(optimizer, task, player, after) * jnp.ones_like(action)
            return after, (player.view, action, likelihood, judgement.value, reward, live)

        keys = jax.random.split(jax.random.fold_in(player.key, player.age), self.length)
        player, (views, actions, likelihoods, values, rewards, live) = jax.lax.scan(generation, player, keys)
        ended = play.ended(loss, player)
        last = jnp.where(ended, 0, optimizer.judge(player.view).value)
        known = values * _like(live, values)
        advantages = generalised_advantages(rewards, known, last, self.discount, self.trace) * _like(live, values)
        segment = Segment(views, actions, likelihoods, values, rewards, live, advantages, advantages + values)
        return eqx.tree_at(lambda p: p.fresh, player, ended), segment

    def _reward(self, optimizer: AbstractActorCritic[Any], task: Task, before: Player, after: Player) -> Any:
        if self.reward != "own":
            return play.gap_reward(self.reward, before, after)
        gaps = (jnp.maximum(optimizer.standing(player.state) - task.f_opt, 0) for player in (before, after))
        return play.decades(*gaps)

    def _surrogate(self, loss: MetaLoss, weights: Any, segment: Segment) -> Scalar:
        """What is made small on one segment."""
        optimizer: Any = eqx.combine(weights, loss.rest).optimizer
        judged = jax.vmap(optimizer.judge)(segment.views)
        ratio = jnp.exp(log_density(segment.actions, judged.mean, judged.deviation) - segment.likelihoods)
        near = jnp.clip(ratio, 1 - self.ratio_clip, 1 + self.ratio_clip)
        gain = jnp.minimum(ratio * segment.advantages, near * segment.advantages)
        error = (judged.value - segment.returns) ** 2
        losses = jnp.mean((self.critic_weight * error - gain).reshape(gain.shape[0], -1), axis=1)
        return jnp.sum(segment.live * losses) / jnp.maximum(jnp.sum(segment.live), 1)


def log_density(numbers: Values, mean: Values, deviation: Values) -> Values:
    """Logarithm of the density of a normal distribution, of each number."""
    return -(((numbers - mean) / deviation) ** 2) / 2 - jnp.log(deviation) - math.log(2 * math.pi) / 2


def generalised_advantages(rewards: Any, values: Any, last: Any, discount: float, trace: float) -> Any:
    """`sum_k (discount trace)^k (r_{t+k} + discount V_{t+k+1} - V_{t+k})`, with V = `last` after the last entry."""

    def backwards(carry: tuple[Any, Any], inputs: tuple[Any, Any]) -> tuple[Any, Any]:
        following, later = carry
        reward, value = inputs
        advantage = reward + discount * following - value + discount * trace * later
        return (value, advantage), advantage

    last = last.astype(rewards.dtype)
    inputs = (rewards, values.astype(rewards.dtype))
    return jax.lax.scan(backwards, (last, jnp.zeros_like(last)), inputs, reverse=True)[1]


def _standardised(segments: Segment) -> Array:
    """Advantages with mean 0 and variance 1 over all that happened in live generations of all episodes."""
    advantages = segments.advantages
    live = _like(segments.live, advantages) * jnp.ones_like(advantages)
    count = jnp.maximum(jnp.sum(live), 1)
    centred = (advantages - jnp.sum(advantages * live) / count) * live
    return centred / jnp.sqrt(jnp.sum(centred**2) / count + 1e-8)


def _like(live: Array, others: Array) -> Array:
    """With axes of length 1 behind it, so that it can be multiplied."""
    return live.reshape(live.shape + (1,) * (others.ndim - live.ndim))

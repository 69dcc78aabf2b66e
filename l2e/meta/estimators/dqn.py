"""Deep Q-learning as a gradient estimator, for optimizers that a policy controls by choosing among actions.

V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518 (2015) 529-533; values of the
next state as in H. van Hasselt, A. Guez, D. Silver, "Deep reinforcement learning with double Q-learning", AAAI 2016.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from l2e.algorithms.learned.controlled import AbstractScored
from l2e.core.traced.types import Count, Key, Scalar
from l2e.meta.estimators import play
from l2e.meta.estimators.backprop import AbstractGradientEstimator, Estimate, add_tasks, check_clip, zero_estimate
from l2e.meta.estimators.play import Player, Reward
from l2e.meta.loss import MetaLoss, Work
from l2e.meta.tasks import Task


class Transitions(eqx.Module):
    """Decisions and what came of them, one entry each.

    **Fields:** `alive`: 0 where the episode ended with it; `live`: 0 where it had ended before.
    """

    views: Any
    actions: Int[Array, "n"]
    rewards: Float[Array, "n"]
    following: Any
    alive: Float[Array, "n"]
    live: Float[Array, "n"]


class Replayed(eqx.Module):
    """What Q-learning carries: episodes, the memory and how much was ever written to it, the weights of the targets."""

    players: Player
    memory: Transitions
    written: Count
    target: Any
    age: Count


class DQN(AbstractGradientEstimator):
    """The gradient of the squared error of scores against rewards and the scores of what follows.

    Every task of the batch is an episode under way. At each step all of them are played on for `length` generations,
    with random actions now and then; what happened is put into a memory, of which a random part is learned from.
    Targets are computed with weights that are renewed every so often, and no gradient goes through them.

    **Arguments:**

    - `length`: generations played at each step.
    - `memory`: decisions that are remembered; `sample`: of which so many are learned from at each step.
    - `discount`: of rewards, per generation.
    - `exploration`: the share of random actions.
    - `renewal`: steps after which the targets get the weights of the moment.
    - `reward`: "own" is the optimizer's own; "decades" and "share" as in `PPO`.
    - `clip`: the largest norm of the gradient.
    """

    kind: ClassVar[str] = "dqn"
    length: int = eqx.field(static=True, default=1)
    memory: int = eqx.field(static=True, default=10_000)
    sample: int = eqx.field(static=True, default=256)
    discount: float = eqx.field(static=True, default=0.8)
    exploration: float = eqx.field(static=True, default=0.1)
    renewal: int = eqx.field(static=True, default=50)
    reward: Reward = eqx.field(static=True, default="own")
    clip: float = eqx.field(static=True, default=10.0)

    def __check_init__(self) -> None:
        check_clip(self.clip)
        play.check_reward(self.reward)
        for name in ("length", "memory", "sample", "renewal"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not (0 <= self.discount <= 1 and 0 <= self.exploration <= 1):
            raise ValueError(f"discount and exploration are from 0 to 1, got {self.discount} and {self.exploration}")

    def init(self, loss: MetaLoss, weights: Any, work: Work) -> Replayed:
        if work.keys.size * self.length > self.memory:
            raise ValueError(f"a memory of {self.memory} cannot hold the {work.keys.size * self.length} of one step")
        players = play.first_players(loss, AbstractScored, weights, work)
        shapes = jax.eval_shape(lambda: self._collect(loss, weights, players, work)[1])
        memory = jax.tree.map(lambda shape: jnp.zeros((self.memory, *shape.shape[1:]), shape.dtype), shapes)
        zero = jnp.zeros((), jnp.int32)
        return Replayed(players, memory, zero, weights, zero)

    def __call__(self, loss: MetaLoss, weights: Any, carry: Replayed, work: Work) -> tuple[Estimate, Replayed]:
        players, new = self._collect(loss, weights, carry.players, work)
        count = new.actions.shape[0]
        places = jnp.mod(carry.written + jnp.arange(count, dtype=jnp.int32), self.memory)
        memory = jax.tree.map(lambda kept, rows: kept.at[places].set(rows), carry.memory, new)
        written = carry.written + count
        target = jax.tree.map(
            lambda now, old: jnp.where(carry.age % self.renewal == 0, now, old), weights, carry.target
        )
        filled = jnp.minimum(written, self.memory)
        drawn = jax.random.randint(jax.random.fold_in(work.step_key, 1), (self.sample,), 0, filled)
        chosen = jax.tree.map(lambda rows: rows[drawn], memory)
        error, gradient = jax.value_and_grad(lambda w: self._error(loss, w, target, chosen))(weights)
        alone = jax.tree.map(lambda part: part[None], gradient)
        estimate = add_tasks(zero_estimate(weights), error[None], alone, self.clip)
        # Counters stay far from their limits: only the place in the memory and its being full matter.
        written = jnp.where(written >= 2 * self.memory, written - self.memory, written)
        return estimate, Replayed(players, memory, written, target, jnp.mod(carry.age + 1, self.renewal))

    def _collect(self, loss: MetaLoss, weights: Any, players: Player, work: Work) -> tuple[Player, Transitions]:
        """Play all episodes on; those that ended begin anew with the keys of this step."""

        def one(family: Count, key: Key, player: Player) -> tuple[Player, Transitions]:
            player = play.begun(loss, AbstractScored, weights, family, player, key, work)
            task, optimizer = play.task_and_optimizer(loss, AbstractScored, weights, family, player.key)
            return self._play(loss, optimizer, task, player)

        players, found = play.over_tasks(one, work, players)
        return players, jax.tree.map(lambda part: part.reshape(-1, *part.shape[3:]), found)

    def _play(
        self, loss: MetaLoss, optimizer: AbstractScored[Any], task: Task, player: Player
    ) -> tuple[Player, Transitions]:
        def generation(player: Player, key: Key) -> tuple[Player, Transitions]:
            chance_key, random_key, task_key = jax.random.split(key, 3)
            scores = optimizer.scores(player.view)
            other = jax.random.randint(random_key, (), 0, scores.shape[0], jnp.int32)
            explores = jax.random.uniform(chance_key) < self.exploration
            action = jnp.where(explores, other, jnp.argmax(scores).astype(jnp.int32))
            after = play.act(optimizer, task, player, action, task_key)
            if self.reward == "own":
                reward = optimizer.reward(after.state)
            else:
                reward = play.gap_reward(self.reward, player, after)
            over = play.ended(loss, after)
            alive, live = (1 - flag.astype(reward.dtype) for flag in (over, player.fresh))
            # An episode that is over stands still until the next step, and none of what it does counts.
            kept = jax.tree.map(lambda a, b: jnp.where(player.fresh, a, b), player, after)
            kept = eqx.tree_at(lambda p: p.fresh, kept, over | player.fresh)
            return kept, Transitions(player.view, action, reward, after.view, alive, live)

        keys = jax.random.split(jax.random.fold_in(player.key, player.age), self.length)
        return jax.lax.scan(generation, player, keys)

    def _error(self, loss: MetaLoss, weights: Any, target: Any, rows: Transitions) -> Scalar:
        optimizer: Any = eqx.combine(weights, loss.rest).optimizer
        judge: Any = eqx.combine(target, loss.rest).optimizer
        scores = jax.vmap(optimizer.scores)(rows.views)
        taken = jnp.take_along_axis(scores, rows.actions[:, None], axis=1)[:, 0]
        next_actions = jnp.argmax(jax.vmap(optimizer.scores)(rows.following), axis=1)
        judged = jnp.take_along_axis(jax.vmap(judge.scores)(rows.following), next_actions[:, None], axis=1)[:, 0]
        wanted = jax.lax.stop_gradient(rows.rewards + self.discount * rows.alive * judged)
        return jnp.sum(rows.live * (taken - wanted) ** 2) / jnp.maximum(jnp.sum(rows.live), 1)

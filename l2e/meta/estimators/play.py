"""Episodes of optimizers that a policy controls, for reinforcement learning: begun, played on, rewarded."""

from typing import Any, Literal, TypeVar, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from l2e.algorithms.learned.controlled import AbstractControlled
from l2e.core.errors import unknown
from l2e.core.problem import GAP_FLOOR
from l2e.core.traced.loop import generation
from l2e.core.traced.types import Count, Key, Scalar, Values
from l2e.meta.loss import MetaLoss, Work
from l2e.meta.tasks import Task

GapReward = Literal["decades", "share"]
Reward = Literal["own", "decades", "share"]
Controlled = TypeVar("Controlled", bound=AbstractControlled[Any])


class Player(eqx.Module):
    """An episode under way on one task.

    **Fields:** `state`, `view`: of the optimizer, before its next decision; `start`, `best`: best gap of the first
    population and so far; `key`: of the task and of all that happens; `age`: generations done; `fresh`: the episode
    is still to begin.
    """

    state: Any
    view: Any
    start: Scalar
    best: Scalar
    key: Key
    age: Count
    fresh: Bool[Array, ""]


def check_reward(reward: str) -> None:
    """Refuse what is no reward."""
    if reward not in get_args(Reward):
        raise unknown("reward", reward, get_args(Reward))


def begin(loss: MetaLoss, kind: type[Controlled], weights: Any, family: Count, key: Key) -> Player:
    """A fresh task and its first population, both fixed by the key."""
    task, optimizer = task_and_optimizer(loss, kind, weights, family, key)
    init_key, first_key = jax.random.split(jax.random.split(key)[1])
    state, view, gap = observed(optimizer, task, optimizer.init(task.space, init_key), first_key)
    return Player(state, view, gap, gap, key, jnp.zeros((), jnp.int32), jnp.zeros((), bool))


def first_players(loss: MetaLoss, kind: type[Controlled], weights: Any, work: Work) -> Player:
    """One episode per task, all still to begin; the first ones are cut, so that all ages are equally frequent later."""
    groups, size = work.keys.shape
    ages = jnp.arange(groups * size, dtype=jnp.int32) * loss.generations // (groups * size)

    def one(family: Count, key: Key, age: Count) -> Player:
        player = begin(loss, kind, weights, family, key)
        return eqx.tree_at(lambda p: (p.age, p.fresh), player, (age, jnp.ones((), bool)))

    return over_tasks(one, work, ages.reshape(groups, size))


def begun(
    loss: MetaLoss, kind: type[Controlled], weights: Any, family: Count, player: Player, key: Key, work: Work
) -> Player:
    """The player, or, if its episode is still to begin, one at the beginning of a new one with this key."""
    new = begin(loss, kind, weights, family, key)
    new = eqx.tree_at(lambda p: p.age, new, jnp.where(player.age < loss.generations, player.age, 0))
    return jax.tree.map(lambda a, b: jnp.where(player.fresh, a, b), new, player)


def over_tasks(function: Any, work: Work, *rest: Any) -> Any:
    """A function of family, key and more for each task of a step: groups one after the other, side by side within."""

    def group(inputs: Any) -> Any:
        family, *others = inputs
        return jax.vmap(lambda *each: function(family, *each))(*others)

    return jax.lax.map(group, (work.families, work.keys, *rest))


def task_and_optimizer(
    loss: MetaLoss, kind: type[Controlled], weights: Any, family: Count, key: Key
) -> tuple[Task, Controlled]:
    """The task of an episode's key, and the optimizer that plays on it."""
    task = loss.task(family, jax.random.split(key)[0])
    optimizer = loss.unguided(weights)
    if not isinstance(optimizer, kind):
        raise TypeError(f"this training is for {kind.__name__.removeprefix('Abstract')}: {type(optimizer).__name__}")
    return task, optimizer


def act(optimizer: AbstractControlled[Any], task: Task, player: Player, action: Any, key: Key) -> Player:
    """The player one generation later."""
    state, view, gap = observed(optimizer, task, optimizer.act(player.state, action), key)
    return Player(state, view, player.start, jnp.minimum(player.best, gap), player.key, player.age + 1, player.fresh)


def observed(optimizer: AbstractControlled[Any], task: Task, state: Any, key: Key) -> tuple[Any, Any, Scalar]:
    """Ask, evaluate and observe once; also the least gap among the new values."""
    (state, view), batch = generation(optimizer, task, state, key, tell=optimizer.observe)
    return state, view, jnp.maximum(jnp.min(batch.values) - task.f_opt, 0)


def ended(loss: MetaLoss, player: Player) -> Bool[Array, ""]:
    """Whether an episode is over, or cannot go on."""
    return (player.age >= loss.generations) | ~jnp.isfinite(player.best)


def decades(before: Values, after: Values) -> Values:
    """By how much log10 of gaps fell."""
    return jnp.log10((before + GAP_FLOOR) / (after + GAP_FLOOR))


def gap_reward(kind: GapReward, before: Player, after: Player) -> Scalar:
    """By how much log10 of the best gap fell ("decades"), or the best gap as a share of the first one ("share")."""
    if kind == "share":
        return (before.best - after.best) / jnp.maximum(before.start, GAP_FLOOR)
    return decades(before.best, after.best)

"""Unrolling an optimizer on a task, rematerialised generation by generation."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.loop import generation
from l2e.core.traced.types import Key, Scalar, Values
from l2e.meta import parts
from l2e.meta.objectives import Episode
from l2e.meta.tasks import Task


class Run(eqx.Module):
    """An episode under way: what the next generation needs."""

    state: Any
    key: Key
    start_mean: Scalar
    start_best: Scalar
    best: Scalar


def begin(optimizer: AbstractAlgorithm[Any], task: Task, key: Key) -> Run:
    """Start an episode: the first population is drawn and evaluated."""
    init_key, key, first_key = jax.random.split(key, 3)
    state = optimizer.init(task.space, init_key)
    state, batch = generation(parts.first_block(optimizer), task, state, first_key)
    mean, best = _mean(parts.population_values(optimizer, state, batch.values), batch.asked), jnp.min(batch.values)
    return Run(state, key, mean, best, best)


def advance(
    optimizer: AbstractAlgorithm[Any],
    task: Task,
    run: Run,
    generations: int,
    rematerialise: bool = True,
    cut_every: int | None = None,
    first: bool = True,
) -> tuple[Run, Episode]:
    """Go on for some generations.

    **Arguments:**

    - `rematerialise`: keep only the state of each generation for the backward pass and compute the rest again.
    - `cut_every`: no gradient flows through the state across every so many generations.
    - `first`: these are the first generations of the run. Weights of which each generation has its own are then
      scanned over together with the generations, because the backward pass of an indexed stack would write into the
      whole stack at every step; later generations index the stack.
    """
    keys = jax.random.split(run.key, generations + 1)
    cuts = (jnp.arange(generations) + 1) % (cut_every or generations + 1) == 0
    blocks, rest = parts.split_blocks(optimizer, generations) if first else (None, optimizer)

    def step(carry: tuple[Any, Scalar], inputs: Any) -> tuple[Any, Any]:
        key, cut, block = inputs
        state, best = carry
        now = parts.join_block(rest, block)
        *earlier, last = jax.random.split(key, parts.rounds(optimizer))
        for round_key in earlier:
            state, _ = generation(now, task, state, round_key)
        told, batch = generation(now, task, state, last)
        best = jnp.minimum(best, jnp.min(batch.values))
        mean = _mean(parts.population_values(optimizer, told, batch.values), batch.asked)
        if cut_every is not None:
            # Telling makes the next proposals, so the cut is before it: what is proposed keeps the gradient of the
            # weights that propose it. Only the backward pass tells these two apart, so it is computed once.
            told = now.tell(_cut(state, cut), _cut(batch.values, cut))
        return (told, _cut(best, cut) if cut_every else best), (mean, best)

    scanned = jax.checkpoint(step, prevent_cse=False) if rematerialise else step
    (state, best), (means, bests) = jax.lax.scan(scanned, (run.state, run.best), (keys[1:], cuts, blocks))
    episode = Episode(run.start_mean, run.start_best, means, bests, task.f_opt)
    return Run(state, keys[0], run.start_mean, run.start_best, best), episode


def rollout(
    optimizer: AbstractAlgorithm[Any],
    task: Task,
    key: Key,
    generations: int,
    rematerialise: bool = True,
    cut_every: int | None = None,
) -> Episode:
    """A whole episode: the first population and some generations after it; see `advance` for the arguments."""
    return advance(optimizer, task, begin(optimizer, task, key), generations, rematerialise, cut_every)[1]


def _mean(values: Values, asked: Any) -> Scalar:
    return jnp.sum(jnp.where(asked, values, 0)) / jnp.sum(asked)


def _cut(tree: Any, cut: Any) -> Any:
    """The tree, without gradient where `cut` holds."""
    return jax.tree.map(
        lambda leaf: jnp.where(cut, jax.lax.stop_gradient(leaf), leaf) if eqx.is_inexact_array(leaf) else leaf, tree
    )

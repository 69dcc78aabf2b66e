"""The meta-loss as a function of weights: what gradient estimators are given."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Scalar
from l2e.meta import parts
from l2e.meta.guides import Guidance, PopulationLoss
from l2e.meta.objectives import AbstractObjective, Episode
from l2e.meta.rollout import Run, advance, begin
from l2e.meta.tasks import AbstractTaskDistribution, Task


class Trainee(eqx.Module):
    """Everything that is trained: the optimizer, and the guidance with a preconditioner that may have weights."""

    optimizer: AbstractAlgorithm[Any]
    guidance: Guidance | None = None


def is_weight(leaf: Any) -> bool:
    """Whether a leaf is trained: JAX arrays of floats are, numpy's (hyper-parameters) are not."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.inexact)


def split_weights(trainee: Trainee, dtype: Any) -> tuple[Any, Any]:
    """The weights of a trainee in the dtype of the training, and the rest of it."""
    weights, rest = eqx.partition(trainee, is_weight)
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), weights), rest


class Work(eqx.Module):
    """The tasks of one meta-step: groups of tasks of one family each, scanned over; inside a group they are mapped.

    **Fields:** `families`: one number per group; `keys`: one key per task, shape (groups, tasks of a group);
    `step_key`: one key for the whole step, the same on all processes; `strength`: the factor of the guidance.
    """

    families: Any
    keys: Key
    step_key: Key
    strength: Scalar


class MetaLoss(eqx.Module):
    """The loss of an optimizer on one task, as a function of its weights.

    **Fields:** `rest`: what `split_weights` left; `tasks`, `objective`: what is trained on and for; `generations`: of
    an episode; `rematerialise`: see `l2e.meta.rollout.advance`; `population_size`: if it is not the optimizer's own.
    """

    rest: Any
    tasks: AbstractTaskDistribution
    objective: AbstractObjective
    generations: int = eqx.field(static=True)
    rematerialise: bool = eqx.field(static=True, default=True)
    population_size: int | None = eqx.field(static=True, default=None)

    def __call__(self, weights: Any, family: Count, key: Key, strength: Scalar, cut_every: int | None = None) -> Scalar:
        """The loss of one fresh task; with `cut_every` the mean of the losses at the end of each segment."""
        episode = self.episode(weights, family, key, strength, cut_every)
        if cut_every is None:
            return self.objective(episode)
        ends = [*range(cut_every, self.generations, cut_every), self.generations]
        return jnp.mean(jnp.stack([self.objective(episode.until(end)) for end in ends]))

    def episode(self, weights: Any, family: Count, key: Key, strength: Scalar, cut_every: int | None = None) -> Episode:
        """What happens on one fresh task."""
        task, run = self.start(weights, family, key)
        optimizer = self.optimizer(weights, task, strength, run)
        return advance(optimizer, task, run, self.generations, self.rematerialise, cut_every)[1]

    def start(self, weights: Any, family: Count, key: Key) -> tuple[Task, Run]:
        """A fresh task and the beginning of an episode on it, both fixed by the key."""
        task_key, run_key = jax.random.split(key)
        task = self.task(family, task_key)
        # A first population takes no notice of a guide, and the loss that a guide may follow begins with its values.
        return task, begin(self.unguided(weights), task, run_key)

    def task(self, family: Count, task_key: Key) -> Task:
        """A task that takes no part in gradients with respect to its own numbers."""
        return jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf), self.tasks.of(family, task_key))

    def unguided(self, weights: Any) -> AbstractAlgorithm[Any]:
        """The optimizer with these weights, without guidance."""
        return self._trainee(weights).optimizer

    def optimizer(self, weights: Any, task: Task, strength: Scalar, run: Run) -> AbstractAlgorithm[Any]:
        """The optimizer with these weights, guided on this run if guidance is wanted."""
        trainee = self._trainee(weights)
        if trainee.guidance is None:
            return trainee.optimizer
        loss = PopulationLoss(self.objective, run.start_mean, run.start_best, task.f_opt)
        return parts.with_guide(trainee.optimizer, trainee.guidance.guide(task, strength, trainee.optimizer, loss))

    def bound(self) -> "MetaLoss":
        """The same loss as a function of weights on which `parts.bound` has been called."""
        return dataclasses.replace(self, rest=parts.bound(self.rest))

    def stacked(self, weights: Any) -> Any:
        """For each weight whether its leading axis counts generations."""
        return parts.stacked(weights, eqx.combine(weights, self.rest).optimizer)

    def _trainee(self, weights: Any) -> Trainee:
        trainee: Trainee = eqx.combine(weights, self.rest)
        if self.population_size is None:
            return trainee
        sized: Any = trainee.optimizer
        return Trainee(sized.resized(self.population_size, self.generations), trainee.guidance)

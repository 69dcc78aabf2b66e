"""The meta-training loop: a pure step, compiled once, and an iterator over it."""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from l2e.algorithms.trainable import Resizable
from l2e.core import settings
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.runtime import small_jit
from l2e.core.traced.types import Count, Key, Scalar
from l2e.meta import distributed, parts
from l2e.meta.estimators.backprop import AbstractGradientEstimator, Estimate
from l2e.meta.guides import Guidance
from l2e.meta.loss import MetaLoss, Trainee, Work, split_weights
from l2e.meta.objectives import AbstractObjective, LogGap
from l2e.meta.tasks import AbstractTaskDistribution

VALIDATION = LogGap("best", relative=False)
"""What models are selected by: log10 of the final gap of the best value."""


def _unchanged(optimizer: Any) -> Any:
    return optimizer


@dataclasses.dataclass(frozen=True)
class TrainSpec:
    """All that a training is.

    **Arguments:**

    - `optimizer`: what is trained: its JAX arrays of floats; numpy arrays are hyper-parameters and stay.
    - `tasks`, `objective`, `estimator`: on what, for what, and by which gradients.
    - `steps`: meta-steps; `batch`: fresh tasks per family and step; `generations`: of an episode.
    - `learning_rate`: a number or an optax schedule, for Adam; `transform`: an optax transformation instead of it.
    - `clip`: the largest norm of the mean gradient.
    - `guidance`: steps along the true gradient in training, for L2E.
    - `deployed`: what becomes of the optimizer after training (say, the hard gate); validation sees that.
    - `validate_every`, `validation_batch`, `validation_seed`, `validation_objective`: validation on instances of the
      training families that are fixed by the seed and not trained on; the best weights are kept.
    - `parallel`: tasks of one family that are computed side by side: faster, but each holds a gradient.
    - `dtype`: float in which everything is computed and the weights are kept.
    - `rematerialise`: see `l2e.meta.rollout.advance`.
    - `family`: what the card says of the tasks, instead of what they say themselves.
    - `turns`: more tasks, of the same families in other dimensions: steps take `tasks` and these in turn, and
      validation is on all. Only for an optimizer whose weights fit any dimension.
    - `turn_generations`, `turn_populations`: for each of these the generations of an episode and the size of the
      population, if they are not those of `tasks`.
    """

    optimizer: AbstractAlgorithm[Any]
    tasks: AbstractTaskDistribution
    objective: AbstractObjective
    estimator: AbstractGradientEstimator
    steps: int = 1000
    batch: int = 1
    generations: int = 200
    learning_rate: Any = 1e-3
    transform: optax.GradientTransformation | None = None
    clip: float = 1.0
    guidance: Guidance | None = None
    deployed: Callable[[Any], Any] = _unchanged
    validate_every: int = 25
    validation_batch: int = 4
    validation_seed: int = 1
    validation_objective: AbstractObjective = VALIDATION
    parallel: int = 1
    dtype: Literal["float32", "float64"] = "float32"
    rematerialise: bool = True
    family: str = ""
    turns: tuple[AbstractTaskDistribution, ...] = ()
    turn_generations: tuple[int, ...] = ()
    turn_populations: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "generations", "validate_every", "validation_batch", "parallel"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.batch % self.parallel or self.validation_batch % self.parallel:
            sizes = f"{self.parallel}, {self.batch}, {self.validation_batch}"
            raise ValueError(f"parallel must divide batch and validation_batch, got {sizes}")
        if any(tasks.names != self.tasks.names for tasks in self.turns):
            raise ValueError(f"tasks that take turns must be of the same families, {', '.join(self.tasks.names)}")

        for name in ("turn_generations", "turn_populations"):
            if getattr(self, name) and len(getattr(self, name)) != len(self.turns):
                raise ValueError(f"{name} must have one number for each of the {len(self.turns)} turns")
            if getattr(self, name) and not isinstance(self.optimizer, Resizable):
                raise ValueError(f"{name} is for L2E, not for {type(self.optimizer).__name__}")

    @property
    def episodes(self) -> tuple[tuple[int, int | None], ...]:
        """Generations of an episode and the size of its population, None for the optimizer's own, for `all_tasks`."""
        if not self.turn_generations and not self.turn_populations:
            return ((self.generations, None),) * len(self.all_tasks)
        own: Any = getattr(self.optimizer, "population_size", None)
        generations = self.turn_generations or (self.generations,) * len(self.turns)
        populations = self.turn_populations or (own,) * len(self.turns)
        return ((self.generations, None), *zip(generations, populations, strict=True))

    @property
    def all_tasks(self) -> tuple[AbstractTaskDistribution, ...]:
        """The tasks of steps, in turn."""
        return (self.tasks, *self.turns)

    @property
    def update_rule(self) -> optax.GradientTransformation:
        """Clipping and the optax transformation behind it."""
        return _rule(self.learning_rate, self.transform, self.clip)


@functools.cache
def _rule(rate: Any, transform: Any, clip: float) -> optax.GradientTransformation:
    """One object for equal settings: a compiled step is found again by its identity."""
    rule = optax.adam(rate) if transform is None else transform
    return optax.chain(optax.clip_by_global_norm(clip), rule) if math.isfinite(clip) else rule


class TrainState(eqx.Module):
    """All that the next step needs; saved and loaded, a training goes on exactly where it was."""

    weights: Any
    rule: Any
    carry: Any
    step: Count
    key: Key
    best_weights: Any
    best_loss: Scalar
    best_step: Count


class Norms(NamedTuple):
    """Norms of the mean gradient over tasks: of clipped gradients, and of gradients as they are."""

    gradient: Scalar
    unclipped: Scalar


class TrainInfo(NamedTuple):
    """What people read of a step; validation fields are None in steps without one.

    `gradient_norm` is that of the mean of the tasks' clipped gradients, `unclipped_norm` that of the mean of them as
    they are, `task_norm` the mean of the norms of single tasks, not clipped.
    """

    step: int
    loss: float
    gradient_norm: float
    unclipped_norm: float
    task_norm: float
    counted: int
    skipped: int
    clipped: int
    seconds: float
    validation: float | None = None
    validation_families: dict[str, float] | None = None
    best: bool = False


class Trainer:
    """A specification made ready: the compiled functions and what they are given."""

    def __init__(self, spec: TrainSpec):
        self.spec = spec
        trainee = Trainee(spec.optimizer, spec.guidance)
        with self.precision():
            self.first_weights, self.rest = split_weights(trainee, spec.dtype)
        if not jax.tree.leaves(self.first_weights):
            raise ValueError(f"{type(spec.optimizer).__name__} has no weights to train")
        self.losses = tuple(
            MetaLoss(self.rest, tasks, spec.objective, generations, spec.rematerialise, size)
            for tasks, (generations, size) in zip(spec.all_tasks, spec.episodes, strict=True)
        )
        self.loss = self.losses[0]
        self.rule = spec.update_rule

    def precision(self) -> Any:
        """The context in which JAX computes in the specification's float."""
        return jax.enable_x64(self.spec.dtype == "float64")

    def begin(self, key: Key) -> TrainState:
        """The state before the first step."""
        with self.precision():
            work = make_work(self.spec, jax.random.fold_in(key, 2**31 - 1), 0)
            carry = _first_carry(self.spec.estimator, self.loss, self.first_weights, work)
            if carry is not None and distributed.is_shared():
                name = type(self.spec.estimator).__name__
                raise ValueError(f"{name} carries runs from step to step and cannot be shared between processes")
            if carry is not None and self.spec.turns:
                name = type(self.spec.estimator).__name__
                raise ValueError(f"{name} carries runs from step to step, so its tasks cannot take turns")
            zero = jnp.zeros((), jnp.int32)
            return TrainState(
                weights=self.first_weights,
                rule=self.rule.init(self.first_weights),
                carry=carry,
                step=zero,
                key=key,
                best_weights=self.first_weights,
                best_loss=jnp.asarray(jnp.inf, self.spec.dtype),
                best_step=zero,
            )

    def loss_of(self, state: TrainState) -> MetaLoss:
        """The loss of the next step: tasks may take turns."""
        return self.losses[int(state.step) % len(self.losses)]

    def work(self, state: TrainState) -> Work:
        """The tasks of the next step."""
        return make_work(self.spec, jax.random.fold_in(state.key, state.step), int(state.step))

    def advance(self, state: TrainState) -> tuple[TrainState, TrainInfo]:
        """One meta-step, and validation when it is due."""
        began = time.perf_counter()
        with self.precision():
            state, estimate, norms = self._step(state)
            info = _info(state, estimate, norms)
            if int(state.step) % self.spec.validate_every == 0 or int(state.step) == self.spec.steps:
                state, info = self._validated(state, info)
        return state, info._replace(seconds=time.perf_counter() - began)

    def _step(self, state: TrainState) -> tuple[TrainState, Estimate, Norms]:
        work = self.work(state)
        if not distributed.is_shared():
            return train_step(self.loss_of(state), self.spec.estimator, self.rule, state, work)
        mine = distributed.share(work)
        estimate, carry = own_estimate(self.loss_of(state), self.spec.estimator, state, mine)
        return shared_update(self.rule, state, distributed.added(estimate), carry)

    def optimizer(self, weights: Any) -> AbstractAlgorithm[Any]:
        """The optimizer with these weights, as it is deployed."""
        return self.spec.deployed(eqx.combine(weights, self.rest).optimizer)

    def validate(self, weights: Any) -> np.ndarray:
        """The validation loss of each task, the same at each call; a row for each family, all turns in it."""
        turns = zip(self.spec.all_tasks, self.spec.episodes, strict=True)
        return np.concatenate([self._validate(weights, tasks, *episode) for tasks, episode in turns], axis=1)

    def _validate(self, weights: Any, tasks: AbstractTaskDistribution, generations: int, size: Any) -> np.ndarray:
        spec = self.spec
        with self.precision():
            optimizer = Trainee(spec.deployed(eqx.combine(weights, self.rest).optimizer))
            deployed, rest = split_weights(optimizer, spec.dtype)
            loss = MetaLoss(rest, tasks, spec.validation_objective, generations, population_size=size)
            keys = jax.random.split(jax.random.key(spec.validation_seed), spec.tasks.families * spec.validation_batch)
            work = _grouped(spec, keys, spec.validation_batch, keys[0], 0.0)
            if distributed.is_shared():
                losses = distributed.joined(task_losses(loss, deployed, distributed.share(work)))
            else:
                losses = np.asarray(task_losses(loss, deployed, work))
            return losses.reshape(spec.tasks.families, -1)

    def _validated(self, state: TrainState, info: TrainInfo) -> tuple[TrainState, TrainInfo]:
        losses = self.validate(state.weights)
        mean = float(np.mean(losses))
        names = self.spec.tasks.names
        families = {name: float(value) for name, value in zip(names, losses.mean(axis=1), strict=True)}
        better = math.isfinite(mean) and mean < float(state.best_loss)
        if better:
            state = dataclasses.replace(
                state,
                best_weights=state.weights,
                best_loss=jnp.asarray(mean, self.spec.dtype),
                best_step=state.step,
            )
        return state, info._replace(validation=mean, validation_families=families, best=better)


def train(spec: TrainSpec, key: Key, state: TrainState | None = None) -> Iterator[tuple[TrainState, TrainInfo]]:
    """Train, step by step; the same key gives the same weights.

    ```python
    for state, info in l2e.meta.train(spec, jax.random.key(0)):
        print(info.step, info.loss)
    ```

    **Arguments:** `spec`: the training; `key`: all its randomness; `state`: where to go on from (its own key counts).
    """
    trainer = Trainer(spec)
    state = trainer.begin(key) if state is None else state
    while int(state.step) < spec.steps:
        state, info = trainer.advance(state)
        yield state, info


def make_work(spec: TrainSpec, key: Key, step: int) -> Work:
    """The tasks of a step, all from one key."""
    keys = jax.random.split(key, spec.tasks.families * spec.batch)
    strength = 0.0 if spec.guidance is None else spec.guidance.strength(step, spec.steps)
    return _grouped(spec, keys, spec.batch, key, strength)


def _grouped(spec: TrainSpec, keys: Key, batch: int, key: Key, strength: float) -> Work:
    families = jnp.repeat(jnp.arange(spec.tasks.families, dtype=jnp.int32), batch // spec.parallel)
    return Work(families, keys.reshape(-1, spec.parallel), key, jnp.asarray(strength, spec.dtype))


@functools.partial(small_jit, filtered=True)
def _first_carry(estimator: AbstractGradientEstimator, loss: MetaLoss, weights: Any, work: Work) -> Any:
    return estimator.init(loss, weights, work)


@functools.partial(small_jit, filtered=True)
def train_step(
    loss: MetaLoss, estimator: AbstractGradientEstimator, rule: Any, state: TrainState, work: Work
) -> tuple[TrainState, Estimate, Norms]:
    """One meta-step: estimate, update, count."""
    estimate, carry = estimator(loss, state.weights, state.carry, work)
    return apply(rule, state, estimate, carry)


@functools.partial(small_jit, filtered=True)
def own_estimate(loss: MetaLoss, estimator: AbstractGradientEstimator, state: TrainState, work: Work) -> Any:
    """What one of several processes contributes to a step."""
    return estimator(loss, state.weights, state.carry, work)


@functools.partial(small_jit, filtered=True)
def shared_update(rule: Any, state: TrainState, estimate: Estimate, carry: Any) -> tuple[TrainState, Estimate, Norms]:
    """The rest of a step, the same on all processes."""
    return apply(rule, state, estimate, carry)


def apply(rule: Any, state: TrainState, estimate: Estimate, carry: Any) -> tuple[TrainState, Estimate, Norms]:
    """Move the weights by an estimate; without a single finite task they stay, and so does the rule's state."""
    gradient, _ = estimate.mean()
    updates, moved_rule = rule.update(gradient, state.rule, state.weights)
    usable = estimate.counted > 0
    weights = jax.tree.map(
        lambda new, old: jnp.where(usable, new, old), optax.apply_updates(state.weights, updates), state.weights
    )
    kept_rule = jax.tree.map(lambda new, old: jnp.where(usable, new, old), moved_rule, state.rule)
    state = dataclasses.replace(state, weights=weights, rule=kept_rule, carry=carry, step=state.step + 1)
    norms = Norms(optax.global_norm(gradient), estimate.unclipped_norm())
    return state, _without_gradient(estimate), norms


def _without_gradient(estimate: Estimate) -> Estimate:
    return dataclasses.replace(estimate, gradient=None, unclipped=None)


@functools.partial(small_jit, filtered=True)
def task_losses(loss: MetaLoss, weights: Any, work: Work) -> Any:
    """The loss of each task, without gradients."""

    bounded, inner = parts.bound(weights), loss.bound()

    def group(inputs: tuple[Count, Key]) -> Any:
        family, keys = inputs
        return jax.vmap(lambda key: inner(bounded, family, key, work.strength))(keys)

    return jax.lax.map(group, (work.families, work.keys))


def _info(state: TrainState, estimate: Estimate, norms: Norms) -> TrainInfo:
    counted = int(estimate.counted)
    return TrainInfo(
        step=int(state.step),
        loss=float(estimate.loss) / counted if counted else math.nan,
        gradient_norm=float(norms.gradient),
        unclipped_norm=float(norms.unclipped),
        task_norm=float(estimate.norm) / counted if counted else math.nan,
        counted=counted,
        skipped=int(estimate.skipped),
        clipped=int(estimate.clipped),
        seconds=0.0,
    )


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """The table [training] of a training file; the keys are those of `TrainSpec`, and the seed of the training.

    `rule`: Adam, or plain steps along the negative gradient as the paper writes them ("sgd"); `schedule`: whether the
    learning rate stays or falls to zero along a cosine; `start`: a trained model whose weights this training begins
    with, see `l2e.meta.start`; `turn_generations`, `turn_populations`: episodes of the turns in [tasks], one number
    for each; by default all have `generations` and the population of [optimizer].
    """

    steps: settings.Count = 1000
    batch: settings.Count = 1
    generations: settings.Count = 199
    learning_rate: settings.Positive = 1e-2
    schedule: Literal["constant", "cosine"] = "cosine"
    rule: Literal["adam", "sgd"] = "adam"
    clip: settings.Positive = 1.0
    seed: settings.Index = 0
    start: str = ""
    validate_every: settings.Count = 25
    validation_batch: settings.Count = 4
    validation_seed: settings.Index = 1
    parallel: settings.Count = 1
    turn_generations: tuple[settings.Count, ...] = ()
    turn_populations: tuple[settings.Count, ...] = ()
    dtype: Literal["float32", "float64"] = "float32"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `TrainSpec` that this table sets."""
        rate = self.learning_rate if self.schedule == "constant" else _cosine(self.learning_rate, self.steps)
        transform = None if self.rule == "adam" else _plain_steps(rate)
        given = dataclasses.asdict(self) | {"learning_rate": rate, "transform": transform}
        return {name: value for name, value in given.items() if name not in ("schedule", "seed", "start", "rule")}


@functools.cache
def _plain_steps(rate: Any) -> optax.GradientTransformation:
    return optax.sgd(rate)


@functools.cache
def _cosine(rate: float, steps: int) -> optax.Schedule:
    """One object for equal settings, so that they share a compilation."""
    return optax.cosine_decay_schedule(rate, steps)

"""Training of the learned gate: exact gradients of its expected score, on outcomes that were played before.

With chances p_k = sigmoid(s_k) of leaving at moment k, the expected score of a problem is

    sum_k (1 - p_1) ... (1 - p_(k-1)) p_k left_k + (1 - p_1) ... (1 - p_m) stayed

in which everything is differentiable, so nothing need be sampled. The chances are of training only: a trained gate
leaves where s > 0. Weights are chosen on problems that were not trained on, with decisions as they will be taken.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from l2e.meta.episodes import Task
from l2e.meta.gate.outcomes import Outcomes
from l2e.meta.gate.settings import GateSpec, GateTraining
from l2e.portfolio.gate import FEATURES, GateWeights, signal

NEAR_SHARE = 1 / 3
"""Of searches that begin near the minimum; the others begin in the centre or anywhere."""

FIRST_BIAS = -3.0
"""Far from leaving: begun nearer, some trainings fall at once into leaving everywhere and stay there."""


class GateInfo(NamedTuple):
    """What people read of a validation: gains are in score, over a gate that never leaves."""

    step: int
    loss: float
    training: float
    validation: float
    validation_error: float
    validation_families: dict[str, float]
    best: bool


def tasks_of(spec: GateSpec, number: int) -> list[Task]:
    """The problems of one round, one of each family."""
    tasks = []
    seed, problems = spec.training.seed, spec.problems
    for place, family in enumerate(spec.tasks.names):
        rng = np.random.default_rng((seed, 5, number, place))
        dimension, budget = int(rng.choice(problems.dimensions)), int(rng.choice(problems.budgets))
        near = bool(rng.random() < NEAR_SHARE)
        tasks.append(Task(family, dimension, budget, (seed, 6, number, place), near))
    return tasks


def initial_gate(training: GateTraining) -> GateWeights:
    """Where training begins: a random inner layer, nothing behind it; it never leaves."""
    rng = np.random.default_rng((training.seed, 7))
    inner = rng.standard_normal((training.hidden, len(FEATURES))) / math.sqrt(len(FEATURES))
    zeros = np.zeros(training.hidden)
    return GateWeights(inner, zeros, zeros.copy(), np.zeros(len(FEATURES)), np.asarray(FIRST_BIAS))


def train_gate(spec: GateSpec, outcomes: Outcomes) -> Iterator[tuple[GateWeights, GateInfo]]:
    """The best weights so far, at each validation.

    **Arguments:** `outcomes`: of the tasks of all rounds, in their order.
    """
    training, families = spec.training, spec.tasks.names
    split = spec.problems.training_rounds * len(families)
    played = Outcomes(*(column[:split] for column in outcomes))
    checked = Outcomes(*(column[split:] for column in outcomes))
    best = initial_gate(training)
    weights = jax.tree.map(jnp.asarray, best)
    optimizer = optax.adam(optax.cosine_decay_schedule(training.learning_rate, training.steps))
    step = _compiled(optimizer, weights, played, training.decay)
    state = optimizer.init(weights)
    best_gain = 0.0
    for number in range(1, training.steps + 1):
        weights, state = step(weights, state)
        if number % training.validate_every and number < training.steps:
            continue
        now = GateWeights(*(np.asarray(part, np.float64) for part in weights))
        gains = decided(now, checked) - checked.stayed
        better = float(gains.mean()) > best_gain
        if better:
            best, best_gain = now, float(gains.mean())
        by_family = gains.reshape(-1, len(families)).mean(axis=0)
        yield (
            best,
            GateInfo(
                step=number,
                loss=1 - float(_expected(weights, played).mean()),
                training=float((decided(now, played) - played.stayed).mean()),
                validation=float(gains.mean()),
                validation_error=float(gains.std(ddof=1) / math.sqrt(len(gains))),
                validation_families=dict(zip(families, by_family.tolist(), strict=True)),
                best=better,
            ),
        )


def decided(weights: GateWeights, outcomes: Outcomes) -> np.ndarray:
    """The score of each problem with a gate that leaves where s > 0."""
    leave = (np.asarray(signal(jnp, weights, outcomes.seen)) > 0) & (outcomes.came > 0)
    first = leave.argmax(axis=1)
    return np.where(leave.any(axis=1), outcomes.left[np.arange(len(first)), first], outcomes.stayed)


def _expected(weights: GateWeights, outcomes: Outcomes) -> jax.Array:
    chance = jax.nn.sigmoid(signal(jnp, weights, outcomes.seen)) * outcomes.came
    stay = jnp.cumprod(1 - chance, axis=1)
    before = jnp.concatenate([jnp.ones_like(stay[:, :1]), stay[:, :-1]], axis=1)
    return (before * chance * outcomes.left).sum(axis=1) + stay[:, -1] * outcomes.stayed


Step: TypeAlias = Callable[[GateWeights, optax.OptState], tuple[GateWeights, optax.OptState]]


def _compiled(optimizer: optax.GradientTransformation, begun: GateWeights, played: Outcomes, decay: float) -> Step:
    def loss(weights: GateWeights) -> jax.Array:
        far = sum(((now - then) ** 2).sum() for now, then in zip(weights, begun, strict=True))
        return decay * far - _expected(weights, played).mean()

    @eqx.filter_jit
    def step(weights: GateWeights, state: optax.OptState) -> tuple[GateWeights, optax.OptState]:
        updates, state = optimizer.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, updates), state  # type: ignore[return-value]

    return step

"""Training of the gate on outcomes that were played before: s learns by how much an action is better than the others.

The loss is the mean square of what s misses of score_k less the mean score of the actions that may follow. Weights are
chosen on problems that were not trained on, by the score of the decisions as they will be taken.
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
from l2e.portfolio.gate import ACTIONS, FEATURES, Action, GateWeights, signal

NEAR_SHARE = 1 / 3
"""Of searches that begin near the minimum; the others begin in the centre or anywhere."""

FIRST_BIAS = 0.1
"""Of quasi-Newton, which an untrained gate takes."""

UNTRAINED = ACTIONS.index(Action.NEWTON)


class GateInfo(NamedTuple):
    """What people read of a validation: gains are in score, over a gate that always takes quasi-Newton."""

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
    """Where training begins: a random inner layer, nothing behind it; it always takes quasi-Newton."""
    rng = np.random.default_rng((training.seed, 7))
    inner = rng.standard_normal((training.hidden, len(FEATURES))) / math.sqrt(len(FEATURES))
    bias = np.zeros(len(ACTIONS))
    bias[UNTRAINED] = FIRST_BIAS
    outer, direct = np.zeros((len(ACTIONS), training.hidden)), np.zeros((len(ACTIONS), len(FEATURES)))
    return GateWeights(inner, np.zeros(training.hidden), outer, direct, bias)


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
        gains = decided(now, checked) - checked.scores[:, UNTRAINED]
        better = float(gains.mean()) > best_gain
        if better:
            best, best_gain = now, float(gains.mean())
        by_family = gains.reshape(-1, len(families)).mean(axis=0)
        yield (
            best,
            GateInfo(
                step=number,
                loss=float(_missed(weights, played).mean()),
                training=float((decided(now, played) - played.scores[:, UNTRAINED]).mean()),
                validation=float(gains.mean()),
                validation_error=float(gains.std(ddof=1) / math.sqrt(len(gains))),
                validation_families=dict(zip(families, by_family.tolist(), strict=True)),
                best=better,
            ),
        )


def decided(weights: GateWeights, outcomes: Outcomes) -> np.ndarray:
    """The score of each problem with a gate that takes the action with the largest s."""
    said = np.where(outcomes.open > 0, signal(np, weights, outcomes.seen), -np.inf)
    chosen = np.argmax(said, axis=1)
    return outcomes.scores[np.arange(len(chosen)), chosen]


def _missed(weights: GateWeights, outcomes: Outcomes) -> jax.Array:
    """Of each problem, the mean square of what s misses of the advantages."""
    may = jnp.asarray(outcomes.open)
    count = may.sum(axis=1, keepdims=True)

    def centred(values: jax.Array) -> jax.Array:
        return (values - (values * may).sum(axis=1, keepdims=True) / count) * may

    missed = centred(signal(jnp, weights, outcomes.seen)) - centred(jnp.asarray(outcomes.scores))
    return (missed**2).sum(axis=1) / count[:, 0]


Step: TypeAlias = Callable[[GateWeights, optax.OptState], tuple[GateWeights, optax.OptState]]


def _compiled(optimizer: optax.GradientTransformation, begun: GateWeights, played: Outcomes, decay: float) -> Step:
    def loss(weights: GateWeights) -> jax.Array:
        far = sum(((now - then) ** 2).sum() for now, then in zip(weights, begun, strict=True))
        return decay * far + _missed(weights, played).mean()

    @eqx.filter_jit
    def step(weights: GateWeights, state: optax.OptState) -> tuple[GateWeights, optax.OptState]:
        updates, state = optimizer.update(jax.grad(loss)(weights), state)
        return optax.apply_updates(weights, updates), state  # type: ignore[return-value]

    return step

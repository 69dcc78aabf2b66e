"""Training of the learned gate: exact gradients of its expected score, on outcomes that were played before.

With chances p_k = sigmoid(s_k) of leaving at moment k, the expected score of a problem is

    sum_k (1 - p_1) ... (1 - p_(k-1)) p_k left_k + (1 - p_1) ... (1 - p_m) stayed

in which everything is differentiable, so nothing need be sampled. The chances are of training only: a trained gate
leaves where s > 0. Weights are chosen on problems that were not trained on, with decisions as they will be taken.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from l2e.experts.gate import FEATURES, GateWeights, signal
from l2e.meta.episodes import Task
from l2e.meta.gate_outcomes import Outcomes

NEAR_SHARE = 1 / 3
"""Of searches that begin near the minimum; the others begin in the centre or anywhere."""

FIRST_BIAS = -3.0
"""Far from leaving: begun nearer, some trainings fall at once into leaving everywhere and stay there."""


@dataclasses.dataclass(frozen=True)
class GateSpec:
    """All that a training of the gate is.

    **Arguments:**

    - `families`: of landscapes, or `bbob:f` and a number; `dimensions`, `budgets`: evaluations per dimension; each
      problem draws one of each, what is named twice twice as often.
    - `rounds`: problems of each family; the last quarter of them is for the choice of weights.
    - `hidden`: units; `steps`, `learning_rate`: of Adam, falling to 0; `decay`: of squared distances from where weights
      began; `validate_every`: steps; `seed`: of everything.
    """

    families: tuple[str, ...]
    dimensions: tuple[int, ...] = (5, 10)
    budgets: tuple[int, ...] = (50,)
    rounds: int = 60
    hidden: int = 16
    steps: int = 3000
    learning_rate: float = 0.005
    decay: float = 3e-5
    validate_every: int = 100
    seed: int = 0

    @property
    def training_rounds(self) -> int:
        """Those that are not for the choice of weights."""
        return self.rounds - max(self.rounds // 4, 1)


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
    for place, family in enumerate(spec.families):
        rng = np.random.default_rng((spec.seed, 5, number, place))
        dimension, budget = int(rng.choice(spec.dimensions)), int(rng.choice(spec.budgets))
        near = bool(rng.random() < NEAR_SHARE)
        tasks.append(Task("whole", family, dimension, budget, (spec.seed, 6, number, place), near))
    return tasks


def first_gate(spec: GateSpec) -> GateWeights:
    """Where training begins: a random inner layer, nothing behind it; it never leaves."""
    rng = np.random.default_rng((spec.seed, 7))
    inner = rng.standard_normal((spec.hidden, len(FEATURES))) / math.sqrt(len(FEATURES))
    zeros = np.zeros(spec.hidden)
    return GateWeights(inner, zeros, zeros.copy(), np.zeros(len(FEATURES)), np.asarray(FIRST_BIAS))


def train_gate(spec: GateSpec, outcomes: Outcomes) -> Iterator[tuple[GateWeights, GateInfo]]:
    """The best weights so far, at each validation.

    **Arguments:** `outcomes`: of the tasks of all rounds, in their order.
    """
    split = spec.training_rounds * len(spec.families)
    played = Outcomes(*(column[:split] for column in outcomes))
    checked = Outcomes(*(column[split:] for column in outcomes))
    best = first_gate(spec)
    weights = jax.tree.map(jnp.asarray, best)
    optimizer = optax.adam(optax.cosine_decay_schedule(spec.learning_rate, spec.steps))
    step = _compiled(optimizer, weights, played, spec.decay)
    state = optimizer.init(weights)
    best_gain = 0.0
    for number in range(1, spec.steps + 1):
        weights, state = step(weights, state)
        if number % spec.validate_every and number < spec.steps:
            continue
        now = GateWeights(*(np.asarray(part, np.float64) for part in weights))
        gains = decided(now, checked) - checked.stayed
        better = float(gains.mean()) > best_gain
        if better:
            best, best_gain = now, float(gains.mean())
        by_family = gains.reshape(-1, len(spec.families)).mean(axis=0)
        yield (
            best,
            GateInfo(
                step=number,
                loss=1 - float(_expected(weights, played).mean()),
                training=float((decided(now, played) - played.stayed).mean()),
                validation=float(gains.mean()),
                validation_error=float(gains.std(ddof=1) / math.sqrt(len(gains))),
                validation_families=dict(zip(spec.families, by_family.tolist(), strict=True)),
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

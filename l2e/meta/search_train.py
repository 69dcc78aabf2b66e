"""Training of the default method's residual: an evolution strategy over whole searches, with Adam.

The gradient of the mean score is estimated from antithetic pairs of weights, theta + e and theta - e, that play the
same episode with the same random numbers. Each pair has an episode of its own: for a given number of episodes, more
directions are worth more than more episodes per direction. Differences are divided by their usual size in the family,
so that families where luck decides do not drown the others. Luck decides much anywhere: so weights are drawn back to
where they began, and only those stay away that evidence keeps there; and those that act everywhere (biases of
outputs) are moved in larger steps than those that act in some situations. A family that validation finds worse than
with untrained weights counts more until it is not.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import equinox as eqx
import numpy as np

from l2e.experts.residual import GLOBAL, PARTS, SIZE, WIDTH, first_weights
from l2e.meta.episodes import MODES, Mode, Task

Player = Callable[[Iterable[tuple[np.ndarray | None, Task]]], list[float]]
"""Plays episodes, in order; in this process or in several."""

LARGEST_COUNT = 3.0
"""What a family that got worse counts at most."""


def _units() -> np.ndarray:
    """What acts always most, what follows the budget less, what follows everything else least."""
    rows = {name: np.full(shape, 0.3) for name, shape in PARTS.items()}
    rows["outputs_bias"][:] = 5.0
    rows["roles"][:] = 1.0
    rows["outputs"][:] = 0.5
    for name in ("share of the budget used", "log10 budget per dimension"):
        rows["outputs"][:, WIDTH + GLOBAL.index(name)] = 2.0
    return np.concatenate([row.ravel() for row in rows.values()])


UNITS = _units()
"""The unit in which each weight is perturbed and moved."""


class Shapes(NamedTuple):
    """Sizes of the episodes of one mode: how often it is drawn, in which dimensions, with how many evaluations."""

    mode: Mode
    share: float
    dimensions: tuple[int, ...]
    budgets: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class SearchSpec:
    """All that a training of the residual is.

    **Arguments:**

    - `families`: of landscapes, or `bbob:f` and a number; `shapes`: of the episodes.
    - `steps`, `pairs`: iterations and pairs of each; `spread`: standard deviation of the perturbations.
    - `learning_rate`: of Adam at first, falling to a tenth; `decay`: the share of the way back to where they began that
      weights go in a step; `averaging`: of the weights that are validated and kept.
    - `validate_every`, `validation_tasks`: per family, other seeds; `seed`: of everything.
    """

    families: tuple[str, ...]
    shapes: tuple[Shapes, ...]
    steps: int = 120
    pairs: int = 96
    spread: float = 0.1
    learning_rate: float = 0.01
    decay: float = 0.01
    averaging: float = 0.9
    validate_every: int = 10
    validation_tasks: int = 8
    seed: int = 0


class SearchState(eqx.Module):
    """All that the next step needs."""

    step: np.ndarray
    weights: np.ndarray
    average: np.ndarray
    first_moment: np.ndarray
    second_moment: np.ndarray
    evidence: np.ndarray  # of each weight: sum of gradients, and of their squares
    sizes: np.ndarray  # usual squared differences, by mode and family
    counts: np.ndarray  # what each family counts
    untrained: np.ndarray  # validation scores without weights, by family and task; NaN before the first validation
    best_weights: np.ndarray
    best_gain: np.ndarray
    best_step: np.ndarray
    candidates: np.ndarray  # what was validated, in order; NaN for what was not yet


class SearchInfo(NamedTuple):
    """What people read of a step; validation fields are None in steps without one.

    `validation` is the mean gain in score over untrained weights, `validation_error` its standard error.
    """

    step: int
    loss: float
    gradient_norm: float
    distance: float
    seconds: float
    validation: float | None = None
    validation_error: float | None = None
    validation_families: dict[str, float] | None = None
    best: bool = False


def begin(spec: SearchSpec) -> SearchState:
    """The state before the first step."""
    weights = first_weights(spec.seed)
    families = len(spec.families)
    return SearchState(
        step=np.zeros((), np.int64),
        weights=weights,
        average=weights.copy(),
        first_moment=np.zeros(SIZE),
        second_moment=np.zeros(SIZE),
        evidence=np.zeros((2, SIZE)),
        sizes=np.full((len(MODES), families), 0.05**2),
        counts=np.ones(families),
        untrained=np.full((families, spec.validation_tasks), np.nan),
        best_weights=weights.copy(),
        best_gain=np.zeros(()),
        best_step=np.zeros((), np.int64),
        candidates=np.full((spec.steps // spec.validate_every, SIZE), np.nan),
    )


def advance(spec: SearchSpec, state: SearchState, player: Player) -> tuple[SearchState, SearchInfo]:
    """One step of training, and validation when it is due; the same state gives the same step."""
    began = time.perf_counter()
    step = int(state.step)
    rng = np.random.default_rng((spec.seed, 1, step))
    families = _spread_out(rng, len(spec.families), spec.pairs)
    tasks = [_task(rng, spec, int(family), (spec.seed, 2, step, i)) for i, family in enumerate(families)]
    noise = rng.standard_normal((spec.pairs, SIZE))
    games = [
        (state.weights + sign * spec.spread * UNITS * direction, task)
        for direction, task in zip(noise, tasks, strict=True)
        for sign in (1, -1)
    ]
    scores = np.asarray(player(games)).reshape(-1, 2)
    difference = scores[:, 0] - scores[:, 1]
    modes = np.asarray([MODES.index(task.mode) for task in tasks])
    sizes = state.sizes.copy()
    for mode, family, value in zip(modes, families, difference, strict=True):
        sizes[mode, family] += 0.1 * (value**2 - sizes[mode, family])
    relative = np.clip(difference / np.sqrt(sizes[modes, families] + 0.01**2), -3, 3) * state.counts[families]
    gradient = relative @ noise / spec.pairs
    state = _adam(spec, dataclasses.replace(state, sizes=sizes), gradient)
    info = SearchInfo(
        step=step + 1,
        loss=float(1 - scores.mean()),
        gradient_norm=float(np.linalg.norm(gradient)),
        distance=float(np.linalg.norm(state.weights - first_weights(spec.seed))),
        seconds=0.0,
    )
    if (step + 1) % spec.validate_every == 0:
        state, info = _validated(spec, state, info, player)
    return state, info._replace(seconds=time.perf_counter() - began)


def validation_tasks(spec: SearchSpec) -> list[list[Task]]:
    """The tasks of each family on which weights are chosen; never trained on."""
    return [
        [
            _task(np.random.default_rng((spec.seed, 3, f, i)), spec, f, (spec.seed, 4, f, i))
            for i in range(spec.validation_tasks)
        ]
        for f in range(len(spec.families))
    ]


def _adam(spec: SearchSpec, state: SearchState, gradient: np.ndarray) -> SearchState:
    """Upwards: the score is made large."""
    count = int(state.step) + 1
    first = 0.95 * state.first_moment + 0.05 * gradient
    second = 0.98 * state.second_moment + 0.02 * gradient**2
    falling = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (count - 1) / spec.steps))
    move = (first / (1 - 0.95**count)) / (np.sqrt(second / (1 - 0.98**count)) + 1e-8)
    back = spec.decay * (first_weights(spec.seed) - state.weights)
    weights = state.weights + falling * (spec.learning_rate * UNITS * move + back)
    keep = min(spec.averaging, count / (count + 5))  # forgets where it began
    return dataclasses.replace(
        state,
        step=np.asarray(count, np.int64),
        weights=weights,
        average=keep * state.average + (1 - keep) * weights,
        first_moment=first,
        second_moment=second,
        evidence=state.evidence + np.stack([gradient, gradient**2]),
    )


def _validated(
    spec: SearchSpec, state: SearchState, info: SearchInfo, player: Player
) -> tuple[SearchState, SearchInfo]:
    tasks = validation_tasks(spec)
    shape = (len(spec.families), spec.validation_tasks)
    untrained = state.untrained
    if np.isnan(untrained).any():
        untrained = np.asarray(player([(None, task) for row in tasks for task in row])).reshape(shape)
    scores = np.asarray(player([(state.average, task) for row in tasks for task in row])).reshape(shape)
    gains = scores - untrained
    error = gains.std(axis=1, ddof=1) / math.sqrt(spec.validation_tasks)
    behind = np.maximum(-gains.mean(axis=1) / np.maximum(error, 0.005), 0)
    gain, gain_error = float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(gains.size))
    better = gain > float(state.best_gain)
    candidates = state.candidates.copy()
    candidates[int(state.step) // spec.validate_every - 1] = state.average
    state = dataclasses.replace(
        state,
        counts=np.minimum(1 + behind, LARGEST_COUNT),
        untrained=untrained,
        candidates=candidates,
        best_weights=state.average if better else state.best_weights,
        best_gain=np.asarray(gain) if better else state.best_gain,
        best_step=state.step if better else state.best_step,
    )
    families = {name: float(value) for name, value in zip(spec.families, gains.mean(axis=1), strict=True)}
    return state, info._replace(validation=gain, validation_error=gain_error, validation_families=families, best=better)


def _task(rng: np.random.Generator, spec: SearchSpec, family: int, seed: tuple[int, ...]) -> Task:
    share = np.asarray([shapes.share for shapes in spec.shapes])
    shapes = spec.shapes[int(rng.choice(len(spec.shapes), p=share / share.sum()))]
    dimension, budget = int(rng.choice(shapes.dimensions)), int(rng.choice(shapes.budgets))
    return Task(shapes.mode, spec.families[family], dimension, budget, seed)


def _spread_out(rng: np.random.Generator, families: int, count: int) -> np.ndarray:
    """So many families, each as often as the others up to one."""
    whole = np.concatenate([rng.permutation(families) for _ in range(-(-count // families))])
    return whole[:count]

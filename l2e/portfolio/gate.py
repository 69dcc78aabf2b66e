"""The learned gate: who goes on after the first evaluations, numerical guidance or the evolutionary path.

A short search begins with a look (`l2e.portfolio.trust_region`), a longer one with a scout, the first generations of
the evolutionary search. Then a small network reads what was seen and says who has the next evaluations. The paper's
gate fuses both proposals in each generation; gradients by finite differences are too dear for that, so this one decides
once.

    s = W tanh(A x + a) + V x + c,  the action with the largest s is taken

Training (`l2e.meta.gate.train`) begins at W = V = 0, with the largest c for quasi-Newton: an untrained gate always
takes it. The features do not change when the box or the values are scaled or moved.
"""

import enum
import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from l2e.portfolio.evolution import Evolution
from l2e.portfolio.run import HALF, Run
from l2e.portfolio.trust_region import TrustRegion

LEAST = 1e-300
"""Divisors, and ratios of which the logarithm is taken, are at least this."""


class Action(enum.StrEnum):
    """What may follow the first evaluations."""

    NEWTON = "newton"
    """Quasi-Newton from the best point."""

    WIDE = "wide"
    """An evolutionary search from the best point, as wide as one that begins; after a scout, the scout goes on."""

    NEAR = "near"
    """An evolutionary search around the best point, as wide as the look's radius."""

    LOOK = "look"
    """The trust-region search goes on."""


ACTIONS = tuple(Action)
AFTER_SCOUT = 2
"""The first so many actions may follow a scout, all of them a look."""

COMMON = ("ln dimension", "log10 budget per dimension", "whether it was a look")
OF_LOOK = (
    "mean of gains over predicted ones",
    "spread of gains over predicted ones",
    "share of steps as predicted",
    "share of steps that failed",
    "radius over the first",
    "distance of points over the first",
    "gain over the range of values",
    "best values over the range of values",
    "share of negative curvature",
    "condition",
    "slope over the range of values",
    "predicted gain over the range of values",
    "distance from the start",
    "share of coordinates at faces",
    "steps",
)
OF_SCOUT = (
    "step over the first",
    "trust in the model",
    "whether there is a model",
    "whether it has cross terms",
    "its power of values",
    "what it leaves unexplained",
    "its share of negative curvature",
    "its condition",
    "distance of its minimum",
    "gain over the range of values",
    "latest gain over all",
    "middle over the range of values",
    "distance from the first mean",
    "condition of the distribution",
)
FEATURES = (*COMMON, *(f"look: {name}" for name in OF_LOOK), *(f"scout: {name}" for name in OF_SCOUT))

TYPICAL_DIMENSION, TYPICAL_BUDGET, TYPICAL_STEPS = 1.6, 1.6, 2.0
"""Logarithms of the dimension, of the budget per dimension and of the number of steps that are moved to 0."""

AS_PREDICTED = (0.3, 2.0)
"""A gain between these ratios of the predicted one is as predicted."""

LOSS_WITH_WORKERS = 0.06
"""Of the targets: what evolution loses where the points of a round do not know of each other, and quasi-Newton does not
if a trial with its gradient keeps all workers busy."""

RATIOS = (-2.0, 3.0)
"""Ratios of gains to predicted ones count within these."""

FARTHEST = 3.0
"""Distances of the model's minimum count up to this."""


class Decades(NamedTuple):
    """log10 of a ratio as a feature: within bounds, over a number that makes it of the order of 1."""

    least: float
    most: float
    over: float = 1

    def __call__(self, ratio: float) -> float:
        """The feature; ratios that are not positive, or no numbers, have the least."""
        if math.isnan(ratio):
            return self.least / self.over
        return min(max(math.log10(max(ratio, LEAST)), self.least), self.most) / self.over


RADIUS = Decades(-4, 1)
GAIN = Decades(-4, 0, 2)
CONDITION = Decades(0, 8, 4)
SLOPE = Decades(-4, 2, 2)
PREDICTED = Decades(-6, 1, 3)
STEP = Decades(-3, 1)
UNEXPLAINED = Decades(-6, 0, 3)


class Chooses(Protocol):
    """Asked after a look or a scout: a trained gate, or one that training made up."""

    def choose(self, run: Run, seen: TrustRegion | Evolution) -> Action:
        """Who has the next evaluations, from what a look or a scout saw."""
        ...


class GateWeights(NamedTuple):
    """A (hidden, features), a (hidden,), W (actions, hidden), V (actions, features), c (actions,)."""

    inner: np.ndarray
    inner_bias: np.ndarray
    outer: np.ndarray
    direct: np.ndarray
    bias: np.ndarray


class Gate:
    """A trained gate.

    **Arguments:** `weights`: of the network; see the module.
    """

    def __init__(self, weights: GateWeights):
        self.weights = checked(weights)

    def choose(self, run: Run, seen: TrustRegion | Evolution) -> Action:
        """Who has the next evaluations."""
        said = signal(np, self.weights, features(run, seen))
        if 1 < run.workers <= run.dimension + 1:
            said = said + LOSS_WITH_WORKERS * (np.arange(len(said)) == ACTIONS.index(Action.NEWTON))
        return ACTIONS[int(np.argmax(said[: allowed(seen)]))]


def allowed(seen: TrustRegion | Evolution) -> int:
    """How many of the actions may follow."""
    return len(ACTIONS) if isinstance(seen, TrustRegion) else AFTER_SCOUT


def by_hand(run: Run, seen: TrustRegion | Evolution) -> Action:
    """Without a gate: quasi-Newton, or with very little to spend the look goes on."""
    alone = isinstance(seen, TrustRegion) and run.budget < run.policy.look_alone * run.dimension
    return Action.LOOK if alone else Action.NEWTON


def checked(weights: GateWeights) -> GateWeights:
    """Weights in double precision.

    **Raises:** `ValueError` if they are not finite or have other shapes than a gate's.
    """
    arrays = GateWeights(*(np.asarray(part, np.float64) for part in weights))
    hidden = arrays.inner_bias.shape[0] if arrays.inner_bias.ndim == 1 else -1
    seen, said = len(FEATURES), len(ACTIONS)
    shapes = ((hidden, seen), (hidden,), (said, hidden), (said, seen), (said,))
    if tuple(part.shape for part in arrays) != shapes or not all(np.isfinite(part).all() for part in arrays):
        raise ValueError(f"the gate has finite weights for {seen} features, got other shapes or values")
    return arrays


def signal(xp: Any, weights: GateWeights, seen: Any) -> Any:
    """s of features in the last axis, computed by this array module."""
    inner = xp.tanh(seen @ weights.inner.T + weights.inner_bias)
    return inner @ weights.outer.T + seen @ weights.direct.T + weights.bias


def features(run: Run, seen: TrustRegion | Evolution) -> np.ndarray:
    """What the gate sees, each of the order of 1; of a look and a scout, the one that was not made has zeros."""
    d = run.dimension
    looked = isinstance(seen, TrustRegion)
    common = [math.log(d) - TYPICAL_DIMENSION, math.log10(run.budget / d) - TYPICAL_BUDGET, float(looked)]
    if looked:
        return np.asarray([*common, *_of_look(seen), *([0.0] * len(OF_SCOUT))])
    return np.asarray([*common, *([0.0] * len(OF_LOOK)), *_of_scout(run, seen)])


def _of_look(look: TrustRegion) -> list[float]:
    d = len(look.x)
    ratios = np.clip(np.asarray(look.ratios or [0.0]), *RATIOS)
    low, high = AS_PREDICTED
    values = np.sort(look.values)
    span = max(float(values[-1] - values[0]), LEAST)
    negative, condition = _curvature(np.linalg.eigvalsh(look.hessian) if np.isfinite(look.hessian).all() else None)
    return [
        float(ratios.mean()),
        float(ratios.std()),
        float(np.mean((ratios > low) & (ratios < high))),
        float(np.mean(ratios <= 0)),
        RADIUS(look.radius / look.first),
        RADIUS(look.rho / look.first),
        GAIN((look.f_first - look.f) / span),
        GAIN(float(values[len(values) // 4] - values[0]) / span),
        negative,
        condition,
        SLOPE(float(np.linalg.norm(look.gradient)) * look.radius / span),
        PREDICTED(look.predicted / span),
        float(np.linalg.norm(look.x - look.first_x)) / (HALF * math.sqrt(d)),
        float(np.mean(np.abs(look.x) >= HALF)),
        math.log(1 + len(look.ratios)) - TYPICAL_STEPS,
    ]


def _of_scout(run: Run, scout: Evolution) -> list[float]:
    d = run.dimension
    _, values, age = run.memory()
    trust, known, cross, power, left, negative, condition, away = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    model = None if scout.surrogate is None else scout.surrogate.model
    if scout.surrogate is not None and model is not None:
        trust, known, cross, power = scout.surrogate.tau, 1.0, float(model.full), model.power
        target = np.maximum(model.values - model.floor, 0) ** model.power
        left = UNEXPLAINED(float(np.var(target - model.fitted)) / max(float(np.var(target)), LEAST))
        negative, condition = _curvature(model.squares)
        away = min(float(np.linalg.norm(model.minimiser)) / math.sqrt(d), FARTHEST)
    gain, latest, middle = 0.0, 0.0, 0.0
    if len(values) > 1:
        ordered = values[np.argsort(-age)]
        best, early = float(values.min()), float(ordered[: max(2 * len(ordered) // 3, 1)].min())
        span = max(float(values.max()) - best, LEAST)
        gain = GAIN((float(ordered[0]) - best) / span)
        latest = GAIN((early - best) / max(float(ordered[0]) - best, LEAST))
        middle = GAIN((float(np.median(values)) - best) / span)
    return [
        STEP(scout.sigma / scout.first_sigma),
        trust,
        known,
        cross,
        power,
        left,
        negative,
        condition,
        away,
        gain,
        latest,
        middle,
        float(np.linalg.norm(scout.mean - scout.first_mean)) / (HALF * math.sqrt(d)),
        CONDITION(float(np.linalg.cond(scout.factor)) if np.isfinite(scout.factor).all() else math.inf),
    ]


def _curvature(squares: np.ndarray | None) -> tuple[float, float]:
    """The share of negative curvature, and the condition, of eigenvalues."""
    if squares is None or not np.isfinite(squares).all():
        return 0.0, 0.0
    sizes = np.abs(squares)
    return float(np.mean(squares < 0)), CONDITION(float(sizes.max()) / max(float(sizes.min()), LEAST))

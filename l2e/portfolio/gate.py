"""The learned gate between numerical guidance and the evolutionary path: whether quasi-Newton goes on or yields.

At some moments of a quasi-Newton search a small network reads its progress and says go on or leave. The paper's gate
fuses both proposals in each generation; gradients by finite differences are too dear for that, so this one decides who
has the next evaluations.

    s = w . tanh(A x + a) + v . x + c,  leave where s > 0

Training (`l2e.meta.gate.train`) begins at w = v = 0 and c = -3: an untrained gate never leaves. The features do not
change when the box or the values are scaled or moved.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.probes import Line
from l2e.portfolio.run import HALF, Run

MOMENTS = (2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 30.0, 40.0, 55.0, 75.0)
"""Evaluations per dimension of the search after which the gate is asked."""

LEAST = 1e-300
"""Divisors, and ratios of which the logarithm is taken, are at least this."""

FEATURES = (
    "ln dimension",
    "log10 budget per dimension",
    "share of the budget used",
    "ln steps",
    "turns along the line",
    "bend along the line",
    "last gain over all",
    "last gain over the one before",
    "promised gain over all",
    "error of the metric",
    "trials of a line search",
    "gain over the promised one",
    "condition",
    "gradient over the first",
    "share of concave steps",
    "cosine of gradients",
    "distance from the start",
    "share of coordinates at faces",
    "last gains over those before",
)


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


TYPICAL_DIMENSION, TYPICAL_BUDGET = 1.6, 2
"""Logarithms of the dimension and the budget per dimension that are moved to 0."""

TYPICAL_TURNS = TYPICAL_BEND = TYPICAL_TRIALS = 3
RECENT = 3
"""Gains that are compared with as many before them."""

LAST_GAIN = Decades(-8, 0, 4)
LATEST_TWO = Decades(-3, 3)
PROMISED = Decades(-8, 2, 4)
ERROR = Decades(-4, 4, 2)
KEPT = Decades(-3, 2)
CONDITION = Decades(0, 12, 6)
SLOPE = Decades(-8, 3, 4)
RECENT_GAINS = Decades(-6, 3, 3)


class AsksToLeave(Protocol):
    """Asked at the moments of a quasi-Newton search: a trained gate, or one that training made up."""

    def leaves(self, run: Run, newton: QuasiNewton, line: Line) -> bool:
        """Whether the search should end now, in favour of the evolutionary path."""
        ...


class GateWeights(NamedTuple):
    """A (hidden, features), a (hidden,), w (hidden,), v (features,), c."""

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

    def leaves(self, run: Run, newton: QuasiNewton, line: Line) -> bool:
        """Whether the search should end now, in favour of the evolutionary path."""
        return float(signal(np, self.weights, features(run, newton, line))) > 0


def checked(weights: GateWeights) -> GateWeights:
    """Weights in double precision.

    **Raises:** `ValueError` if they are not finite or have other shapes than a gate's.
    """
    arrays = GateWeights(*(np.asarray(part, np.float64) for part in weights))
    hidden = arrays.inner_bias.shape[0] if arrays.inner_bias.ndim == 1 else -1
    shapes = ((hidden, len(FEATURES)), (hidden,), (hidden,), (len(FEATURES),), ())
    if tuple(part.shape for part in arrays) != shapes or not all(np.isfinite(part).all() for part in arrays):
        raise ValueError(f"the gate has finite weights for {len(FEATURES)} features, got other shapes or values")
    return arrays


def signal(xp: Any, weights: GateWeights, seen: Any) -> Any:
    """s of features in the last axis, computed by this array module."""
    inner = xp.tanh(seen @ weights.inner.T + weights.inner_bias)
    return inner @ weights.outer + seen @ weights.direct + weights.bias


def features(run: Run, newton: QuasiNewton, line: Line) -> np.ndarray:
    """What the gate sees, each of the order of 1."""
    d, gains, progress = run.dimension, newton.gains, newton.progress
    gained = max(newton.f_first - newton.f, LEAST)
    last = gains[-1] if gains else gained
    curvature = newton.curvature
    error, condition, concave = 0.0, 0.0, 0.0
    if curvature is not None:
        matrix = curvature.matrix()
        squares = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        condition = CONDITION(squares[-1] / max(squares[0], LEAST))
        concave = float(np.mean([pair.s @ pair.y <= 0 for pair in curvature.pairs])) if curvature.pairs else 0.0
        error = ERROR(curvature.error)
    gradient = newton.gradient
    slope = float(np.linalg.norm(gradient)) if gradient is not None and np.isfinite(gradient).all() else 0.0
    latest, before = sum(gains[-RECENT:]), sum(gains[-2 * RECENT : -RECENT])
    return np.asarray(
        [
            math.log(d) - TYPICAL_DIMENSION,
            math.log10(run.budget / d) - TYPICAL_BUDGET,
            run.used / run.budget,
            math.log(1 + len(gains)),
            line.turns / TYPICAL_TURNS,
            line.bend / TYPICAL_BEND + 1,
            LAST_GAIN(last / gained),
            LATEST_TWO(last / max(gains[-2], LEAST)) if len(gains) > 1 else 0.0,
            PROMISED(newton.expected / gained) if math.isfinite(newton.expected) else 0.0,
            error,
            progress.trials / TYPICAL_TRIALS - 1,
            KEPT(progress.kept),
            condition,
            SLOPE(slope / max(progress.first_slope, LEAST)),
            concave,
            progress.cosine,
            float(np.linalg.norm(newton.x - progress.first_x)) / (HALF * math.sqrt(d)),
            float(np.mean(np.abs(newton.x) >= HALF)),
            RECENT_GAINS(latest / max(before, LEAST)) if len(gains) > RECENT else 0.0,
        ]
    )

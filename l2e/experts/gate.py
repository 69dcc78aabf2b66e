"""The learned gate between numerical guidance and the evolutionary path: whether quasi-Newton goes on or yields.

At some moments of a quasi-Newton search a small network reads how it goes and says go on or leave. The paper's gate
fuses both proposals in each generation; gradients by finite differences are too dear for that, so this one decides who
has the next evaluations.

    s = w . tanh(A x + a) + v . x + c,  leave where s > 0

Training (`l2e.meta.gate_train`) begins at w = v = 0 and c = -3: an untrained gate never leaves. The features do not
change when the box or the values are scaled or moved.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from l2e.experts.probes import Line
from l2e.experts.quasi_newton import QuasiNewton
from l2e.experts.run import HALF, Run

MOMENTS = (2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 30.0, 40.0, 55.0, 75.0)
"""Evaluations per dimension of the search after which the gate is asked."""

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


class AsksToLeave(Protocol):
    """What is asked at the moments of a quasi-Newton search: a trained gate, or one that training made up."""

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
        arrays = GateWeights(*(np.asarray(part, np.float64) for part in weights))
        hidden = arrays.inner_bias.shape[0] if arrays.inner_bias.ndim == 1 else -1
        shapes = ((hidden, len(FEATURES)), (hidden,), (hidden,), (len(FEATURES),), ())
        if tuple(part.shape for part in arrays) != shapes or not all(np.isfinite(part).all() for part in arrays):
            raise ValueError(f"the gate has finite weights for {len(FEATURES)} features, got other shapes or values")
        self.weights = arrays

    def leaves(self, run: Run, newton: QuasiNewton, line: Line) -> bool:
        """Whether the search should end now, in favour of the evolutionary path."""
        return float(signal(np, self.weights, features(run, newton, line))) > 0


def signal(xp: Any, weights: GateWeights, seen: Any) -> Any:
    """s of features in the last axis, computed by this array module."""
    inner = xp.tanh(seen @ weights.inner.T + weights.inner_bias)
    return inner @ weights.outer + seen @ weights.direct + weights.bias


def features(run: Run, newton: QuasiNewton, line: Line) -> np.ndarray:
    """What the gate sees, each of the order of 1."""
    d, gains, journal = run.dimension, newton.gains, newton.journal
    gained = max(newton.f_first - newton.f, 1e-300)
    last = gains[-1] if gains else gained
    curvature = newton.curvature
    error, condition, concave = 0.0, 0.0, 0.0
    if curvature is not None:
        matrix = curvature.matrix()
        squares = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        condition = _decades(squares[-1] / max(squares[0], 1e-300), 0, 12)
        concave = float(np.mean([pair.s @ pair.y <= 0 for pair in curvature.pairs])) if curvature.pairs else 0.0
        error = _decades(curvature.error, -4, 4)
    gradient = newton.gradient
    slope = float(np.linalg.norm(gradient)) if gradient is not None and np.isfinite(gradient).all() else 0.0
    return np.asarray(
        [
            math.log(d) - 1.6,
            math.log10(run.budget / d) - 2,
            run.used / run.budget,
            math.log(1 + len(gains)),
            line.turns / 3,
            line.bend / 3 + 1,
            _decades(last / gained, -8, 0) / 4,
            _decades(last / max(gains[-2], 1e-300), -3, 3) if len(gains) > 1 else 0.0,
            _decades(newton.expected / gained, -8, 2) / 4 if math.isfinite(newton.expected) else 0.0,
            error / 2,
            journal.trials / 3 - 1,
            _decades(journal.kept, -3, 2),
            condition / 6,
            _decades(slope / max(journal.first_slope, 1e-300), -8, 3) / 4,
            concave,
            journal.cosine,
            float(np.linalg.norm(newton.x - journal.first_x)) / (HALF * math.sqrt(d)),
            float(np.mean(np.abs(newton.x) >= HALF)),
            _decades(sum(gains[-3:]) / max(sum(gains[-6:-3]), 1e-300), -6, 3) / 3 if len(gains) > 3 else 0.0,
        ]
    )


def _decades(ratio: float, least: float, most: float) -> float:
    """log10 within bounds; of what is not positive the least."""
    return min(max(math.log10(max(ratio, 1e-300)), least), most) if not math.isnan(ratio) else least

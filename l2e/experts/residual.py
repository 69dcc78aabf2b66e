"""The learned operator of the default method: a bounded residual over MA-ES, from features that mean the same anywhere.

A network of a few hundred weights sees how a generation went and how much of the budget is left, and changes what
MA-ES would do: how points recombine, how fast the distribution learns, how large the next generation is, how far the
surrogate is trusted. Every output is squashed and its layer begins at zero, where all changes are exactly none: so an
untrained network *is* MA-ES, and a trained one stays within known factors of it. Features do not change when the
problem is moved, turned or scaled, when its values are scaled, or when the population is reordered.

    h_i = tanh(W1 [F_i; G] + b1),  o_i = tanh(W3 h_i + b3),  g = tanh(W2 [mean h; G] + b2)
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from l2e._cma_defaults import default_population

WIDTH = 8
INDIVIDUAL = (
    "rank",
    "rank^2",
    "weight",
    "length",
    "along the path",
    "value",
    "better than best",
    "better than before",
    "evaluated",
)
GLOBAL = (
    "ln dimension",
    "ln population",
    "share of the budget used",
    "log10 budget per dimension",
    "length of the path",
    "success",
    "change of the spread",
    "ln step",
    "trust",
    "population over its default",
    "guided",
)
OUTPUTS = ("c_sigma", "d_sigma", "c_1", "c_mu", "relaxation", "momentum", "step", "population", "trust")
BOUNDS = np.asarray([1.2, 1.2, 1.2, 1.2, 0.5, 0.3, 0.1, 1.0, 0.2])
"""The largest effect of each output: of logarithms of factors, but for momentum, step and trust, which are added."""

PARTS = {
    "points": (WIDTH, len(INDIVIDUAL)),
    "context": (WIDTH, len(GLOBAL)),
    "bias": (WIDTH,),
    "roles": (2, WIDTH),
    "roles_bias": (2,),
    "outputs": (len(OUTPUTS), WIDTH + len(GLOBAL)),
    "outputs_bias": (len(OUTPUTS),),
}
SIZE = sum(math.prod(shape) for shape in PARTS.values())
"""Number of weights."""


class Network:
    """The weights; one network serves any dimension, population, budget, with and without a surrogate.

    **Arguments:** `weights`: all of them in one row, in the order of `PARTS`.
    """

    def __init__(self, weights: np.ndarray):
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (SIZE,) or not np.isfinite(weights).all():
            raise ValueError(f"the network has {SIZE} finite weights, got an array of shape {weights.shape}")
        self.weights = weights
        parts, begin = {}, 0
        for name, shape in PARTS.items():
            parts[name] = weights[begin : begin + math.prod(shape)].reshape(shape)
            begin += math.prod(shape)
        self._points, self._context, self._bias = parts["points"].T.copy(), parts["context"], parts["bias"]
        self._roles, self._roles_bias = parts["roles"].T.copy(), parts["roles_bias"]
        self._outputs, self._outputs_bias = parts["outputs"], parts["outputs_bias"]

    def __call__(self, individual: np.ndarray, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs for each individual, shape (n, 2), and for the search, each in (-1, 1)."""
        hidden = np.tanh(individual @ self._points + (self._context @ shared + self._bias))
        roles = np.tanh(hidden @ self._roles + self._roles_bias)
        context = np.concatenate([hidden.mean(axis=0), shared])
        return roles, np.tanh(self._outputs @ context + self._outputs_bias)


def first_weights(seed: int) -> np.ndarray:
    """Where training begins: a random first layer, zero behind it, so that nothing is changed yet."""
    rng = np.random.default_rng(seed)
    inputs = len(INDIVIDUAL) + len(GLOBAL)
    rows = [
        rng.standard_normal(math.prod(shape)) / math.sqrt(inputs)
        if name in ("points", "context")
        else np.zeros(math.prod(shape))
        for name, shape in PARTS.items()
    ]
    return np.concatenate(rows)


class Change(NamedTuple):
    """What a residual does to one generation: factors of weights and rates, and what is added."""

    recombination: np.ndarray  # factors of the weights of the mean, by rank
    covariance: np.ndarray  # and of the covariance
    c_sigma: float
    d_sigma: float
    c_1: float
    c_mu: float
    relaxation: float
    momentum: float
    step: float


class Generation(NamedTuple):
    """A generation, the best first, as the residual sees it."""

    z: np.ndarray
    values: np.ndarray
    evaluated: np.ndarray  # truly, not by the surrogate
    record: float  # the best value before it
    path: np.ndarray
    sigma: float  # over the first one
    weights: np.ndarray  # of the mean
    tau: float | None  # trust in the surrogate, if there is one
    used: float  # of the budget, a share
    budget: int


class Residual:
    """One search's use of a network: its memory of the generations before, and what it says of the next.

    **Arguments:** `network`: the weights; `dimension`: of the search.
    """

    def __init__(self, network: Network, dimension: int):
        self.network = network
        self.dimension = dimension
        self.population = 1.0
        """Factor of the next generation's size."""
        self.trust = 0.0
        """Added to the surrogate's trust when it decides what to evaluate."""
        self._median = math.inf
        self._log_spread = math.nan
        self._success = 0.5
        self._shrinking = 0.0

    def __call__(self, generation: Generation) -> Change:
        """What to change in the update by this generation."""
        roles, outputs = self.network(*self._features(generation))
        outputs = (outputs * BOUNDS).tolist()
        self.population, self.trust = math.exp(outputs[7]), outputs[8]
        c_sigma, d_sigma, c_1, c_mu, relaxation = (math.exp(output) for output in outputs[:5])
        recombination, covariance = np.exp(1.5 * roles[:, 0]), np.exp(roles[:, 1])
        return Change(
            recombination, covariance, c_sigma, d_sigma, c_1, c_mu, relaxation, momentum=outputs[5], step=outputs[6]
        )

    def _features(self, g: Generation) -> tuple[np.ndarray, np.ndarray]:
        n, d = g.z.shape
        finite = g.values[: int(np.isfinite(g.values).sum())]
        quarter, half = finite[len(finite) // 4], finite[len(finite) // 2]
        spread = max(float(finite[(3 * len(finite)) // 4] - quarter), 1e-300)
        values = np.minimum(g.values, finite[-1])
        better = values < self._median
        length = math.sqrt(float(g.path @ g.path))
        rows = np.empty((n, len(INDIVIDUAL)))
        rows[:, 0:2] = _ranks(n)
        rows[:, 2] = g.weights * n
        rows[:, 3] = np.sqrt((g.z**2).sum(axis=1) / d) - 1
        rows[:, 4] = g.z @ g.path / max(length, 1e-300)
        rows[:, 5] = np.tanh((values - half) / spread)
        rows[:, 6] = values < g.record
        rows[:, 7] = better
        rows[:, 8] = g.evaluated
        log_spread = math.log(spread)
        if math.isfinite(self._log_spread):
            change = min(max(log_spread - self._log_spread, -2.0), 2.0)
            self._shrinking = 0.8 * self._shrinking + 0.2 * change
        self._success = 0.8 * self._success + 0.2 * float(better.mean())
        self._median, self._log_spread = float(half), log_spread
        chi = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
        shared = [
            math.log(d) - 1.6,
            math.log(n) - 2.3,
            2 * g.used - 1,
            math.log10(g.budget / d) - 2,
            min(length / chi - 1, 3.0),
            2 * self._success - 1,
            self._shrinking,
            max(0.2 * math.log(max(g.sigma, 1e-300)), -3.0),
            0.0 if g.tau is None else 2 * g.tau - 1,
            math.log(n / default_population(d)),
            0.0 if g.tau is None else 1.0,
        ]
        return rows, np.asarray(shared)


@functools.lru_cache(maxsize=4096)
def _ranks(n: int) -> np.ndarray:
    rank = np.linspace(-1.0, 1.0, n)
    return np.stack([rank, rank**2], axis=1)

"""The quantities of the paper's theory, measured on real runs.

Two maps are looked at: the operator O and the averaged map `NU(x) = Proj((1 - alpha) x + alpha O(x))` which a run
applies. Norms are Euclidean over the whole population in the unit cube. Where values or keys enter a map they are
constants of it, as the paper's `O(. ; w)` has the population as its only variable; `secant_ratio` is the exception.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.algorithms.l2e.operators.certified import Certified
from l2e.algorithms.l2e.solver import L2E, L2EState
from l2e.core.traced import loop, runtime
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Count, Key, Points, Scalar, Values

POWER_STEPS = 60
"""Steps of the power iteration. It comes from below; a cluster of singular values slows it down but costs little,
since all of them are nearly the largest: 0.12 % too low at worst against the SVD of the whole Jacobian, on an
`AttentionMLP` of 100 individuals in 10 dimensions whose first four singular values agree to 1e-8."""

RADIUS = 1e-2
"""Length of the steps of `secant_ratio`, in units of the population's distance from its mean."""

PAIRS = 16
"""Random directions of `secant_ratio`, besides the steepest."""

LONGEST = 20_000
"""Bound of the iterations that look for a fixed point."""

Map = Callable[[Points], Points]


class Trajectory(eqx.Module):
    """A run, one entry per generation; the first entry of the first four is the evaluated first population.

    `proposals` are NU of the points. `accepted` is the mean weight of the proposals in the gate: with the hard gate
    the share that was taken, with a soft one `1 - mean M`. `improved` is the share that was strictly better.
    """

    points: Float[Array, "k+1 n d"]
    values: Float[Array, "k+1 n"]
    proposals: Float[Array, "k+1 n d"]
    best: Float[Array, "k+1"]
    accepted: Float[Array, "k"]
    improved: Float[Array, "k"]


def trajectory(optimizer: L2E, problem: AbstractTraceableProblem, key: Key, generations: int) -> Trajectory:
    """Run generations of an L2E solver and keep what the theory speaks of."""
    init_key, first_key, key = jax.random.split(key, 3)
    state, batch = loop.generation(optimizer, problem, optimizer.init(problem.space, init_key), first_key)
    start = (state, jnp.min(batch.values))

    def gated(state: L2EState, values: Values) -> tuple[L2EState, Scalar, Scalar]:
        guided = optimizer.guide(state.points, state.values, state.generation)[1]
        weights = optimizer.gate.weights(guided, values)
        improved = jnp.mean(values < guided, dtype=values.dtype)
        return optimizer.tell(state, values), jnp.mean(1 - weights), improved

    def step(carry: tuple[L2EState, Scalar], key: Key) -> Any:
        state, best = carry
        first, *later = jax.random.split(key, optimizer.rounds)
        (state, accepted, improved), batch = loop.generation(optimizer, problem, state, first, tell=gated)
        best = jnp.minimum(best, jnp.min(batch.values))
        for round_key in later:
            state, batch = loop.generation(optimizer, problem, state, round_key)
            best = jnp.minimum(best, jnp.min(batch.values))
        return (state, best), (state.points, state.values, state.candidates, best, accepted, improved)

    _, (*entries, accepted, improved) = jax.lax.scan(step, start, jax.random.split(key, generations))
    first = (state.points, state.values, state.candidates, start[1])
    points, values, proposals, best = (
        jnp.concatenate([one[None], rest]) for one, rest in zip(first, entries, strict=True)
    )
    return Trajectory(points, values, proposals, best, accepted, improved)


def spectral_norm(function: Map, points: Points, key: Key, steps: int = POWER_STEPS) -> tuple[Scalar, Points]:
    """The largest singular value of the Jacobian J at the points, and its direction, by power iteration on J^T J.

    `|J v|` of a unit vector v is never above the norm of J, and that never above the Lipschitz constant: a result above
    1 disproves non-expansiveness, one below 1 proves nothing.
    """
    _, forward = jax.linearize(function, points)
    backward = jax.linear_transpose(forward, points)

    def step(direction: Points, _: None) -> tuple[Points, None]:
        return _unit(backward(forward(direction))[0]), None

    direction = _unit(jax.random.normal(key, points.shape, points.dtype))
    direction, _ = jax.lax.scan(step, direction, length=steps)
    return jnp.linalg.norm(forward(direction)), direction


def secant_ratio(function: Map, points: Points, direction: Points, key: Key) -> Scalar:
    """The largest `|F(y) - F(x)| / |y - x|` over points y near x: both ways along a direction, and along random ones.

    For a map in which the values move with x, `x -> O(x, f(x))`, a Jacobian says nothing: ranks are piecewise constant
    and the operators stop gradients through values. Where two ranks change places the map jumps, so no Lipschitz
    constant exists, and the ratio is one at a stated distance, `RADIUS`.
    """
    length = RADIUS * jnp.linalg.norm(points - jnp.mean(points, axis=0))
    random = jax.random.normal(key, (PAIRS, *points.shape), points.dtype)
    directions = jnp.concatenate([jnp.stack([direction, -direction]), jax.vmap(_unit)(random)])
    here = function(points)

    def ratio(direction: Points) -> Scalar:
        other = jnp.clip(points + length * direction, 0, 1)
        distance = jnp.linalg.norm(other - points)
        return jnp.where(distance > 0, jnp.linalg.norm(function(other) - here) / distance, 0)

    return jnp.max(jax.lax.map(ratio, directions))


def residuals(run: Trajectory) -> Float[Array, "k+1"]:
    """`|NU(x_k) - x_k|`."""
    return jnp.linalg.norm(run.proposals - run.points, axis=(1, 2))


def spreads(run: Trajectory) -> Float[Array, "k+1"]:
    """`|x_k - mean x_k|`: a residual that falls with it says that the population collapses, not that it converged."""
    return jnp.linalg.norm(run.points - jnp.mean(run.points, axis=1, keepdims=True), axis=(1, 2))


def fejer_share(points: Float[Array, "k n d"]) -> float:
    """The share of generations in which the distance to the final population did not grow.

    It is 1 for iterates of a non-expansive map that have reached a fixed point. The final population of a run is one
    only if its residual is 0. Growth by rounding, 1e-12 of the first distance, does not count.
    """
    distances = np.linalg.norm(np.asarray(points) - np.asarray(points[-1]), axis=(1, 2))
    return float(np.mean(np.diff(distances) <= 1e-12 * distances[0])) if len(distances) > 1 else 1.0


@dataclass(frozen=True)
class Contraction:
    """Distances `|x_k - x*|` of the iterates of one NU, and the bound `q^k |x_0 - x*|` where there is one.

    `rate` is q, known only for a certified operator; `residual` is that of x*, the last of many iterates.
    """

    measured: Float[np.ndarray, "k+1"]
    rate: float | None
    residual: float

    @property
    def predicted(self) -> Float[np.ndarray, "k+1"] | None:
        """The bound."""
        return None if self.rate is None else self.measured[0] * self.rate ** np.arange(len(self.measured))

    @property
    def measured_rate(self) -> float:
        """The factor per iteration, geometric mean over the iterates that are not yet rounding; 1 if none moves."""
        above = int(np.sum(self.measured > 1e-10 * max(self.measured[0], 1e-300)))
        return float((self.measured[above - 1] / self.measured[0]) ** (1 / (above - 1))) if above > 1 else 1.0

    @property
    def holds(self) -> bool:
        """Whether all distances are within the bound; x* itself is known up to `residual / (1 - q)`."""
        if self.rate is None or self.predicted is None:
            return False
        error = 2 * self.residual / (1 - self.rate) + 1e-12
        return bool(np.all(self.measured <= self.predicted + error))


def contraction(
    optimizer: L2E, points: Points, values: Values, key: Key, iterations: int, generation: int = 0
) -> Contraction:
    """Iterate the NU of one generation with values and key held fixed, and follow the distance to where it ends.

    For a certified operator it is iterated until q^m is rounding; for any other ten times as long as is looked at.
    """
    operator = optimizer.schedule.at(jnp.asarray(generation))
    rate = operator.rate(float(optimizer.alpha)) if isinstance(operator, Certified) else None
    enough = 10 * iterations if rate is None else math.ceil(math.log(1e-15) / math.log(max(rate, 1e-3)))
    length = max(iterations, min(enough, LONGEST)) + 1
    distances, residual = _settled(optimizer, points, values, jnp.asarray(generation), key, length)
    return Contraction(np.asarray(distances)[: iterations + 1], rate, float(residual))


@dataclass(frozen=True)
class Depth:
    """The state of a run after K generations."""

    generations: int
    residual: float
    least_residual: float
    best: float


def depth_trend(residual: Any, best: Any, depths: Sequence[int]) -> list[Depth]:
    """Residual and best value against the depth K of unrolling.

    One run gives all K, since a shorter run is the beginning of a longer one (not so for a schedule by horizon).
    """
    least = np.minimum.accumulate(np.asarray(residual))
    kept = [depth for depth in depths if depth < len(least)]
    return [Depth(depth, float(residual[depth]), float(least[depth]), float(best[depth])) for depth in kept]


@dataclass(frozen=True)
class Decay:
    """How a positive sequence falls: as `factor^k`, and as `k^exponent`; least squares on logarithms."""

    factor: float
    exponent: float


def decay(sequence: Any) -> Decay:
    """Fit both laws to a sequence that begins at k = 1, without its zeros and non-finite entries.

    Averaged iterations of a non-expansive map promise a residual of `K^-1/2`, contractions `q^K`; the paper's Theorem 1
    promises `T^-1` for the least squared gradient norm of a training.
    """
    entries = np.asarray(sequence, dtype=float)
    steps = np.arange(1, len(entries) + 1)
    kept = np.isfinite(entries) & (entries > 0)
    if np.sum(kept) < 2:
        return Decay(math.nan, math.nan)
    logarithms, steps = np.log(entries[kept]), steps[kept]
    return Decay(float(np.exp(np.polyfit(steps, logarithms, 1)[0])), float(np.polyfit(np.log(steps), logarithms, 1)[0]))


def training_trend(gradient_norms: Any) -> Decay:
    """How the least squared norm of the meta-gradient falls with the number T of meta-steps."""
    return decay(np.minimum.accumulate(np.asarray(gradient_norms, dtype=float) ** 2))


@dataclass(frozen=True)
class Diagnosis:
    """All of it for one run. Arrays have one entry per generation, those of Jacobians one per entry of `sampled`."""

    sampled: np.ndarray
    operator_norm: np.ndarray
    map_norm: np.ndarray
    moving_ratio: np.ndarray
    residual: np.ndarray
    spread: np.ndarray
    accepted: np.ndarray
    improved: np.ndarray
    best: np.ndarray
    fejer: float
    frozen: Contraction


def diagnose_run(
    optimizer: L2E, problem: AbstractTraceableProblem, key: Key, generations: int, samples: int = 20
) -> Diagnosis:
    """Run a solver and measure it.

    **Arguments:**

    - `generations`: how long the run is.
    - `samples`: how many generations, evenly spread, have their Jacobians looked at.
    """
    with runtime.float64():
        run_key, look_key, frozen_key = jax.random.split(key, 3)
        run = _run(optimizer, problem, run_key, generations)
        sampled = np.unique(np.linspace(0, generations, samples).round().astype(int))
        keys = jax.random.split(look_key, len(sampled))
        rows = (run.points[sampled], run.values[sampled], jnp.asarray(sampled), keys)
        operator_norm, map_norm, directions = _norms(optimizer, rows)
        moving = _moving(optimizer, problem, (rows[0], directions, *rows[2:]))
        frozen = contraction(optimizer, run.points[0], run.values[0], frozen_key, generations)
        per_generation = (residuals(run), spreads(run), run.accepted, run.improved, run.best)
        arrays = [np.asarray(array) for array in (operator_norm, map_norm, moving, *per_generation)]
    return Diagnosis(sampled, *arrays, fejer=fejer_share(run.points), frozen=frozen)


_run = eqx.filter_jit(trajectory)


@eqx.filter_jit
def _norms(optimizer: L2E, rows: Any) -> tuple[Values, Values, Any]:
    """The norms of the Jacobians of O and of NU, and the direction of the latter, values held fixed."""

    def look(row: tuple[Points, Values, Count, Key]) -> tuple[Scalar, Scalar, Points]:
        points, values, generation, key = row
        draw_key, *keys = jax.random.split(key, 3)
        operator = optimizer.schedule.at(generation)
        of_operator, _ = spectral_norm(lambda x: operator(x, values, draw_key), points, keys[0])
        of_map, direction = spectral_norm(lambda x: optimizer.propose(x, values, generation, draw_key), points, keys[1])
        return of_operator, of_map, direction

    return jax.lax.map(look, rows)


@eqx.filter_jit
def _moving(optimizer: L2E, problem: AbstractTraceableProblem, rows: Any) -> Values:
    """The secant ratios of NU with values that move with the population."""

    def look(row: tuple[Points, Points, Count, Key]) -> Scalar:
        points, direction, generation, key = row
        draw_key, evaluation_key, pair_key = jax.random.split(key, 3)

        def whole(x: Points) -> Points:
            values, _ = loop.told_values(problem.evaluate(problem.space.from_unit(x), evaluation_key), len(x))
            return optimizer.propose(x, values, generation, draw_key)

        return secant_ratio(whole, points, direction, pair_key)

    return jax.lax.map(look, rows)


@eqx.filter_jit
def _settled(
    optimizer: L2E, points: Points, values: Values, generation: Count, key: Key, length: int
) -> tuple[Values, Scalar]:
    """Distances of the iterates of one NU to the last of them, and its residual."""

    def step(x: Points, _: None) -> tuple[Points, Points]:
        return optimizer.propose(x, values, generation, key), x

    after, iterates = jax.lax.scan(step, points, length=length)
    return jnp.linalg.norm(iterates - iterates[-1], axis=(1, 2)), jnp.linalg.norm(after - iterates[-1])


def _unit(array: Points) -> Points:
    """The array over its norm; zeros stay."""
    norm = jnp.linalg.norm(array)
    return array / jnp.where(norm > 0, norm, 1)

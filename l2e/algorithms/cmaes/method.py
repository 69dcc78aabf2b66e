"""CMA-ES with full covariance, active update and IPOP / BIPOP restarts.

N. Hansen, "The CMA Evolution Strategy: A Tutorial", 2016 (equation and table numbers below are its);
A. Auger and N. Hansen, "A restart CMA evolution strategy with increasing population size", CEC 2005;
N. Hansen, "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", GECCO 2009.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.cmaes.fold import fold, unfold
from l2e.algorithms.cmaes.rates import Rates, always_decomposed, rates
from l2e.algorithms.cmaes.restarts import Schedule, first_run, next_run
from l2e.algorithms.cmaes.stopping import Watch, fresh_watch, is_over, look
from l2e.algorithms.normal import normal
from l2e.core.box import Box
from l2e.core.cma_defaults import default_population
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

Restarts = Literal["none", "ipop", "bipop"]
MAX_DEVIATION = 1 / 3
"""No coordinate's standard deviation grows beyond this share of the box."""


class CMAESState(eqx.Module):
    """The search distribution N(mean, sigma^2 C) in the unfolded unit cube, and what surrounds it."""

    space: Box
    key: Key
    mean: Point
    sigma: Scalar
    covariance: jax.Array  # C
    axes: jax.Array  # B: eigenvectors of C, as columns
    lengths: Point  # D: square roots of the eigenvalues of C
    path_sigma: Point
    path_c: Point
    generation: Count  # within this run
    decomposed_at: Count
    watch: Watch
    schedule: Schedule
    asks_mean: jax.Array  # the first point of the next batch is the mean itself, which the user named
    converged: jax.Array


class CMAES(AbstractAlgorithm[CMAESState]):
    """CMA-ES on a box.

    Points are sampled in an unbounded space that a smooth mirror folds onto the box (`fold`), so every evaluated
    point is inside and an optimum on the boundary is an ordinary optimum of the folded function.

    **Arguments:**

    - `population_size`: lambda of the first run, at least 4; `CMAES.default_population(d)` is 4 + floor(3 ln d).
    - `max_population_size`: the largest lambda restarts may reach.
    - `sigma`: initial standard deviation as a share of the box.
    - `restarts`: "none" (converges and stops), "ipop" (lambda doubles) or "bipop".
    - `rows`: the static number of rows of a batch, enough for every lambda if not given; see `sized`.
    """

    population_size: int = eqx.field(static=True)
    max_population_size: np.ndarray  # not static: another budget allows another one and shares the compilation
    rows: int = eqx.field(static=True)
    sigma: np.ndarray
    restarts: Restarts = eqx.field(static=True)

    def __init__(
        self,
        population_size: int,
        max_population_size: int | np.ndarray | None = None,
        sigma: float | np.ndarray = 0.2,
        restarts: Restarts = "none",
        rows: int | None = None,
    ):
        self.population_size = population_size
        largest = population_size if max_population_size is None else max_population_size
        self.max_population_size = np.asarray(largest, dtype=np.int32)
        self.rows = rows or int(self.max_population_size)
        self.sigma = np.asarray(sigma, dtype=np.float64)
        self.restarts = restarts

    def __check_init__(self) -> None:
        if self.population_size < 4:
            raise ValueError(f"CMA-ES needs a population of at least 4, got {self.population_size}")
        if self.max_population_size < self.population_size:
            raise ValueError("max_population_size must not be below population_size")
        if self.restarts not in ("none", "ipop", "bipop"):
            raise ValueError(f"restarts must be 'none', 'ipop' or 'bipop', got {self.restarts!r}")

    @staticmethod
    def default_population(dimension: int) -> int:
        """4 + floor(3 ln d)."""
        return default_population(dimension)

    def init(self, space: Box, key: Key, start: Point | None = None) -> CMAESState:
        dtype = space.lower.dtype
        lower, upper = jnp.asarray(space.lower), jnp.asarray(space.upper)
        space = Box(lower, upper)
        centre = jnp.full((space.dimension,), 0.5, dtype)
        mean = centre if start is None else unfold(space.to_unit(jnp.asarray(start, dtype)))
        schedule = first_run(self.population_size, self.sigma.astype(dtype))
        state = self._run(space, key, mean, schedule)
        return state if start is None else eqx.tree_at(lambda s: s.asks_mean, state, jnp.ones((), bool))

    def ask(self, state: CMAESState) -> Points:
        steps = self._steps(state)
        return state.space.from_unit(fold(state.mean + state.sigma * steps))

    def wanted(self, state: CMAESState) -> Count:
        return state.schedule.population

    def converged(self, state: CMAESState) -> jax.Array:
        return state.converged

    def tell(self, state: CMAESState, values: Values) -> CMAESState:
        failed = ~jnp.any(jnp.isfinite(values))
        learned = self._update(state, values)
        over = is_over(learned.watch, values, learned.sigma, learned.covariance, learned.lengths, learned.schedule)
        over = over & ~failed
        if self.restarts == "none":
            learned = eqx.tree_at(lambda s: s.converged, learned, state.converged | over)
            over = jnp.zeros((), bool)
        # Only what is drawn is worth a branch; one that returned whole states would copy them in each generation.
        key, mean, schedule = jax.lax.cond(
            over | failed, lambda s: self._drawn(s), lambda s: (s.key, s.mean, s.schedule), learned
        )
        unseen = state.watch.seen == 0  # a generation without a value is drawn again, elsewhere if there never was one
        again = eqx.tree_at(
            lambda s: (s.key, s.schedule, s.mean, s.asks_mean),
            state,
            (key, learned.schedule, jnp.where(unseen, mean, state.mean), state.asks_mean & ~unseen),
        )
        fresh = self._run(state.space, key, mean, schedule)
        return jax.tree.map(lambda a, f, n: jnp.where(failed, a, jnp.where(over, f, n)), again, fresh, learned)

    def sized(self, wanted: int) -> "CMAES":
        rows = self.population_size
        while rows < wanted:
            rows *= 2
        if rows == self.rows:
            return self
        return CMAES(self.population_size, self.max_population_size, self.sigma, self.restarts, rows)

    def _run(self, space: Box, key: Key, mean: Point, schedule: Schedule) -> CMAESState:
        d, dtype = space.dimension, mean.dtype
        identity, zeros, zero = jnp.eye(d, dtype=dtype), jnp.zeros((d,), dtype), jnp.zeros((), jnp.int32)
        return CMAESState(
            space=space,
            key=key,
            mean=mean,
            sigma=schedule.sigma,
            covariance=identity,
            axes=identity,
            lengths=jnp.ones((d,), dtype),
            path_sigma=zeros,
            path_c=zeros,
            generation=zero,
            decomposed_at=zero,
            watch=fresh_watch(d, self.population_size, dtype),
            schedule=schedule,
            asks_mean=jnp.zeros((), bool),
            converged=jnp.zeros((), bool),
        )

    def _drawn(self, state: CMAESState) -> tuple[Key, Point, Schedule]:
        """Key, mean and schedule of a run after this one."""
        key, mean_key, size_key = jax.random.split(state.key, 3)
        mean = unfold(jax.random.uniform(mean_key, state.mean.shape, state.mean.dtype))
        if self.restarts == "none":
            return key, mean, state.schedule
        return key, mean, next_run(state.schedule, size_key, self.restarts == "bipop", self.max_population_size)

    def _steps(self, state: CMAESState) -> Points:
        """y ~ N(0, C) of the batch, Eq. (38)-(39); a function of the state, so `tell` sees what `ask` gave."""
        d = state.mean.shape[0]
        z = normal(state.key, self.rows * d, state.mean.dtype).reshape(self.rows, d)
        steps = (z * state.lengths) @ state.axes.T
        return steps.at[0].multiply(jnp.where(state.asks_mean, 0, 1))

    def _update(self, state: CMAESState, values: Values) -> CMAESState:
        d = state.mean.shape[0]
        order = jnp.argsort(values)
        ordered, steps = values[order], self._steps(state)[order]
        rate = rates(state.schedule.population, jnp.isfinite(ordered), d, state.mean.dtype)
        mean_step = rate.positive @ steps  # Eq. (41)
        path_sigma, path_c, stalled = _paths(state, mean_step, rate)
        log_sigma = (rate.c_sigma / rate.d_sigma) * (jnp.linalg.norm(path_sigma) / rate.chi - 1)  # Eq. (44)
        covariance = _covariance(state, steps, path_c, stalled, rate)
        sigma = state.sigma * jnp.exp(jnp.minimum(log_sigma, 1.0))
        deviation = jnp.sqrt(jnp.max(jnp.diag(covariance)))
        moved = eqx.tree_at(
            lambda s: (
                *(s.key, s.mean, s.sigma, s.covariance, s.path_sigma, s.path_c, s.generation, s.watch, s.schedule),
                s.asks_mean,
            ),
            state,
            (
                jax.random.fold_in(state.key, 1),
                state.mean + state.sigma * mean_step,
                jnp.minimum(sigma, MAX_DEVIATION / deviation),
                covariance,
                path_sigma,
                path_c,
                state.generation + 1,
                look(state.watch, ordered, state.schedule.population, d),
                state.schedule.spent(state.schedule.population),
                jnp.zeros((), bool),
            ),
        )
        if always_decomposed(self.rows, d):
            return _decompose(moved)
        due = moved.generation - state.decomposed_at >= rate.decomposition_gap
        return jax.lax.cond(due, _decompose, lambda s: s, moved)


def _paths(state: CMAESState, mean_step: Point, rate: Rates) -> tuple[Point, Point, jax.Array]:
    """The two evolution paths, Eq. (43) and (45), and whether the second was stalled by a long first."""
    whitened = state.axes @ ((state.axes.T @ mean_step) / state.lengths)
    push = jnp.sqrt(rate.c_sigma * (2 - rate.c_sigma) * rate.mu_eff)
    path_sigma = (1 - rate.c_sigma) * state.path_sigma + push * whitened
    d = mean_step.shape[0]
    seen = 1 - (1 - rate.c_sigma) ** (2 * (state.generation + 1).astype(mean_step.dtype))
    stalled = jnp.linalg.norm(path_sigma) / jnp.sqrt(seen) >= (1.4 + 2 / (d + 1)) * rate.chi
    push = jnp.where(stalled, 0.0, jnp.sqrt(rate.c_c * (2 - rate.c_c) * rate.mu_eff))
    path_c = (1 - rate.c_c) * state.path_c + push * mean_step
    return path_sigma, path_c, stalled


def _covariance(state: CMAESState, steps: Points, path_c: Point, stalled: jax.Array, rate: Rates) -> jax.Array:
    """Rank-one and rank-mu update with negative weights, Eq. (46)-(47)."""
    d = path_c.shape[0]
    lengths = jnp.sum(((steps @ state.axes) / state.lengths) ** 2, axis=1)
    negative = rate.negative * d / jnp.maximum(lengths, 1e-20)  # Eq. (46): keeps C positive definite
    weights = rate.positive + negative
    kept = 1 - rate.c_1 - rate.c_mu * (jnp.sum(rate.positive) + jnp.sum(rate.negative))
    kept = kept + jnp.where(stalled, rate.c_1 * rate.c_c * (2 - rate.c_c), 0.0)
    rank_one = rate.c_1 * jnp.outer(path_c, path_c)
    return kept * state.covariance + rank_one + rate.c_mu * ((steps.T * weights) @ steps)


def _decompose(state: CMAESState) -> CMAESState:
    symmetric = (state.covariance + state.covariance.T) / 2
    squares, axes = jnp.linalg.eigh(symmetric)
    floor = jnp.finfo(squares.dtype).tiny ** 0.5
    lengths = jnp.sqrt(jnp.maximum(squares, floor))
    return eqx.tree_at(
        lambda s: (s.covariance, s.axes, s.lengths, s.decomposed_at),
        state,
        (symmetric, axes, lengths, state.generation),
    )

"""What evolution strategies of linear cost share: a mean, a step, a search path, restarts, and a few vectors of shape.

A strategy says how a normal vector becomes a step and how its vectors learn from a generation; all else is here. Time
and memory per point are linear in the dimension.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.cmaes.fold import fold, unfold
from l2e.algorithms.cmaes.rates import Rates, rates
from l2e.algorithms.normal import normal
from l2e.core.box import Box
from l2e.core.cma_defaults import default_population
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

MAX_STEP = 1 / 3
"""The step never grows beyond this share of the box."""

SMALLEST = 1e-12
"""A run is over when its step is below this share of the first."""


class LinearState(eqx.Module):
    """The search distribution in the unfolded unit cube."""

    space: Box
    key: Key
    mean: Point
    sigma: Scalar
    path_sigma: Point
    shape: Points  # the vectors that shape the distribution, a strategy knows their meaning
    generation: Count  # within this run
    quiet: Count  # generations in a row whose values were all equal
    asks_mean: jax.Array  # the first point of the next batch is the mean itself, which the user named


class AbstractLinearES(AbstractAlgorithm[LinearState]):
    """An evolution strategy of linear cost, begun anew at a uniform point of the box whenever it has converged.

    **Arguments:** `population_size`: at least 4; `sigma`: the first standard deviation as a share of the box.
    """

    population_size: int = eqx.field(static=True)
    sigma: np.ndarray

    def __init__(self, population_size: int, sigma: float | np.ndarray = 0.2):
        self.population_size = population_size
        self.sigma = np.asarray(sigma, dtype=np.float64)

    def __check_init__(self) -> None:
        if self.population_size < 4:
            raise ValueError(f"{type(self).__name__} needs a population of at least 4, got {self.population_size}")

    @staticmethod
    def default_population(dimension: int) -> int:
        """4 + floor(3 ln d)."""
        return default_population(dimension)

    @abstractmethod
    def first_shape(self, dimension: int, dtype: jnp.dtype) -> Points:
        """The vectors of shape before the first generation."""

    @abstractmethod
    def steps(self, state: LinearState, normals: Points) -> Points:
        """Steps of the distribution, in units of sigma, from normal numbers."""

    @abstractmethod
    def learned(self, state: LinearState, normals: Points, steps: Points, rate: Rates) -> LinearState:
        """The state with path, step and shape after a generation, its rows best first; mean and key come later."""

    def init(self, space: Box, key: Key, start: Point | None = None) -> LinearState:
        space = Box(jnp.asarray(space.lower), jnp.asarray(space.upper))
        dtype = space.lower.dtype
        centre = jnp.full((space.dimension,), 0.5, dtype)
        mean = centre if start is None else unfold(space.to_unit(jnp.asarray(start, dtype)))
        state = self._begun(space, key, mean)
        return state if start is None else eqx.tree_at(lambda s: s.asks_mean, state, jnp.ones((), bool))

    def ask(self, state: LinearState) -> Points:
        return state.space.from_unit(fold(state.mean + state.sigma * self._drawn(state)[1]))

    def wanted(self, state: LinearState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def tell(self, state: LinearState, values: Values) -> LinearState:
        values = jnp.where(jnp.isfinite(values), values, jnp.inf)
        failed = ~jnp.any(jnp.isfinite(values))
        after = self._update(state, values)
        over = ~failed & self._is_over(after)
        elsewhere = over | (failed & (state.generation == 0))  # without a value anywhere, look somewhere else
        key, mean_key = jax.random.split(jax.random.fold_in(state.key, 2))
        drawn = unfold(jax.random.uniform(mean_key, state.mean.shape, state.mean.dtype))
        fresh = self._begun(state.space, key, jnp.where(elsewhere, drawn, state.mean))
        again = eqx.tree_at(lambda s: (s.key, s.mean), state, (key, jnp.where(elsewhere, drawn, state.mean)))
        again = eqx.tree_at(lambda s: s.asks_mean, again, state.asks_mean & ~elsewhere)
        return jax.tree.map(lambda a, f, n: jnp.where(failed, a, jnp.where(over, f, n)), again, fresh, after)

    def _begun(self, space: Box, key: Key, mean: Point) -> LinearState:
        zero = jnp.zeros((), jnp.int32)
        return LinearState(
            space=space,
            key=key,
            mean=mean,
            sigma=jnp.asarray(self.sigma.astype(mean.dtype)),
            path_sigma=jnp.zeros_like(mean),
            shape=self.first_shape(mean.shape[0], mean.dtype),
            generation=zero,
            quiet=zero,
            asks_mean=jnp.zeros((), bool),
        )

    def _drawn(self, state: LinearState) -> tuple[Points, Points]:
        """Normal numbers and steps of the batch; a function of the state, so `tell` sees what `ask` gave."""
        d = state.mean.shape[0]
        normals = normal(state.key, self.population_size * d, state.mean.dtype).reshape(self.population_size, d)
        normals = normals.at[0].multiply(jnp.where(state.asks_mean, 0, 1))
        return normals, self.steps(state, normals)

    def _update(self, state: LinearState, values: Values) -> LinearState:
        order = jnp.argsort(values)
        ordered = values[order]
        normals, steps = (rows[order] for rows in self._drawn(state))
        population = jnp.asarray(self.population_size, jnp.int32)
        rate = rates(population, jnp.isfinite(ordered), state.mean.shape[0], state.mean.dtype)
        after = self.learned(state, normals, steps, rate)
        equal = ordered[0] == jnp.max(jnp.where(jnp.isfinite(ordered), ordered, -jnp.inf))
        return eqx.tree_at(
            lambda s: (s.key, s.mean, s.sigma, s.generation, s.quiet, s.asks_mean),
            after,
            (
                jax.random.fold_in(state.key, 1),
                state.mean + state.sigma * (rate.positive @ steps),
                jnp.minimum(after.sigma, MAX_STEP),
                state.generation + 1,
                jnp.where(equal, state.quiet + 1, 0),
                jnp.zeros((), bool),
            ),
        )

    def _is_over(self, state: LinearState) -> jax.Array:
        """Whether the run has converged, sees nothing but equal values, or is broken."""
        patience = 10 + 30 * state.mean.shape[0] // self.population_size
        small = state.sigma * self.width(state) < SMALLEST * self.sigma
        broken = ~(jnp.isfinite(state.sigma) & jnp.all(jnp.isfinite(state.shape)) & jnp.all(jnp.isfinite(state.mean)))
        return small | broken | (state.quiet >= patience)

    def width(self, state: LinearState) -> Scalar:
        """The largest standard deviation of a coordinate in units of sigma, as far as the strategy knows it."""
        return jnp.ones((), state.mean.dtype)


def longer_path(path: Point, mean_step: Point, rate: Rates, learning: Scalar | float) -> Point:
    """A search path with one more step of the mean, in units in which random selection keeps it standard normal."""
    return (1 - learning) * path + jnp.sqrt(learning * (2 - learning) * rate.mu_eff) * mean_step

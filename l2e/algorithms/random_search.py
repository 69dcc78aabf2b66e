"""Random search: the floor under every comparison.

R. L. Anderson, "Recent advances in finding best operating conditions", Journal of the American Statistical
Association 48 (1953) 789-798.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.population import as_arrays, check_size, first_population, uniform
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Values


class RandomSearchState(eqx.Module):
    """The next batch, and the key of those after it."""

    space: Box
    key: Key
    points: Points  # in the unit cube


class RandomSearch(AbstractAlgorithm[RandomSearchState]):
    """Uniform points of the box, each batch independent of all values.

    Nothing that learns from values should lose against it; an optimizer that does has a defect.

    **Arguments:** `population_size`: points per batch.
    """

    population_size: int = eqx.field(static=True, default=100)

    def __check_init__(self) -> None:
        check_size("population_size", self.population_size, 1, "a batch needs a point")

    def init(self, space: Box, key: Key, start: Point | None = None) -> RandomSearchState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        return RandomSearchState(space, key, first_population(space, first_key, self.population_size, start))

    def ask(self, state: RandomSearchState) -> Points:
        return state.space.from_unit(state.points)

    def wanted(self, state: RandomSearchState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def tell(self, state: RandomSearchState, values: Values) -> RandomSearchState:
        key, next_key = jax.random.split(state.key)
        return RandomSearchState(state.space, key, uniform(next_key, state.points.shape, state.points.dtype))

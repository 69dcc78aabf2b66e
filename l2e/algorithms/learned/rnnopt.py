"""RNN-Opt: a recurrent network reads one point and its value and writes the next point.

V. TV, P. Malhotra, J. Narwariya, L. Vig, G. Shroff, "Meta-learning for black-box optimization", ECML PKDD 2019. The
network is that of the platform of the L2E paper: one LSTM of 32 units whose output is projected to the dimension. That
platform feeds raw values, of any size, into it, begins every run at the same point and ends it after 100 evaluations
whatever the budget. Here values are standardised over the episode, an episode begins at a uniform random point, and
when it ends another one begins, until the budget is spent.
"""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.nn import WEIGHTS, as_dtype
from l2e.algorithms.population import as_arrays, check_range, failed_last, first_population, leaf
from l2e.algorithms.trainable import AbstractSettings
from l2e.core import settings
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values


class Statistics(eqx.Module):
    """Of the values of an episode so far: how many there are, their mean, the sum of squared deviations from it."""

    count: Scalar
    mean: Scalar
    squares: Scalar


class RNNOPTState(eqx.Module):
    """The point that waits for its value, in the unit cube, and what the network remembers."""

    space: Box
    key: Key
    point: Point
    hidden: Point
    cell: Float[Array, "units"]
    statistics: Statistics
    step: Count  # points of this episode before the one that waits


class RNNOPT(AbstractAlgorithm[RNNOPTState]):
    """`h, c = LSTM((x, y, flag), h, c)`, the next point is `sigmoid(h)` in the unit cube.

    y is the tanh of the value's standard score among the values of the episode, 1 for a failed one; the flag is 0 for
    the first point of an episode, whose value says nothing yet. One evaluation per step; episodes are independent, so
    that a longer run is a random restart of what was trained.

    **Arguments:** `dimension`: fixed by the weights; `horizon`: points of an episode; `units`: of the LSTM; `key`: for
    the first weights.
    """

    gates: Float[Array, "4units 2d+3"]
    projection: Float[Array, "d units"]
    horizon: Any = eqx.field(converter=leaf)

    def __init__(self, dimension: int, horizon: Any = 100, *, units: int = 32, key: Key):
        check_range("horizon", horizon, 2, 2**31 - 1)
        gate_key, projection_key = jax.random.split(key)
        bound = 1 / math.sqrt(units)
        self.gates = jax.random.uniform(gate_key, (4 * units, 2 * dimension + 3), WEIGHTS, -bound, bound)
        self.projection = jax.random.uniform(projection_key, (dimension, units), WEIGHTS, -bound, bound)
        self.horizon = horizon

    def init(self, space: Box, key: Key, start: Point | None = None) -> RNNOPTState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        return self._begun(space, key, first_population(space, first_key, 1, start)[0])

    def ask(self, state: RNNOPTState) -> Points:
        return state.space.from_unit(state.point[None])

    def wanted(self, state: RNNOPTState) -> Count:
        return jnp.ones((), jnp.int32)

    def tell(self, state: RNNOPTState, values: Values) -> RNNOPTState:
        value = failed_last(values, state.point)[0]
        key, start_key = jax.random.split(state.key)
        statistics = _updated(state.statistics, value)
        flag = jnp.minimum(state.step, 1).astype(value.dtype)
        hidden, cell = as_dtype(self, value.dtype)._next(state, flag * score(statistics, value), flag)
        point = jax.nn.sigmoid(hidden)
        going_on = RNNOPTState(state.space, key, point, hidden, cell, statistics, state.step + 1)
        anew = self._begun(state.space, key, first_population(state.space, start_key, 1, None)[0])
        ends = state.step + 1 >= jnp.asarray(self.horizon)
        return eqx.tree_at(
            _memory,
            going_on,
            jax.tree.map(lambda new, old: jnp.where(ends, new, old), _memory(anew), _memory(going_on)),
        )

    def _begun(self, space: Box, key: Key, point: Point) -> RNNOPTState:
        zero = jnp.zeros((), point.dtype)
        cell = jnp.zeros((self.projection.shape[1],), point.dtype)
        statistics = Statistics(zero, zero, zero)
        return RNNOPTState(space, key, point, jnp.zeros_like(point), cell, statistics, jnp.zeros((), jnp.int32))

    def _next(self, state: RNNOPTState, told: Scalar, flag: Scalar) -> tuple[Point, Float[Array, "units"]]:
        one = jnp.ones((), told.dtype)
        inputs = jnp.concatenate([2 * state.point - 1, jnp.stack([told, flag]), state.hidden, one[None]])
        entry, keep, candidate, exit_ = jnp.split(self.gates @ inputs, 4)
        cell = jax.nn.sigmoid(keep) * state.cell + jax.nn.sigmoid(entry) * jnp.tanh(candidate)
        return self.projection @ (jax.nn.sigmoid(exit_) * jnp.tanh(cell)), cell


def score(statistics: Statistics, value: Scalar) -> Scalar:
    """`tanh` of the standard score of a value, 1 for a failed one; no gradient passes.

    Where points hardly differ any more, derivatives of standard scores are huge, and a product of a hundred of them
    is not a direction to learn along: norms of 1e30 were met.
    """
    statistics, value = jax.lax.stop_gradient((statistics, value))
    deviation = jnp.sqrt(statistics.squares / jnp.maximum(statistics.count, 1))
    finite = jnp.isfinite(value)
    distance = jnp.where(finite, value, statistics.mean) - statistics.mean
    return jnp.where(finite, jnp.tanh(distance / jnp.where(deviation > 0, deviation, 1)), 1)


def _updated(statistics: Statistics, value: Scalar) -> Statistics:
    """Welford's update; a failed value changes nothing."""
    finite = jnp.isfinite(value)
    value = jnp.where(finite, value, statistics.mean)
    count = statistics.count + finite
    distance = value - statistics.mean
    mean = statistics.mean + distance / jnp.maximum(count, 1)
    return Statistics(count, mean, statistics.squares + distance * (value - mean))


def _memory(state: RNNOPTState) -> tuple[Any, ...]:
    """All that begins anew with an episode."""
    return state.point, state.hidden, state.cell, state.statistics, state.step


@dataclasses.dataclass(frozen=True)
class RNNOPTSettings(AbstractSettings):
    """The settings of an RNNOPT: `units` of its LSTM. An episode has one point before the first generation."""

    kind = "rnnopt"
    algorithm = RNNOPT
    units: settings.Count = 32

    def build(self, dimension: int, generations: int, key: Key) -> RNNOPT:
        return RNNOPT(dimension, generations + 1, units=self.units, key=key)

    def evaluations(self, generations: int) -> int:
        return 1 + generations

    @property
    def any_dimension(self) -> bool:
        return False

    @property
    def summary(self) -> str:
        return f"RNNOPT, LSTM of {self.units} units, restarted"

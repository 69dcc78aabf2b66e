"""GLEET: a particle swarm whose balance of exploration and exploitation is a learned decision.

Z. Ma, J. Chen, H. Guo, Y. Ma, Y.-J. Gong, "Auto-configuring exploration-exploitation tradeoff in evolutionary
computation via deep reinforcement learning", GECCO 2024. Built from a description, for boxes of any dimension.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from l2e.algorithms.learned.controlled import AbstractActorCritic, Judgement
from l2e.algorithms.learned.swarm_policy import (
    FEATURES,
    WEIGHTS_OF_CRITIC,
    WEIGHTS_OF_POLICY,
    Critic,
    Numbers,
    SwarmPolicy,
    SwarmView,
)
from l2e.algorithms.population import as_arrays, check_range, check_size, failed_last, first_population, leaf, uniform
from l2e.algorithms.trainable import AbstractSettings
from l2e.core import settings
from l2e.core.box import Box
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

FIRST_INERTIA, LAST_INERTIA = 0.9, 0.4


class GLEETState(eqx.Module):
    """The swarm in the unit cube, and what is remembered for the policy."""

    space: Box
    key: Key
    positions: Points
    velocities: Points  # in box widths per generation
    values: Values
    best_positions: Points  # of each particle
    best_values: Values
    scale: Scalar  # how far the mean of the first values was above the best of them
    improved: Float[Array, "n features"]  # features of each particle when it last improved
    leader: Float[Array, "features"]  # features of the leader when it last improved
    stagnation: Int[Array, "n"]  # batches since each particle improved
    leader_stagnation: Count
    batches: Count


class GLEET(AbstractActorCritic[GLEETState]):
    """Particles drawn to their own best point and to the best of all, in shares that a network decides.

    ```
    v <- w v + c a r1 (own best - x) + c (1 - a) r2 (global best - x),   x <- x + v
    ```

    with one pair of uniform numbers r1, r2 per particle, w falling from 0.9 to 0.4 over the budget, and a from the
    policy, drawn anew for each particle at each generation (a normal distribution, cut to [0, 1]).

    Different from the benchmark platform's version: no feature knows the optimum. Its f / g0, with g0 the gap of the
    first population's best, is the rank of f in the swarm here; differences of values are made relative to the spread
    of the first values and squashed, x / (1 + x). Stagnation is counted since a particle's best improved, not since
    its value was below that of the generation before. Attention begins with weights scaled by their number of inputs.

    **Arguments:**

    - `policy`: the network.
    - `critic`: in training only.
    - `budget`: the evaluations over which the inertia falls, which the policy is told; an array leaf.
    - `population_size`: number of particles.
    - `attraction`: c above.
    - `velocity_limit`: largest speed in a coordinate, as a share of the box; starting velocities are uniform within.
    """

    policy: SwarmPolicy
    critic: Critic | None
    budget: Any = eqx.field(converter=leaf)
    population_size: int = eqx.field(static=True, default=100)
    attraction: Any = eqx.field(converter=leaf, default=4.1)
    velocity_limit: Any = eqx.field(converter=leaf, default=0.1)

    def __check_init__(self) -> None:
        check_size("population_size", self.population_size, 2, "a particle and another to learn from")
        check_range("budget", self.budget, 1, 2**31 - 1)
        check_range("attraction", self.attraction, 0, 8)
        check_range("velocity_limit", self.velocity_limit, 0, 1)

    @classmethod
    def untrained(cls, budget: int, population_size: int, key: Key) -> "GLEET":
        """Initial weights, with the critic that training needs."""
        numbers = Numbers(key, WEIGHTS_OF_POLICY + WEIGHTS_OF_CRITIC)
        return cls(SwarmPolicy(numbers), Critic(numbers), budget, population_size)

    def with_budget(self, budget: int) -> "GLEET":
        return GLEET(self.policy, self.critic, budget, self.population_size, self.attraction, self.velocity_limit)

    def without_critic(self) -> "GLEET":
        """What is deployed."""
        return GLEET(self.policy, None, self.budget, self.population_size, self.attraction, self.velocity_limit)

    def init(self, space: Box, key: Key, start: Point | None = None) -> GLEETState:
        space = as_arrays(space)
        key, first_key, velocity_key = jax.random.split(key, 3)
        n = self.population_size
        positions = first_population(space, first_key, n, start)
        dtype, zero = positions.dtype, jnp.zeros((), jnp.int32)
        limit = jnp.asarray(self.velocity_limit, dtype)
        infinite = jnp.full((n,), jnp.inf, dtype)
        return GLEETState(
            space=space,
            key=key,
            positions=positions,
            velocities=(2 * uniform(velocity_key, positions.shape, dtype) - 1) * limit,
            values=infinite,
            best_positions=positions,
            best_values=infinite,
            scale=jnp.ones((), dtype),
            improved=jnp.zeros((n, FEATURES), dtype),
            leader=jnp.zeros((FEATURES,), dtype),
            stagnation=jnp.zeros((n,), jnp.int32),
            leader_stagnation=zero,
            batches=zero,
        )

    def ask(self, state: GLEETState) -> Points:
        return state.space.from_unit(state.positions)

    def wanted(self, state: GLEETState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def observe(self, state: GLEETState, values: Values) -> tuple[GLEETState, SwarmView]:
        values = failed_last(values, state.best_values)
        better = values < state.best_values
        leads = jnp.min(values) < jnp.min(state.best_values)
        first = state.batches == 0
        state = GLEETState(
            space=state.space,
            key=state.key,
            positions=state.positions,
            velocities=state.velocities,
            values=values,
            best_positions=jnp.where(better[:, None], state.positions, state.best_positions),
            best_values=jnp.where(better, values, state.best_values),
            scale=jnp.where(first, _spread(values), state.scale),
            improved=state.improved,
            leader=state.leader,
            stagnation=jnp.where(better, 0, state.stagnation + 1),
            leader_stagnation=jnp.where(leads, 0, state.leader_stagnation + 1),
            batches=state.batches + 1,
        )
        now = self._features(state)
        # What has never improved, a particle whose evaluations all failed, is remembered as it first was.
        improved = jnp.where((better | first)[:, None], now, state.improved)
        leader = jnp.where(leads | first, now[jnp.argmin(state.best_values)], state.leader)
        state = eqx.tree_at(lambda s: (s.improved, s.leader), state, (improved, leader))
        return state, SwarmView(now, improved, leader)

    def decide(self, observation: SwarmView, key: Key) -> Values:
        mean, deviation, _ = self.policy(observation)
        return mean + deviation * jax.random.normal(key, mean.shape, mean.dtype)

    def judge(self, observation: SwarmView) -> Judgement:
        assert self.critic is not None, "the critic is there in training only"
        mean, deviation, tokens = self.policy(observation)
        return Judgement(mean, deviation, self.critic(tokens))

    def standing(self, state: GLEETState) -> Values:
        """The best value of each particle."""
        return state.best_values

    def act(self, state: GLEETState, action: Values) -> GLEETState:
        """Move all particles; the action is cut to [0, 1] here, so that its density is that of the normal."""
        key, move_key = jax.random.split(state.key)
        x, dtype = state.positions, state.positions.dtype
        share = jnp.clip(action.astype(dtype), 0, 1)
        pull, limit = jnp.asarray(self.attraction, dtype), jnp.asarray(self.velocity_limit, dtype)
        r1, r2 = uniform(move_key, (2, self.population_size), dtype)
        inertia = FIRST_INERTIA - (FIRST_INERTIA - LAST_INERTIA) * self._progress(state)
        leader = state.best_positions[jnp.argmin(state.best_values)]
        to_own, to_leader = state.best_positions - x, leader - x
        own, social = pull * share * r1, pull * (1 - share) * r2
        velocities = inertia * state.velocities + own[:, None] * to_own + social[:, None] * to_leader
        velocities = jnp.clip(velocities, -limit, limit)
        positions = jnp.clip(x + velocities, 0, 1)
        return eqx.tree_at(lambda s: (s.key, s.positions, s.velocities), state, (key, positions, velocities))

    def _progress(self, state: GLEETState) -> Scalar:
        """The part of the budget that is used, 1 from its end on."""
        dtype = state.values.dtype
        used = state.batches.astype(dtype) * self.population_size
        return jnp.minimum(used / jnp.asarray(self.budget, dtype), 1)

    def _features(self, state: GLEETState) -> Float[Array, "n features"]:
        """Nine numbers for each particle, none of them above 1 in size."""
        n, dtype = self.population_size, state.values.dtype
        best = jnp.argmin(state.best_values)
        rank = jnp.sum(state.values[:, None] > state.values[None, :], axis=1).astype(dtype) / (n - 1)
        progress = self._progress(state)
        batches = jnp.maximum(jnp.asarray(self.budget, dtype) / n, 1)
        to_own, to_leader = state.best_positions - state.positions, state.best_positions[best] - state.positions
        diagonal = jnp.sqrt(jnp.asarray(state.positions.shape[1], dtype))
        own_distance, leader_distance = _length(to_own), _length(to_leader)
        product = own_distance * leader_distance
        cosine = jnp.sum(to_own * to_leader, axis=1) / jnp.where(product > 0, product, 1)
        columns = (
            rank,
            _squashed(state.values - state.best_values[best], state.scale),
            _squashed(state.values - state.best_values, state.scale),
            jnp.broadcast_to(1 - progress, (n,)),
            jnp.minimum(state.stagnation / batches, 1),
            jnp.broadcast_to(jnp.minimum(state.leader_stagnation / batches, 1), (n,)),
            leader_distance / diagonal,
            own_distance / diagonal,
            cosine,
        )
        return jnp.stack([column.astype(dtype) for column in columns], axis=1)


def _spread(values: Values) -> Scalar:
    """How far the mean of the finite values is above the least of them; 1 where there is no such number."""
    finite = jnp.isfinite(values)
    count = jnp.maximum(jnp.sum(finite), 1).astype(values.dtype)
    above = jnp.where(finite, values - jnp.min(jnp.where(finite, values, jnp.inf)), 0)
    spread = jnp.sum(above / count)
    return jnp.where((spread > 0) & jnp.isfinite(spread), spread, 1)


def _squashed(difference: Values, scale: Scalar) -> Values:
    """`x / (1 + x)` of a difference in units of the scale; 1 where a value failed."""
    relative = difference / scale
    usable = jnp.isfinite(relative)
    relative = jnp.where(usable, relative, 1)
    return jnp.where(usable, relative / (1 + relative), 1)


def _length(vectors: Points) -> Values:
    return jnp.sqrt(jnp.sum(vectors * vectors, axis=1))


@dataclasses.dataclass(frozen=True)
class GLEETSettings(AbstractSettings):
    """The settings of a GLEET."""

    kind = "gleet"
    algorithm = GLEET
    population_size: settings.Count = 100

    def build(self, dimension: int, generations: int, key: Key) -> GLEET:
        return GLEET.untrained(self.evaluations(generations), self.population_size, key)

    def deployed(self, algorithm: GLEET) -> GLEET:
        """The same GLEET without its critic, which only training needs."""
        return algorithm.without_critic()

    def evaluations(self, generations: int) -> int:
        return (1 + generations) * self.population_size

    @property
    def any_dimension(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        return "GLEET, a particle swarm controlled by attention, told the budget"

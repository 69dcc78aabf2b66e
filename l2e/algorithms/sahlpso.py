"""SAHLPSO: a particle swarm of explorers and exploiters that adapts its learning parameters and shrinks.

X. Tao, X. Li, W. Chen, T. Liang, Y. Li, J. Guo, L. Qi, "Self-Adaptive two roles hybrid learning strategies-based
particle swarm optimization", Information Sciences 578 (2021) 457-481.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from l2e.algorithms.population import (
    as_arrays,
    check_range,
    check_size,
    failed_last,
    first_population,
    integers,
    leaf,
    shrunk,
    uniform,
)
from l2e.core.box import Box
from l2e.core.fingerprint import LATER
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

CROSSOVER_RATES = np.asarray([1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5])
FIRST_UNLOCKED = 5
"""Rates in use at the start; one more is unlocked after a learning period without success."""
LAGS = 15
"""An explorer looks back 1 to 15 generations."""
LEARNING_PERIOD = 5
LEAST_RATE = 0.01
"""Added to each success rate, so that a choice which failed once is not lost for ever (as in SaDE, Qin et al. 2009)."""
LEADERS = 0.2
"""The share of the swarm whose best points an exploiter may learn from."""


class Choice(eqx.Module):
    """A parameter drawn from a list, with probabilities that follow the success of its entries."""

    probabilities: Float[Array, "entries"]
    unlocked: Count
    drawn: Int[Array, "n"]  # the entry each particle moved with
    uses: Float[Array, "entries"]
    successes: Float[Array, "entries"]
    recent: Scalar  # successes of all entries in this learning period


class Swarm(eqx.Module):
    """What belongs to the particles, in the unit cube, particles first."""

    positions: Points
    velocities: Points
    inertia: Values
    best_positions: Points
    best_values: Values
    past: Float[Array, "n lags d"]  # a ring of own best points, generation g in slot g modulo its length
    is_explorer: Bool[Array, "n"]  # the role of the present move


class SAHLPSOState(eqx.Module):
    """The swarm and what it has learnt."""

    space: Box
    key: Key
    swarm: Swarm
    crossover: Choice
    lag: Choice
    generation: Count
    size: Count  # the leading particles that are alive
    used: Count  # rows asked for so far; it sets the size, and nothing else


class SAHLPSO(AbstractAlgorithm[SAHLPSOState]):
    """Particle swarm with two roles: in each generation a random fifth of the particles explores, the others exploit.

    ```
    v <- w v + acceleration * r * (exemplar - x),   x <- x + v
    ```

    An explorer's exemplar is its own best point of some generations ago, crossed with the better best point of two
    random particles. An exploiter's is its own best point, crossed with that of a leading particle, then mixed gene by
    gene with the global best. Crossover rate and lag are drawn by their success so far; a particle that did not
    improve draws a new inertia w. The swarm shrinks linearly over its budget, keeping the best.

    Roles are drawn anew because explorers improve less: were they fixed, the shrinking would remove them first, and
    the swarm of exploiters that is left collapses (in 10-D none was left after a quarter of 20,000 evaluations).

    **Arguments:**

    - `budget`: the evaluations over which the swarm shrinks, an array leaf.
    - `population_size`, `min_population_size`: particles at the start and at the end.
    - `acceleration`: the pull c towards the exemplar.
    - `velocity_limit`: largest speed in a coordinate, as a share of the box; starting velocities are uniform within.
    - `explorer_fraction`: the share of explorers.
    - `multiple`: sizes are rounded up to multiples of it: how many workers there are.
    """

    budget: Any = eqx.field(converter=leaf)
    population_size: int = eqx.field(static=True, default=40)
    min_population_size: int = eqx.field(static=True, default=5)
    acceleration: Any = eqx.field(converter=leaf, default=1.49445)
    velocity_limit: Any = eqx.field(converter=leaf, default=0.1)
    explorer_fraction: Any = eqx.field(converter=leaf, default=0.2)
    multiple: int = eqx.field(static=True, default=1, metadata=LATER)

    def __check_init__(self) -> None:
        check_size("min_population_size", self.min_population_size, 2, "a particle and another to learn from")
        check_size("population_size", self.population_size, self.min_population_size, "min_population_size")
        check_size("multiple", self.multiple, 1, "a size")
        check_range("budget", self.budget, 1, 2**31 - 1)
        check_range("acceleration", self.acceleration, 0, 4)
        check_range("velocity_limit", self.velocity_limit, 0, 1)
        check_range("explorer_fraction", self.explorer_fraction, 0, 1)

    def init(self, space: Box, key: Key, start: Point | None = None) -> SAHLPSOState:
        space = as_arrays(space)
        key, first_key, velocity_key = jax.random.split(key, 3)
        n = self.population_size
        positions = first_population(space, first_key, n, start)
        dtype, zero = positions.dtype, jnp.zeros((), jnp.int32)
        swarm = Swarm(
            positions=positions,
            velocities=(2 * uniform(velocity_key, positions.shape, dtype) - 1) * self._limit(dtype),
            inertia=jnp.full((n,), 0.9, dtype),
            best_positions=positions,
            best_values=jnp.full((n,), jnp.inf, dtype),
            past=jnp.repeat(positions[:, None], LAGS + 1, axis=1),
            is_explorer=jnp.zeros((n,), bool),
        )
        crossover = fresh_choice(len(CROSSOVER_RATES), FIRST_UNLOCKED, n, dtype)
        lag = fresh_choice(LAGS, LAGS, n, dtype)
        return SAHLPSOState(space, key, swarm, crossover, lag, zero, jnp.asarray(n, jnp.int32), zero)

    def ask(self, state: SAHLPSOState) -> Points:
        return state.space.from_unit(state.swarm.positions)

    def wanted(self, state: SAHLPSOState) -> Count:
        return state.size

    def tell(self, state: SAHLPSOState, values: Values) -> SAHLPSOState:
        key, inertia_key, choice_key, move_key = jax.random.split(state.key, 4)
        alive = jnp.arange(self.population_size) < state.size
        values = jnp.where(alive, failed_last(values, state.swarm.best_values), jnp.inf)
        better = values < state.swarm.best_values
        swarm = updated(state.swarm, values, better, state.generation, inertia_key)

        moved = alive & (state.generation > 0)  # the first batch is where the particles start, nobody chose it
        refresh = (state.generation > 0) & (jnp.mod(state.generation, LEARNING_PERIOD) == 0)
        crossover = refreshed(credited(state.crossover, moved, better), refresh)
        lag = refreshed(credited(state.lag, moved & swarm.is_explorer, better), refresh)

        used = state.used + state.size
        progress = used / jnp.asarray(self.budget, values.dtype)
        size = jnp.minimum(state.size, shrunk(self.population_size, self.min_population_size, progress, self.multiple))
        order = jnp.argsort(jnp.where(alive, swarm.best_values, jnp.inf))  # stable: the dead stay behind the failed
        order = jnp.where(size < state.size, order, jnp.arange(self.population_size))
        swarm = jax.tree.map(lambda rows: rows[order], swarm)

        crossover_key, lag_key, role_key = jax.random.split(choice_key, 3)
        crossover, lag = draw(crossover, crossover_key), draw(lag, lag_key)
        swarm = eqx.tree_at(lambda s: s.is_explorer, swarm, self._roles(role_key, size, values.dtype))
        swarm = self._move(swarm, crossover, lag, state.generation, size, move_key)
        return SAHLPSOState(state.space, key, swarm, crossover, lag, state.generation + 1, size, used)

    def _limit(self, dtype: Any) -> Array:
        return jnp.asarray(self.velocity_limit, dtype)

    def _roles(self, key: Key, size: Count, dtype: Any) -> Bool[Array, "n"]:
        """Who explores: that share of the living particles, at random."""
        lottery = uniform(key, (self.population_size,), dtype)
        lottery = jnp.where(jnp.arange(self.population_size) < size, lottery, 2)
        explorers = jnp.round(jnp.asarray(self.explorer_fraction, dtype) * size)
        return jnp.argsort(jnp.argsort(lottery)) < explorers

    def _move(self, swarm: Swarm, crossover: Choice, lag: Choice, generation: Count, size: Count, key: Key) -> Swarm:
        exemplar_key, pull_key = jax.random.split(key)
        x, dtype = swarm.positions, swarm.positions.dtype
        rate = jnp.asarray(CROSSOVER_RATES, dtype)[crossover.drawn]
        target = exemplars(swarm, rate, lag.drawn + 1, generation, size, exemplar_key)
        pull = jnp.asarray(self.acceleration, dtype) * uniform(pull_key, x.shape, dtype)
        velocities = swarm.inertia[:, None] * swarm.velocities + pull * (target - x)
        velocities = jnp.clip(velocities, -self._limit(dtype), self._limit(dtype))
        positions = jnp.clip(x + velocities, 0, 1)
        return eqx.tree_at(lambda s: (s.positions, s.velocities), swarm, (positions, velocities))


def updated(swarm: Swarm, values: Values, better: Bool[Array, "n"], generation: Count, key: Key) -> Swarm:
    """The swarm with its best points, their past and the inertia of those that did not improve."""
    best_positions = jnp.where(better[:, None], swarm.positions, swarm.best_positions)
    best_values = jnp.where(better, values, swarm.best_values)
    past = swarm.past.at[:, jnp.mod(generation, LAGS + 1)].set(best_positions)
    side_key, draw_key = jax.random.split(key)
    centre = jnp.where(jax.random.bernoulli(side_key, 0.5, values.shape), 0.7, 0.3).astype(values.dtype)
    fresh = jnp.clip(centre + 0.1 * jax.random.cauchy(draw_key, values.shape, values.dtype), 0.2, 0.9)
    inertia = jnp.where(better, swarm.inertia, fresh)
    return Swarm(swarm.positions, swarm.velocities, inertia, best_positions, best_values, past, swarm.is_explorer)


def exemplars(swarm: Swarm, rate: Values, lag: Int[Array, "n"], generation: Count, size: Count, key: Key) -> Points:
    """The point each particle learns from, by its role."""
    pair_key, leader_key, gene_key, mix_key = jax.random.split(key, 4)
    best, values = swarm.best_positions, swarm.best_values
    n, rows = values.shape[0], jnp.arange(values.shape[0])
    ranked = jnp.argsort(jnp.where(rows < size, values, jnp.inf))
    one, two = integers(pair_key, (2, n), size)
    winner = jnp.where(values[one] < values[two], one, two)
    leaders = jnp.maximum(jnp.floor(LEADERS * size).astype(jnp.int32), 1)
    leader = ranked[integers(leader_key, (n,), leaders)]

    explores = swarm.is_explorer[:, None]
    slot = jnp.mod(jnp.maximum(generation - lag, 0), LAGS + 1)  # before the start there is only the start
    own = jnp.where(explores, swarm.past[rows, slot], best)
    other = jnp.where(explores, best[winner], best[leader])
    crossed = uniform(gene_key, best.shape, best.dtype) < rate[:, None]
    exemplar = jnp.where(crossed, other, own)
    mix = uniform(mix_key, best.shape, best.dtype)
    return jnp.where(explores, exemplar, mix * exemplar + (1 - mix) * best[ranked[0]])


def fresh_choice(entries: int, unlocked: int, n: int, dtype: Any) -> Choice:
    """A choice that knows nothing yet."""
    zeros = jnp.zeros((entries,), dtype)
    probabilities = (jnp.arange(entries) < unlocked).astype(dtype) / unlocked
    drawn = jnp.zeros((n,), jnp.int32)
    return Choice(probabilities, jnp.asarray(unlocked, jnp.int32), drawn, zeros, zeros, jnp.zeros((), dtype))


def draw(choice: Choice, key: Key) -> Choice:
    """An entry for each particle, by the probabilities."""
    level = uniform(key, choice.drawn.shape, choice.probabilities.dtype)
    passed = jnp.sum(level[:, None] >= jnp.cumsum(choice.probabilities), axis=1)
    drawn = jnp.minimum(passed, choice.unlocked - 1).astype(jnp.int32)  # the sum may be rounded to below 1
    return eqx.tree_at(lambda c: c.drawn, choice, drawn)


def credited(choice: Choice, moved: Bool[Array, "n"], better: Bool[Array, "n"]) -> Choice:
    """Count who moved with which entry, and who got better by it."""
    used = jax.nn.one_hot(choice.drawn, choice.uses.shape[0], dtype=choice.uses.dtype) * moved[:, None]
    success = jnp.sum(used * better[:, None], axis=0)
    counts = (choice.uses + jnp.sum(used, axis=0), choice.successes + success, choice.recent + jnp.sum(success))
    return eqx.tree_at(lambda c: (c.uses, c.successes, c.recent), choice, counts)


def refreshed(choice: Choice, due: Bool[Array, ""]) -> Choice:
    """At the end of a learning period: probabilities by success rates, or all equal and one more if none succeeded."""
    entries = choice.uses.shape[0]
    hopeless = choice.recent == 0
    unlocked = jnp.minimum(choice.unlocked + hopeless, entries).astype(jnp.int32)
    rates = jnp.where(hopeless, 1, choice.successes / jnp.maximum(choice.uses, 1) + LEAST_RATE)
    rates = jnp.where(jnp.arange(entries) < unlocked, rates, 0)
    fresh = (rates / jnp.sum(rates), unlocked, jnp.zeros_like(choice.recent))
    old = (choice.probabilities, choice.unlocked, choice.recent)
    chosen = jax.tree.map(lambda new, was: jnp.where(due, new, was), fresh, old)
    return eqx.tree_at(lambda c: (c.probabilities, c.unlocked, c.recent), choice, chosen)

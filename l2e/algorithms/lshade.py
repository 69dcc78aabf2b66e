"""L-SHADE: success-history adaptive differential evolution whose population shrinks linearly.

R. Tanabe, A. S. Fukunaga, "Improving the search performance of SHADE using linear population size reduction", CEC 2014,
1658-1665 (equation numbers below are its).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from l2e.algorithms.population import (
    as_arrays,
    check_range,
    check_size,
    crossover_mask,
    distinct_others,
    failed_last,
    first_population,
    halfway_inside,
    integers,
    leaf,
    shrunk,
)
from l2e.core.box import Box
from l2e.core.fingerprint import LATER
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

SPREAD = 0.1
"""Scale of the distributions around a memory entry, Eq. (1) and (2)."""
TERMINAL = -1.0
"""The terminal value of a crossover memory entry: from then on its crossover rate is 0."""


class Memory(eqx.Module):
    """The success history: centres from which scales and crossover rates are drawn."""

    scale: Float[Array, "memory"]  # M_F
    crossover: Float[Array, "memory"]  # M_CR, or TERMINAL
    position: Count  # the entry to be written next


class Archive(eqx.Module):
    """Parents that lost against their trials, in random order; the first `count` rows are filled."""

    points: Points
    count: Count


class LSHADEState(eqx.Module):
    """The population, best first and in the unit cube, its trials with their parameters, and the history."""

    space: Box
    key: Key
    population: Points
    values: Values
    trials: Points
    scale: Values  # F of each trial
    crossover: Values  # CR of each trial
    archive: Archive
    memory: Memory
    size: Count  # the leading rows that are alive
    used: Count  # rows asked for so far; it sets the size, and nothing else


class LSHADE(AbstractAlgorithm[LSHADEState]):
    """Current-to-pbest differential evolution that learns its parameters and shrinks over its budget.

    ```
    mutant = x + F (pbest - x) + F (r1 - r2),  r1 from the population, r2 from population and archive
    ```

    F and CR of each trial are drawn around entries of a memory of what improved, weighted by how much. The population
    falls linearly from `population_size` to `min_population_size` when `budget` evaluations are used, and stays there.

    A parent without a finite value teaches nothing: it goes neither into the archive nor into the memory.

    **Arguments:**

    - `population_size`: at the start, at least the minimum; `LSHADE.default_population(d)` is the paper's 18 d.
    - `budget`: the evaluations over which the population shrinks, an array leaf.
    - `min_population_size`: at the end, at least 4.
    - `memory_size`: entries of the success history, H.
    - `archive_rate`: size of the archive in populations.
    - `pbest_fraction`: the part of the population that counts as best, p.
    - `multiple`: sizes are rounded up to multiples of it: how many workers there are.
    """

    population_size: int = eqx.field(static=True)
    budget: Any = eqx.field(converter=leaf)
    min_population_size: int = eqx.field(static=True, default=4)
    memory_size: int = eqx.field(static=True, default=6)
    archive_rate: float = eqx.field(static=True, default=2.6)
    pbest_fraction: Any = eqx.field(converter=leaf, default=0.11)
    multiple: int = eqx.field(static=True, default=1, metadata=LATER)

    def __check_init__(self) -> None:
        check_size("min_population_size", self.min_population_size, 4, "a target, two others and some choice")
        check_size("population_size", self.population_size, self.min_population_size, "min_population_size")
        check_size("memory_size", self.memory_size, 1, "parameters are drawn from it")
        check_size("multiple", self.multiple, 1, "a size")
        check_range("budget", self.budget, 1, 2**31 - 1)
        check_range("archive_rate", self.archive_rate, 0, 100)
        check_range("pbest_fraction", self.pbest_fraction, 0, 1)

    @staticmethod
    def default_population(dimension: int) -> int:
        """18 individuals per coordinate."""
        return 18 * dimension

    def init(self, space: Box, key: Key, start: Point | None = None) -> LSHADEState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        n = self.population_size
        population = first_population(space, first_key, n, start)
        dtype, zero = population.dtype, jnp.zeros((), jnp.int32)
        half = jnp.full((self.memory_size,), 0.5, dtype)
        rows = max(round(self.archive_rate * n), 1)
        return LSHADEState(
            space=space,
            key=key,
            population=population,
            values=jnp.full((n,), jnp.inf, dtype),
            trials=population,
            scale=jnp.full((n,), 0.5, dtype),
            crossover=jnp.full((n,), 0.5, dtype),
            archive=Archive(jnp.zeros((rows, space.dimension), dtype), zero),
            memory=Memory(half, half, zero),
            size=jnp.asarray(n, jnp.int32),
            used=zero,
        )

    def ask(self, state: LSHADEState) -> Points:
        return state.space.from_unit(state.trials)

    def wanted(self, state: LSHADEState) -> Count:
        return state.size

    def tell(self, state: LSHADEState, values: Values) -> LSHADEState:
        alive = jnp.arange(self.population_size) < state.size
        values = jnp.where(alive, failed_last(values, state.values), jnp.inf)
        accepted = jnp.isfinite(values) & (values <= state.values)
        improved = (values < state.values) & jnp.isfinite(state.values)
        key, archive_key, trial_key = jax.random.split(state.key, 3)

        used = state.used + state.size
        progress = used / jnp.asarray(self.budget, values.dtype)
        size = jnp.minimum(
            state.size, shrunk(self.population_size, self.min_population_size, progress, self.multiple)
        )  # Eq. (10)
        kept = jnp.where(accepted, values, state.values)
        order = jnp.argsort(kept)  # stable: dead rows stay behind failed ones
        population = jnp.where(accepted[:, None], state.trials, state.population)[order]
        kept = jnp.where(jnp.arange(self.population_size) < size, kept[order], jnp.inf)
        archive = remember(state.archive, state.population, improved, self._capacity(size), archive_key)
        memory = learn(state.memory, state.values, values, improved, state.scale, state.crossover)
        trials, scale, crossover = self._trials(population, size, archive, memory, trial_key)
        return LSHADEState(state.space, key, population, kept, trials, scale, crossover, archive, memory, size, used)

    def _capacity(self, size: Count) -> Count:
        return jnp.round(self.archive_rate * size).astype(jnp.int32)

    def _trials(
        self, population: Points, size: Count, archive: Archive, memory: Memory, key: Key
    ) -> tuple[Points, Values, Values]:
        parameter_key, best_key, other_key, gene_key = jax.random.split(key, 4)
        n = self.population_size
        scale, crossover = draw_parameters(parameter_key, memory, n)
        F, CR = scale[:, None], crossover[:, None]
        fraction = jnp.asarray(self.pbest_fraction, population.dtype)
        leaders = jnp.clip(jnp.round(fraction * size).astype(jnp.int32), 2, size)
        best = population[integers(best_key, (n,), leaders)]
        r1, r2 = distinct_others(other_key, jnp.arange(n), [size, size + archive.count])
        second = jnp.where((r2 < size)[:, None], population[r2], archive.points[r2 - size])
        mutants = population + F * (best - population) + F * (population[r1] - second)  # Eq. (3)
        mutants = halfway_inside(mutants, population)
        crossed = crossover_mask(gene_key, population.shape, CR)
        return jnp.where(crossed, mutants, population), scale, crossover


def draw_parameters(key: Key, memory: Memory, n: int) -> tuple[Values, Values]:
    """Scales from Cauchy distributions and crossover rates from normal ones, Eq. (1) and (2).

    A scale that is not positive is drawn again in the paper; drawing from the Cauchy distribution cut off at 0, by its
    inverse distribution function, is the same without a loop.
    """
    entry_key, scale_key, crossover_key = jax.random.split(key, 3)
    entries = integers(entry_key, (n,), memory.scale.shape[0])
    M_F, M_CR = memory.scale[entries], memory.crossover[entries]
    dtype = M_F.dtype
    below_zero = 0.5 - jnp.arctan(M_F / SPREAD) / jnp.pi
    level = below_zero + (1 - below_zero) * jax.random.uniform(scale_key, (n,), dtype)
    scale = jnp.clip(M_F + SPREAD * jnp.tan(jnp.pi * (level - 0.5)), jnp.finfo(dtype).eps, 1)
    crossover = jnp.clip(M_CR + SPREAD * jax.random.normal(crossover_key, (n,), dtype), 0, 1)
    return scale, jnp.where(M_CR < 0, 0, crossover)


def remember(archive: Archive, parents: Points, improved: Bool[Array, "n"], capacity: Count, key: Key) -> Archive:
    """The archive with the parents that were improved on, cut to its capacity by leaving out random ones."""
    rows = archive.points.shape[0]
    filled = jnp.concatenate([jnp.arange(rows) < archive.count, improved])
    lottery = jax.random.uniform(key, filled.shape, parents.dtype)
    order = jnp.argsort(jnp.where(filled, lottery, 2))[:rows]
    count = jnp.minimum(jnp.sum(filled), jnp.minimum(capacity, rows)).astype(jnp.int32)
    return Archive(jnp.concatenate([archive.points, parents])[order], count)


def learn(
    memory: Memory, before: Values, after: Values, improved: Bool[Array, "n"], scale: Values, crossover: Values
) -> Memory:
    """Write the weighted Lehmer means of the successful parameters into the next memory entry, Algorithm 1."""
    weights = improvement_weights(before, after, improved)
    k = memory.position
    terminal = (memory.crossover[k] < 0) | (jnp.max(jnp.where(improved, crossover, 0)) <= 0)
    new_crossover = jnp.where(terminal, TERMINAL, lehmer_mean(weights, crossover))
    written = Memory(
        memory.scale.at[k].set(lehmer_mean(weights, scale)),
        memory.crossover.at[k].set(new_crossover),
        jnp.mod(k + 1, memory.scale.shape[0]).astype(jnp.int32),
    )
    return jax.tree.map(lambda new, old: jnp.where(jnp.any(improved), new, old), written, memory)


def improvement_weights(before: Values, after: Values, improved: Bool[Array, "n"]) -> Values:
    """Eq. (9): the share of each success in the total improvement; equal shares if all of them underflow."""
    # a sixteenth of each: the difference of two large numbers overflows, the inverse of a large one underflows
    gain = jnp.where(improved, before, 0) / 16 - jnp.where(improved, after, 0) / 16
    largest = jnp.max(gain)
    share = jnp.where(largest > 0, gain / jnp.where(largest > 0, largest, 1), improved.astype(gain.dtype))
    return share / jnp.maximum(jnp.sum(share), 1)


def lehmer_mean(weights: Values, numbers: Values) -> Scalar:
    """Eq. (7): the weighted mean of squares over the weighted mean, 0 if all numbers of weight are 0."""
    bottom = jnp.sum(weights * numbers)
    return jnp.sum(weights * numbers**2) / jnp.where(bottom > 0, bottom, 1)

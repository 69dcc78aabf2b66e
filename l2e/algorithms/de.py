"""Differential evolution.

R. Storn, K. Price, "Differential evolution - a simple and efficient heuristic for global optimization over continuous
spaces", Journal of Global Optimization 11 (1997) 341-359. Current-to-pbest: J. Zhang, A. C. Sanderson, "JADE: adaptive
differential evolution with optional external archive", IEEE Transactions on Evolutionary Computation 13 (2009) 945-958.
"""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

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
    reflect,
    uniform,
)
from l2e.core import errors
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Values

Strategy = Literal["rand/1/bin", "current-to-pbest/1/bin", "tournament"]
Repair = Literal["midpoint", "reflect", "resample", "clip"]
TOURNAMENT = 3


class DEState(eqx.Module):
    """The population, in the unit cube, and the trials that wait for their values."""

    space: Box
    key: Key
    population: Points
    values: Values
    trials: Points
    batches: Count  # batches told: the next trials are for the block after them, modulo the population


class DE(AbstractAlgorithm[DEState]):
    """Differential evolution with binomial crossover: a trial replaces its target if it is not worse.

    With base and difference chosen by `strategy`, `mutant = base + scale * difference`; each gene of the trial is the
    mutant's with probability `crossover`, one of them always. `"tournament"` takes the base and the two vectors of
    the difference as winners of three tournaments of 3, drawn with replacement: greedy, and the three may coincide.

    A batch holds `batch_size` trials. By default it is the whole population, so all trials of a generation are made
    from the same parents; with `batch_size=1` each trial sees the replacement before it (asynchronous DE).

    **Arguments:**

    - `population_size`: number of individuals, at least 4; `DE.default_population(d)` is 10 d within [20, 200].
    - `strategy`: "rand/1/bin", "current-to-pbest/1/bin" or "tournament".
    - `repair`: what a gene outside the box becomes: the middle between the target's gene and the bound, its mirror
      image, a uniform number, or the bound.
    - `batch_size`: trials per batch, a divisor of the population size; None is the whole population.
    - `scale`: the factor F of the difference.
    - `crossover`: the probability CR of taking a gene of the mutant.
    - `pbest_fraction`: the part of the population that counts as best in current-to-pbest.
    """

    population_size: int = eqx.field(static=True, default=50)
    strategy: Strategy = eqx.field(static=True, default="rand/1/bin")
    repair: Repair = eqx.field(static=True, default="midpoint")
    batch_size: int | None = eqx.field(static=True, default=None)
    scale: Any = eqx.field(converter=leaf, default=0.5)
    crossover: Any = eqx.field(converter=leaf, default=0.9)
    pbest_fraction: Any = eqx.field(converter=leaf, default=0.1)

    def __check_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise errors.unknown("strategy", self.strategy, get_args(Strategy))
        if self.repair not in get_args(Repair):
            raise errors.unknown("repair", self.repair, get_args(Repair))
        check_size("population_size", self.population_size, 4, "a target and three others")
        if self.batch_size is not None:
            check_size("batch_size", self.batch_size, 1, "a batch needs a trial")
            if self.population_size % self.batch_size:
                raise ValueError(f"batch_size must divide {self.population_size}, got {self.batch_size}")
        check_range("scale", self.scale, 0, 2)
        check_range("crossover", self.crossover, 0, 1)
        check_range("pbest_fraction", self.pbest_fraction, 0, 1)

    @classmethod
    def paper(cls) -> "DE":
        """The DE of the platform that the L2E paper's tables were made with: greedy, asynchronous, clipped.

        One trial per batch is what asynchronous means; `batch_size=50` is its generational version, which needs more
        evaluations at first and ends alike (tests/optimizers/test_acceptance_de.py). There a tie keeps the target.
        """
        return cls(50, "tournament", "clip", batch_size=1, scale=0.5, crossover=0.5)

    @staticmethod
    def default_population(dimension: int) -> int:
        """The usual ten individuals per coordinate, from 20 to 200 of them."""
        return min(max(10 * dimension, 20), 200)

    def init(self, space: Box, key: Key, start: Point | None = None) -> DEState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        population = first_population(space, first_key, self.population_size, start)
        values = jnp.full((self.population_size,), jnp.inf, population.dtype)
        return DEState(space, key, population, values, population[: self._rows], jnp.zeros((), jnp.int32))

    def ask(self, state: DEState) -> Points:
        return state.space.from_unit(state.trials)

    def wanted(self, state: DEState) -> Count:
        return jnp.asarray(self._rows, jnp.int32)

    def tell(self, state: DEState, values: Values) -> DEState:
        values = failed_last(values, state.values)
        targets = self._block(state.batches)
        accepted = jnp.isfinite(values) & (values <= state.values[targets])
        survivors = jnp.where(accepted[:, None], state.trials, state.population[targets])
        population = state.population.at[targets].set(survivors)
        kept = state.values.at[targets].set(jnp.where(accepted, values, state.values[targets]))
        key, trial_key = jax.random.split(state.key)
        batches = state.batches + 1
        targets = self._block(batches)
        trials = self._trials(population, kept, targets, trial_key)
        unseen = batches < self.population_size // self._rows  # these blocks still wait for their first values
        trials = jnp.where(unseen, population[targets], trials)
        return DEState(state.space, key, population, kept, trials, batches)

    @property
    def _rows(self) -> int:
        return self.population_size if self.batch_size is None else self.batch_size

    def _block(self, batches: Count) -> Int[Array, "rows"]:
        first = jnp.mod(batches, self.population_size // self._rows) * self._rows
        return first + jnp.arange(self._rows, dtype=jnp.int32)

    def _trials(self, population: Points, values: Values, targets: Int[Array, "rows"], key: Key) -> Points:
        mutant_key, gene_key, repair_key = jax.random.split(key, 3)
        dtype = population.dtype
        parents = population[targets]
        scale = jnp.asarray(self.scale, dtype)
        if self.strategy == "tournament":
            a, b, c = jnp.moveaxis(population[tournaments(mutant_key, values, self._rows)], 1, 0)
            mutants = a + scale * (b - c)
        elif self.strategy == "rand/1/bin":
            a, b, c = (population[i] for i in distinct_others(mutant_key, targets, [self.population_size] * 3))
            mutants = a + scale * (b - c)
        else:
            best_key, other_key = jax.random.split(mutant_key)
            best = population[self._among_best(best_key, values)]
            b, c = (population[i] for i in distinct_others(other_key, targets, [self.population_size] * 2))
            mutants = parents + scale * (best - parents) + scale * (b - c)
        crossed = crossover_mask(gene_key, parents.shape, jnp.asarray(self.crossover, dtype))
        return repaired(self.repair, jnp.where(crossed, mutants, parents), parents, repair_key)

    def _among_best(self, key: Key, values: Values) -> Int[Array, "rows"]:
        count = jnp.round(jnp.asarray(self.pbest_fraction, values.dtype) * self.population_size).astype(jnp.int32)
        ranks = integers(key, (self._rows,), jnp.maximum(count, 1))
        return jnp.argsort(values)[ranks]


def tournaments(key: Key, values: Values, rows: int) -> Int[Array, "rows 3"]:
    """Three winners per row, each the best of `TOURNAMENT` individuals drawn with replacement."""
    drawn = integers(key, (rows, 3, TOURNAMENT), values.shape[0])
    winners = jnp.argmin(values[drawn], axis=2)
    return jnp.take_along_axis(drawn, winners[:, :, None], axis=2)[:, :, 0]


def repaired(repair: Repair, trials: Points, parents: Points, key: Key) -> Points:
    """Trials moved into the unit cube where they left it; the parents are inside."""
    if repair == "midpoint":
        return halfway_inside(trials, parents)
    if repair == "reflect":
        return reflect(trials)
    inside = jnp.clip(trials, 0, 1)
    if repair == "clip":
        return inside
    return jnp.where(trials == inside, trials, uniform(key, trials.shape, trials.dtype))

"""DEDQN: differential evolution whose mutation strategy is chosen by deep Q-learning from the shape of the landscape.

Z. Tan, K. Li, "Differential evolution with mixed mutation strategy based on deep reinforcement learning", Applied Soft
Computing 111 (2021) 107678. Built from a description, for boxes of any dimension.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from l2e.algorithms.learned.controlled import AbstractScored
from l2e.algorithms.learned.landscape import FEATURES, landscape
from l2e.algorithms.learned.swarm_policy import Numbers, Perceptron
from l2e.algorithms.population import (
    as_arrays,
    check_range,
    check_size,
    crossover_mask,
    distinct_others,
    failed_last,
    first_population,
    leaf,
)
from l2e.algorithms.trainable import AbstractSettings
from l2e.core import settings
from l2e.core.box import Box
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

STRATEGIES = ("rand/1", "current-to-rand/1", "best/2")
HIDDEN = 10
WEIGHTS = 193


class DEDQNState(eqx.Module):
    """The population in the unit cube, the trials that wait for their values, and how long ago each improved."""

    space: Box
    key: Key
    population: Points
    values: Values
    trials: Points
    idle: Int[Array, "n"]  # generations since each individual was replaced, 1 for the last one
    batches: Count


class DEDQN(AbstractScored[DEDQNState]):
    """One of three mutation strategies per generation, the one with the highest score for what the population shows.

    ```
    rand/1             x_1 + F (x_2 - x_3)
    current-to-rand/1  x + F (x_1 - x) + F (x_2 - x_3)
    best/2             best + F (x_1 - x_2) + F (x_3 - x_4)
    ```

    with binomial crossover, clipping, and replacement by trials that are not worse. The policy sees four numbers,
    `l2e.algorithms.learned.landscape`, computed from the population and its known values.

    Different from the benchmark platform's version, which pays 200 evaluations for one trial (100 for points of a
    random walk whose values it then takes from elsewhere, 100 for a trial it makes once) and so makes 99 trials of
    20,000 evaluations: here each evaluation is a trial. Features cost nothing, and correlation divides by standard
    deviations, not by variances. All trials of a generation share a decision, because what the policy sees is the
    population: it would differ from one trial to the next only by one replacement. Indices do not repeat.

    **Arguments:**

    - `network`: from four features to a score per strategy.
    - `population_size`: at least 5.
    - `scale`: F above; `crossover`: the probability of taking a gene of the mutant.
    """

    network: Perceptron
    population_size: int = eqx.field(static=True, default=100)
    scale: Any = eqx.field(converter=leaf, default=0.5)
    crossover: Any = eqx.field(converter=leaf, default=0.5)

    def __check_init__(self) -> None:
        check_size("population_size", self.population_size, 5, "a target and four others")
        check_range("scale", self.scale, 0, 2)
        check_range("crossover", self.crossover, 0, 1)

    @classmethod
    def untrained(cls, population_size: int, key: Key) -> "DEDQN":
        """First weights."""
        return cls(Perceptron((FEATURES, HIDDEN, HIDDEN, len(STRATEGIES)), Numbers(key, WEIGHTS)), population_size)

    def init(self, space: Box, key: Key, start: Point | None = None) -> DEDQNState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        n = self.population_size
        population = first_population(space, first_key, n, start)
        values = jnp.full((n,), jnp.inf, population.dtype)
        ones = jnp.ones((n,), jnp.int32)
        return DEDQNState(space, key, population, values, population, ones, jnp.zeros((), jnp.int32))

    def ask(self, state: DEDQNState) -> Points:
        return state.space.from_unit(state.trials)

    def wanted(self, state: DEDQNState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def observe(self, state: DEDQNState, values: Values) -> tuple[DEDQNState, Float[Array, "features"]]:
        values = failed_last(values, state.values)
        accepted = jnp.isfinite(values) & (values <= state.values)
        population = jnp.where(accepted[:, None], state.trials, state.population)
        kept = jnp.where(accepted, values, state.values)
        idle = jnp.where(accepted | (state.batches == 0), 1, state.idle + 1)
        state = DEDQNState(state.space, state.key, population, kept, state.trials, idle, state.batches + 1)
        return state, landscape(population, kept)

    def scores(self, observation: Float[Array, "features"]) -> Float[Array, "actions"]:
        return self.network(observation.astype(self.network.layers[0].weight.dtype))

    def decide(self, observation: Float[Array, "features"], key: Key) -> Count:
        return jnp.argmax(self.scores(observation)).astype(jnp.int32)

    def reward(self, state: DEDQNState) -> Scalar:
        """The mean over individuals of 1 / generations since it improved: 1 if all of them just did."""
        return jnp.mean(1 / state.idle.astype(state.values.dtype))

    def act(self, state: DEDQNState, action: Count) -> DEDQNState:
        key, index_key, gene_key = jax.random.split(state.key, 3)
        n, x, dtype = self.population_size, state.population, state.population.dtype
        scale = jnp.asarray(self.scale, dtype)
        a, b, c, d = (x[i] for i in distinct_others(index_key, jnp.arange(n, dtype=jnp.int32), [n] * 4))
        best = x[jnp.argmin(state.values)]
        base = jnp.stack([a, x + scale * (a - x), best + scale * (a - d)])[action]
        mutants = base + scale * (b - c)
        crossed = crossover_mask(gene_key, x.shape, jnp.asarray(self.crossover, dtype))
        trials = jnp.clip(jnp.where(crossed, mutants, x), 0, 1)
        return eqx.tree_at(lambda s: (s.key, s.trials), state, (key, trials))


@dataclasses.dataclass(frozen=True)
class DEDQNSettings(AbstractSettings):
    """The settings of a DEDQN."""

    kind = "dedqn"
    algorithm = DEDQN
    population_size: settings.Count = 100

    def build(self, dimension: int, generations: int, key: Key) -> DEDQN:
        return DEDQN.untrained(self.population_size, key)

    def evaluations(self, generations: int) -> int:
        return (1 + generations) * self.population_size

    @property
    def any_dimension(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        return "DEDQN, differential evolution with strategies by Q-learning"

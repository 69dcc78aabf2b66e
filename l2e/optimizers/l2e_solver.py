"""L2E: the composite solver of learned proposals, numerical guidance and a gate (Algorithm 1 of the L2E paper).

One generation k: the learned path `d_IL = Proj((1 - alpha) x + alpha O(x; w_k))`, the guided path `d_OL`, and their
fusion by the gate. What the paper switches by "if training" is here another guide: at inference it is the identity, in
meta-training it follows the gradient of the task. Both run this code.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from l2e._projection import AbstractMetric, Euclidean
from l2e._space import Box
from l2e._types import Count, Key, Point, Points, Values
from l2e.operator import AbstractGuide, AbstractOperator, AbstractSchedule
from l2e.operators import Shared
from l2e.optimizer import AbstractOptimizer
from l2e.optimizers._gates import AbstractGate, HardGate
from l2e.optimizers._population import as_arrays, check_range, check_size, failed_last, first_population, leaf


class IdentityGuide(AbstractGuide):
    """The guided alternative of an individual is the individual itself, whose value is known."""

    def __call__(self, points: Points, values: Values, generation: Count) -> tuple[Points, Values]:
        return points, values


class L2EState(eqx.Module):
    """The population in the unit cube, and the candidates that wait for their values."""

    space: Box
    key: Key
    points: Points
    values: Values
    candidates: Points
    settled: Bool[Array, ""]  # candidates replace the population as they are: the first one, or fused points
    generation: Count  # of the last proposals; -1 before the first


class L2E(AbstractOptimizer[L2EState]):
    """Learned proposals, averaged with the population, and fused with guided alternatives by a gate.

    The first batch is a uniform population. With a gate that selects, a generation is one batch, and the best value
    never gets worse. With one that blends, a generation is two batches, the proposals and then the fused points, and
    both are counted.

    **Arguments:**

    - `schedule`: the operator O of each generation.
    - `gate`: `HardGate`, `SoftGate` or `FixedGate`.
    - `guide`: the guided alternative; the identity at inference.
    - `metric`: in which proposals are projected onto the box.
    - `alpha`: the share of the operator in the average with the identity (Krasnoselskii-Mann), from 0 to 1.
    - `population_size`: number of individuals.
    """

    schedule: AbstractSchedule
    gate: AbstractGate = HardGate()
    guide: AbstractGuide = IdentityGuide()
    metric: AbstractMetric = Euclidean()
    alpha: Any = eqx.field(converter=leaf, default=0.9)
    population_size: int = eqx.field(static=True, default=100)

    def __check_init__(self) -> None:
        check_range("alpha", self.alpha, 0, 1)
        check_size("population_size", self.population_size, 2, "proposals are made of differences")

    def init(self, space: Box, key: Key, start: Point | None = None) -> L2EState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        points = first_population(space, first_key, self.population_size, start)
        values = jnp.full((self.population_size,), jnp.inf, points.dtype)
        return L2EState(space, key, points, values, points, jnp.ones((), bool), jnp.full((), -1, jnp.int32))

    def ask(self, state: L2EState) -> Points:
        return state.space.from_unit(state.candidates)

    def wanted(self, state: L2EState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def tell(self, state: L2EState, values: Values) -> L2EState:
        values = failed_last(values, state.values)
        if self.gate.selects:
            return self._selected(state, values)
        return jax.lax.cond(
            state.settled,
            lambda: self._next(state, state.candidates, values),
            lambda: self._blended(state, values),
        )

    def propose(self, points: Points, values: Values, generation: Count, key: Key) -> Points:
        """`Proj((1 - alpha) x + alpha O(x; w_k))`, the learned path of one generation."""
        alpha = jnp.asarray(self.alpha, points.dtype)
        proposed = self.schedule.at(generation)(points, values, key)
        averaged = (1 - alpha) * points + alpha * proposed  # Eq. (km-unroll)
        return self.metric.project(jnp.where(jnp.isfinite(averaged), averaged, points))

    def with_operator(self, operator: AbstractOperator) -> "L2E":
        """This optimizer with one operator for whatever generation comes next.

        A backward pass that scans over `schedule.blocks` with it never writes into the whole stack of weights. Since
        `tell` makes the proposals of the generation after it, block k + 1 belongs to the `tell` of generation k.
        """
        return eqx.tree_at(lambda optimizer: optimizer.schedule, self, Shared(operator))

    @property
    def rounds(self) -> int:
        """Batches per generation, after the first population."""
        return 1 if self.gate.selects else 2

    def _selected(self, state: L2EState, values: Values) -> L2EState:
        """Take the better alternative, whose value is known, and propose again."""
        guided, guided_values = self._guided(state)
        weights = self.gate.weights(guided_values, values)
        points = self.gate.fuse(weights, guided, state.candidates)
        kept = jnp.where(weights > 0, guided_values, values)
        points = jnp.where(state.settled, state.candidates, points)
        kept = jnp.where(state.settled, values, kept)
        return self._next(state, points, kept)

    def _blended(self, state: L2EState, values: Values) -> L2EState:
        """Fuse the alternatives into new points, inside the cube since it is convex, which wait for their values."""
        guided, guided_values = self._guided(state)
        weights = self.gate.weights(guided_values, values)
        fused = self.gate.fuse(weights, guided, state.candidates)
        settled = jnp.ones((), bool)
        return L2EState(state.space, state.key, state.points, state.values, fused, settled, state.generation)

    def _guided(self, state: L2EState) -> tuple[Points, Values]:
        return self.guide(state.points, state.values, jnp.maximum(state.generation, 0))

    def _next(self, state: L2EState, points: Points, values: Values) -> L2EState:
        key, operator_key = jax.random.split(state.key)
        generation = state.generation + 1
        candidates = self.propose(points, values, generation, operator_key)
        return L2EState(state.space, key, points, values, candidates, jnp.zeros((), bool), generation)

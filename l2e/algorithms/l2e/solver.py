"""L2E: the composite solver of learned proposals, numerical guidance and a gate (Algorithm 1 of the L2E paper).

One generation k: the learned path `d_IL = Proj((1 - alpha) x + alpha O(x; w_k))`, the guided path `d_OL`, and their
fusion by the gate. What the paper switches by "if training" is here another guide: at inference it is the identity, in
meta-training it follows the gradient of the task. Both run this code.
"""

import dataclasses
from typing import Annotated, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from l2e.algorithms.l2e.contracts import AbstractGuide, AbstractOperator, AbstractRememberingOperator, AbstractSchedule
from l2e.algorithms.l2e.gates import AbstractGate, FixedGate, HardGate, SoftGate
from l2e.algorithms.l2e.operators import AttentionMLP, Certified, CoordinateFree, Covariance, StructuredMamba
from l2e.algorithms.l2e.projection import AbstractMetric, Euclidean, MetricName, named_metric
from l2e.algorithms.l2e.schedules import Shared, Sharing, scheduled
from l2e.algorithms.nn import Spectral, StateOutput
from l2e.algorithms.population import as_arrays, check_range, check_size, failed_last, first_population, leaf
from l2e.algorithms.trainable import AbstractSettings
from l2e.core import settings
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Values


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
    memory: Any = None  # of an operator that remembers


def _counted(value: Any) -> Any:
    """A number as a leaf of its own; None stays."""
    return value if value is None or isinstance(value, jax.Array) else np.asarray(value, np.int32)


class L2E(AbstractAlgorithm[L2EState]):
    """Learned proposals, averaged with the population, and fused with guided alternatives by a gate.

    The first batch is a uniform population. With a gate that selects, a generation is one batch, and the best value
    never gets worse. With one that blends, a generation is two batches, the proposals and then the fused points, and
    both are counted.

    **Arguments:**

    - `schedule`: the operator O of each generation.
    - `gate`: `HardGate`, `SoftGate` or `FixedGate`.
    - `guide`: the guided alternative; the identity at inference.
    - `metric`: in which points are projected onto the box.
    - `project_fused`: project only after the gate, as the paper writes it. A point outside then has the value of its
      projection, and takes part in a blend as it is. By default each path is projected, and a blend is inside.
    - `alpha`: the share of the operator in the average with the identity (Krasnoselskii-Mann), from 0 to 1.
    - `population_size`: number of individuals.
    - `horizon`: the generations of a run, for an operator that asks how much of it is over; an array leaf.
    """

    schedule: AbstractSchedule
    gate: AbstractGate = HardGate()
    guide: AbstractGuide = IdentityGuide()
    metric: AbstractMetric = Euclidean()
    alpha: Any = eqx.field(converter=leaf, default=0.9)
    population_size: int = eqx.field(static=True, default=100)
    project_fused: bool = eqx.field(static=True, default=False)
    horizon: Any = eqx.field(converter=_counted, default=None)

    def __check_init__(self) -> None:
        check_range("alpha", self.alpha, 0, 1)
        check_size("population_size", self.population_size, 2, "proposals are made of differences")

    def init(self, space: Box, key: Key, start: Point | None = None) -> L2EState:
        space = as_arrays(space)
        key, first_key = jax.random.split(key)
        points = first_population(space, first_key, self.population_size, start)
        values = jnp.full((self.population_size,), jnp.inf, points.dtype)
        first = jnp.full((), -1, jnp.int32)
        operator = self.schedule.at(jnp.zeros((), jnp.int32))
        memory = None
        if isinstance(operator, AbstractRememberingOperator):
            if self.horizon is None:
                name = type(operator).__name__
                raise ValueError(
                    f"{name} asks how much of a run is over: give L2E a horizon, its number of generations"
                )
            memory = operator.memory(points)
        return L2EState(space, key, points, values, points, jnp.ones((), bool), first, memory)

    def ask(self, state: L2EState) -> Points:
        return state.space.from_unit(self._feasible(state.candidates))

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
        """`Proj((1 - alpha) x + alpha O(x; w_k))`, the learned path of one generation; see `project_fused`.

        An operator that remembers is asked as at the beginning of a run.
        """
        return self._averaged(points, self.schedule.at(generation)(points, values, key))

    def with_budget(self, budget: int) -> "L2E":
        """The same weights for another number of evaluations; only an operator that asks for the time sees it."""
        if self.horizon is None:
            return self
        batches = -(-budget // self.population_size) - 1
        return dataclasses.replace(self, horizon=max(1, -(-batches // self.rounds)))

    def resized(self, population_size: int, generations: int) -> "L2E":
        """The same weights, if they fit any size, for another population and another number of generations."""
        horizon = None if self.horizon is None else generations
        return dataclasses.replace(self, population_size=population_size, horizon=horizon)

    def _averaged(self, points: Points, proposed: Points) -> Points:
        alpha = jnp.asarray(self.alpha, points.dtype)
        averaged = (1 - alpha) * points + alpha * proposed  # Eq. (km-unroll)
        finite = jnp.where(jnp.isfinite(averaged), averaged, points)
        return finite if self.project_fused else self.metric.project(finite)

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

    @property
    def per_generation(self) -> AbstractSchedule | None:
        """The schedule, if each generation has weights of its own."""
        return self.schedule if self.schedule.per_generation else None

    def population_values(self, state: L2EState) -> Values:
        """The values of the population."""
        return state.values

    def with_guide(self, guide: AbstractGuide) -> "L2E":
        """This optimizer with another guide."""
        return dataclasses.replace(self, guide=guide)

    def _selected(self, state: L2EState, values: Values) -> L2EState:
        """Take the better alternative, whose value is known, and propose again."""
        guided, guided_values = self._guided(state)
        weights = self.gate.weights(guided_values, values)
        points = self._feasible(self.gate.fuse(weights, guided, state.candidates))
        kept = jnp.where(weights > 0, guided_values, values)
        points = jnp.where(state.settled, state.candidates, points)
        kept = jnp.where(state.settled, values, kept)
        operator = self.schedule.at(jnp.maximum(state.generation, 0))
        if isinstance(operator, AbstractRememberingOperator):
            learned = operator.learned(state.memory, weights <= 0)
            state = dataclasses.replace(state, memory=learned)
        return self._next(state, points, kept)

    def _blended(self, state: L2EState, values: Values) -> L2EState:
        """Fuse the alternatives into new points, inside as the cube is convex, which wait for their values."""
        guided, guided_values = self._guided(state)
        weights = self.gate.weights(guided_values, values)
        fused = self._feasible(self.gate.fuse(weights, guided, state.candidates))
        settled = jnp.ones((), bool)
        return dataclasses.replace(state, candidates=fused, settled=settled)

    def _feasible(self, points: Points) -> Points:
        """The points inside the cube; they are already, unless projection waits for the fusion."""
        return self.metric.project(points) if self.project_fused else points

    def _guided(self, state: L2EState) -> tuple[Points, Values]:
        return self.guide(state.points, state.values, jnp.maximum(state.generation, 0))

    def _next(self, state: L2EState, points: Points, values: Values) -> L2EState:
        key, operator_key = jax.random.split(state.key)
        generation = state.generation + 1
        operator, memory = self.schedule.at(generation), state.memory
        if isinstance(operator, AbstractRememberingOperator):
            done = generation.astype(points.dtype) / jnp.asarray(self.horizon, points.dtype)
            proposed, memory = operator.recall(points, values, operator_key, memory, jnp.minimum(done, 1))
        else:
            proposed = operator(points, values, operator_key)
        candidates = self._averaged(points, proposed)
        return L2EState(state.space, key, points, values, candidates, jnp.zeros((), bool), generation, memory)


GateName = Literal["hard", "soft", "soft-raw", "fixed"]


@dataclasses.dataclass(frozen=True)
class L2ESettings(AbstractSettings):
    """The settings of an L2E.

    **Arguments:**

    - `operator`: "base" (attention and MLP), "mamba", "coordinate-free" or "covariance" (any dimension), or
      "certified" (a contraction by `contraction`).
    - `population_size`: number of individuals.
    - `schedule`: weights "unshared" (one operator per generation), "shared", or "staged" with `stages` operators.
    - `alpha`: the share of the operator in the average with the identity.
    - `gate`: in training: "hard", "soft" (scale-free), "soft-raw" or "fixed"; `tau`: the temperature of soft gates;
      `gate_gradient`: whether gradients pass through the weights of soft gates.
    - `deployed_gate`: at inference; "hard" costs one evaluation per individual and generation.
    - `width`: width of the operator's layers, 0 for its own default; `noise`: whether it has a random term.
    - `absolute`: for "base" and "mamba", points and steps in units of the box instead of the population's spread.
    - `metric`: P of the projection: "euclidean", a learned "diagonal", or "low-rank" of this `rank`; `projection`:
      of both "paths" before the gate, or of the "fused" point.
    - `spectral`: norms of linear maps are "bounded" by `coefficient`, "divided" to be equal to it, or free ("none");
      by default "own": bounded, and none for "base".
    - `state_output`: C of the Mamba block: "absent", "unused" or "used".
    """

    kind = "l2e"
    algorithm = L2E
    operator: Literal["base", "mamba", "coordinate-free", "covariance", "certified"]
    population_size: settings.Count = 100
    schedule: Sharing = "unshared"
    stages: settings.Count = 10
    alpha: Annotated[float, settings.Check(lambda share: 0 <= share <= 1, "a number from 0 to 1")] = 0.9
    gate: GateName = "hard"
    tau: settings.Positive = 1.0
    deployed_gate: GateName = "hard"
    width: settings.Index = 0
    noise: bool = True
    absolute: bool = False
    gate_gradient: bool = False
    metric: MetricName = "euclidean"
    rank: settings.Count = 2
    projection: Literal["paths", "fused"] = "paths"
    spectral: Literal["own", "none", "bounded", "divided"] = "own"
    coefficient: settings.Positive = 1.0
    state_output: StateOutput = "absent"
    contraction: Annotated[float, settings.Check(lambda c: 0 <= c < 1, "a number from 0 to less than 1")] = 0.9

    def __post_init__(self) -> None:
        for name, operators in _ONLY_FOR.items():
            if getattr(self, name) != _default(name) and self.operator not in operators:
                raise ValueError(f"{name} is for {' and '.join(operators)}, the operator is {self.operator}")

    def build(self, dimension: int, generations: int, key: Key) -> L2E:
        def make(key: Key) -> AbstractOperator:
            return self._operator(dimension, key)

        schedule = scheduled(self.schedule, make, self.stages, generations, key)
        return L2E(
            schedule,
            self._gate(self.gate),
            metric=named_metric(self.metric, dimension, self.rank, jax.random.fold_in(key, METRIC)),
            alpha=self.alpha,
            population_size=self.population_size,
            project_fused=self.projection == "fused",
            horizon=generations if self.operator == "covariance" else None,
        )

    def evaluations(self, generations: int) -> int:
        """A gate that blends takes two batches per generation."""
        batches = 1 if self.deployed_gate == "hard" else 2
        return (1 + batches * generations) * self.population_size

    @property
    def any_dimension(self) -> bool:
        return self.operator in ("coordinate-free", "covariance")

    @property
    def summary(self) -> str:
        return f"L2E, {self.operator} operator, {self.schedule} weights"

    def deployed(self, algorithm: L2E) -> L2E:
        """The same L2E with the gate of inference."""
        return eqx.tree_at(lambda trained: trained.gate, algorithm, self._gate(self.deployed_gate))

    def _operator(self, dimension: int, key: Key) -> AbstractOperator:
        given: dict[str, Any] = {"noise": self.noise, "key": key} | ({"width": self.width} if self.width else {})
        norms: dict[str, Any] = {"spectral": self._spectral, "coefficient": self.coefficient}
        match self.operator:
            case "base":
                return AttentionMLP(self.population_size, dimension, absolute=self.absolute, **norms, **given)
            case "mamba":
                return StructuredMamba(
                    dimension, absolute=self.absolute, state_output=self.state_output, **norms, **given
                )
            case "certified":
                return Certified(dimension, contraction=self.contraction, **given)
            case "covariance":
                return Covariance(**given)
            case _:
                return CoordinateFree(**norms, **given)

    @property
    def _spectral(self) -> Spectral:
        if self.spectral != "own":
            return self.spectral
        return "none" if self.operator == "base" else "bounded"

    def _gate(self, name: GateName) -> AbstractGate:
        match name:
            case "hard":
                return HardGate()
            case "fixed":
                return FixedGate()
            case _:
                return SoftGate(self.tau, scale_free=name == "soft", differentiable=self.gate_gradient)


METRIC = 7
"""Folded into the key of the operators for the first weights of the metric."""

_ONLY_FOR = {
    "absolute": ("base", "mamba"),
    "spectral": ("base", "mamba", "coordinate-free"),
    "coefficient": ("base", "mamba", "coordinate-free"),
    "state_output": ("mamba",),
    "contraction": ("certified",),
}
"""Settings that mean nothing to the other operators."""


def _default(name: str) -> Any:
    return next(field.default for field in dataclasses.fields(L2ESettings) if field.name == name)

"""A trainable optimizer in plain values: what a training file and the header of a weights file say of it. L2E's own."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax

from l2e._types import Key
from l2e.operator import AbstractOperator, AbstractSchedule
from l2e.operators import AttentionMLP, CoordinateFree, Shared, Staged, StructuredMamba, Unshared
from l2e.optimizer import AbstractOptimizer
from l2e.optimizers._gates import AbstractGate, FixedGate, HardGate, SoftGate
from l2e.optimizers.l2e_solver import L2E


@dataclasses.dataclass(frozen=True)
class AbstractModelTable(ABC):
    """The settings of a trainable optimizer: how to build it untrained, and what follows from them without weights.

    **Fields:** `kind`: its name in the key `kind` of a training file; `made`: the class that is built.
    """

    kind: ClassVar[str]
    made: ClassVar[type[AbstractOptimizer[Any]]]

    @abstractmethod
    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> Any:
        """The optimizer with first weights, as it is trained or as it is deployed."""

    @abstractmethod
    def evaluations(self, generations: int) -> int:
        """How many evaluations an episode of training has."""

    @property
    @abstractmethod
    def any_dimension(self) -> bool:
        """Whether weights trained in one dimension work in all."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it is, in a few words."""

    def deployed(self, optimizer: Any) -> Any:
        """What becomes of a trained optimizer when it is used; the default is that nothing does."""
        return optimizer

    def first(self, dimension: int, generations: int, seed: int, training: bool = False) -> Any:
        """The optimizer that a training with this seed begins with."""
        return self.build(dimension, generations, jax.random.split(jax.random.key(seed))[0], training)

    @property
    def facts(self) -> dict[str, Any]:
        """The table in plain JSON; one without a kind is L2E's."""
        settings = dataclasses.asdict(self)
        return settings if self.kind == "l2e" else {"kind": self.kind, **settings}


@dataclasses.dataclass(frozen=True)
class AbstractPopulationTable(AbstractModelTable):
    """A model whose generations are one evaluation of each of its individuals."""

    population_size: int = 100

    def evaluations(self, generations: int) -> int:
        return (1 + generations) * self.population_size


Sharing = Literal["unshared", "shared", "staged"]


def scheduled(
    sharing: Sharing, make: Callable[[Key], AbstractOperator], stages: int, generations: int, key: Key
) -> AbstractSchedule:
    """Operators for all generations: one for each, one for all, or some for stretches of equal length.

    **Arguments:** `make`: an operator with first weights from a key; `stages`: how many, if staged.
    """
    match sharing:
        case "unshared":
            return Unshared(make, generations, key=key)
        case "staged":
            return Staged(make, stages, generations, key=key)
        case _:
            return Shared(make(key))


@dataclasses.dataclass(frozen=True)
class OptimizerTable(AbstractModelTable):
    """The settings of an L2E.

    **Arguments:**

    - `operator`: "base" (attention and MLP), "mamba" or "coordinate-free" (any dimension).
    - `population_size`: individuals.
    - `schedule`: weights "unshared" (one operator per generation), "shared", or "staged" with `stages` operators.
    - `alpha`: the share of the operator in the average with the identity.
    - `gate`: in training: "hard", "soft" (scale-free), "soft-raw" or "fixed"; `tau`: temperature of soft gates.
    - `deployed_gate`: at inference; "hard" is one evaluation per individual and generation.
    - `width`: of the operator's layers, 0 for its own default; `noise`: whether it has a random term.
    - `absolute`: for "base" and "mamba", points and steps in units of the box instead of the population's spread.
    """

    kind = "l2e"
    made = L2E
    operator: Literal["base", "mamba", "coordinate-free"]
    population_size: int = 100
    schedule: Sharing = "unshared"
    stages: int = 10
    alpha: float = 0.9
    gate: Literal["hard", "soft", "soft-raw", "fixed"] = "hard"
    tau: float = 1.0
    deployed_gate: Literal["hard", "soft", "soft-raw", "fixed"] = "hard"
    width: int = 0
    noise: bool = True
    absolute: bool = False

    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> L2E:
        """An L2E with first weights, with the gate of training or of inference."""

        def make(key: Key) -> AbstractOperator:
            width: dict[str, Any] = {"width": self.width} if self.width else {}
            match self.operator:
                case "base":
                    return AttentionMLP(
                        self.population_size, dimension, noise=self.noise, absolute=self.absolute, key=key, **width
                    )
                case "mamba":
                    return StructuredMamba(dimension, absolute=self.absolute, noise=self.noise, key=key, **width)
                case _:
                    return CoordinateFree(noise=self.noise, key=key, **width)

        schedule = scheduled(self.schedule, make, self.stages, generations, key)
        gate = self._gate(self.gate if training else self.deployed_gate)
        return L2E(schedule, gate, alpha=self.alpha, population_size=self.population_size)

    def evaluations(self, generations: int) -> int:
        """A gate that blends takes two batches per generation."""
        batches = 1 if self.deployed_gate == "hard" else 2
        return (1 + batches * generations) * self.population_size

    @property
    def any_dimension(self) -> bool:
        return self.operator == "coordinate-free"

    @property
    def summary(self) -> str:
        return f"L2E, {self.operator} operator, {self.schedule} weights"

    def deployed(self, optimizer: L2E) -> L2E:
        """A trained optimizer with the gate of inference."""
        return eqx.tree_at(lambda o: o.gate, optimizer, self._gate(self.deployed_gate))

    def _gate(self, name: str) -> AbstractGate:
        match name:
            case "hard":
                return HardGate()
            case "fixed":
                return FixedGate()
            case _:
                return SoftGate(self.tau, scale_free=name == "soft")

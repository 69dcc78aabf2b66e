"""An L2E in plain values: what a training file and the header of a weights file say of it."""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax

from l2e._types import Key
from l2e.operator import AbstractOperator
from l2e.operators import AttentionMLP, CoordinateFree, Shared, Staged, StructuredMamba, Unshared
from l2e.optimizers._gates import AbstractGate, FixedGate, HardGate, SoftGate
from l2e.optimizers.l2e_solver import L2E


@dataclasses.dataclass(frozen=True)
class OptimizerTable:
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

    operator: Literal["base", "mamba", "coordinate-free"]
    population_size: int = 100
    schedule: Literal["unshared", "shared", "staged"] = "unshared"
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

        match self.schedule:
            case "unshared":
                schedule = Unshared(make, generations, key=key)
            case "staged":
                schedule = Staged(make, self.stages, generations, key=key)
            case _:
                schedule = Shared(make(key))
        gate = self._gate(self.gate if training else self.deployed_gate)
        return L2E(schedule, gate, alpha=self.alpha, population_size=self.population_size)

    def first(self, dimension: int, generations: int, seed: int, training: bool = False) -> L2E:
        """The L2E that a training with this seed begins with."""
        return self.build(dimension, generations, jax.random.split(jax.random.key(seed))[0], training)

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

"""What training needs of an algorithm: settings to build it from, and optional protocols.

Settings are plain values: training files and the headers of weights files hold them. Each algorithm has its own at the
end of its file; `l2e.algorithms.kinds` lists them all. The protocols are what meta-training may ask of an algorithm
besides ask and tell; one that has none of them can be trained as well.
"""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax

from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Key, Values


@dataclasses.dataclass(frozen=True)
class AbstractSettings(ABC):
    """The settings of a trainable algorithm: how to build it, and what follows from them without weights.

    **Fields:** `kind`: its name, the key `kind` in files; `algorithm`: the class that is built.
    """

    kind: ClassVar[str]
    algorithm: ClassVar[type[AbstractAlgorithm[Any]]]

    @abstractmethod
    def build(self, dimension: int, generations: int, key: Key) -> Any:
        """The algorithm with initial weights, in the form in which it is trained."""

    @abstractmethod
    def evaluations(self, generations: int) -> int:
        """How many evaluations an episode of this many generations has."""

    @property
    @abstractmethod
    def any_dimension(self) -> bool:
        """Whether weights trained in one dimension work in all."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """A few words for lists of methods."""

    def deployed(self, algorithm: Any) -> Any:
        """Convert a trained algorithm to the form in which it is used; by default unchanged."""
        return algorithm

    def initial(self, dimension: int, generations: int, seed: int) -> Any:
        """The algorithm that a training with this seed starts from."""
        return self.build(dimension, generations, jax.random.split(jax.random.key(seed))[0])


@runtime_checkable
class HoldsPopulation(Protocol):
    """An algorithm whose state holds the values of a population, and not only those of the last batch."""

    def population_values(self, state: Any) -> Values:
        """The values of the population."""
        ...


@runtime_checkable
class TakesRounds(Protocol):
    """An algorithm of which one generation may be several batches."""

    @property
    def rounds(self) -> int:
        """Batches per generation, after the first population."""
        ...


@runtime_checkable
class TakesGuide(Protocol):
    """An algorithm that can be guided along gradients in training."""

    def with_guide(self, guide: Any) -> Any:
        """The same algorithm with this guide."""
        ...


@runtime_checkable
class HasBlocks(Protocol):
    """An algorithm of which each generation may have weights of its own."""

    @property
    def per_generation(self) -> Any:
        """The schedule of these weights (`AbstractSchedule`), None if generations share them."""
        ...

    def with_operator(self, operator: Any) -> Any:
        """The same algorithm with this operator for whatever generation comes next."""
        ...


@runtime_checkable
class TakesBudget(Protocol):
    """An algorithm that may be told how many evaluations a run has."""

    def with_budget(self, budget: int) -> Any:
        """The same algorithm for this number of evaluations."""
        ...


@runtime_checkable
class Resizable(Protocol):
    """An algorithm whose weights fit populations and episodes of any size."""

    population_size: int

    def resized(self, population_size: int, generations: int) -> Any:
        """The same weights for another population and another number of generations."""
        ...

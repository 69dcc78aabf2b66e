"""The contracts of L2E's parts: the learned proposal, the schedule of its weights, and the numerical guidance."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from l2e.core.traced.types import Count, Key, Points, Scalar, Values


class AbstractOperator(eqx.Module):
    """O_evo: proposes a population from a population. Points are in the unit cube; proposals may leave it."""

    @abstractmethod
    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        """The proposals, one per individual; equivariant to the order of individuals. `+inf` marks a failed value."""


class AbstractRememberingOperator(AbstractOperator):
    """An operator that knows how far a run is, and remembers what became of its proposals."""

    @abstractmethod
    def memory(self, points: Points) -> Any:
        """The memory before the first proposals for a population of this shape: arrays, in a pytree."""

    @abstractmethod
    def recall(self, points: Points, values: Values, key: Key, memory: Any, done: Scalar) -> tuple[Points, Any]:
        """The proposals as in `__call__`, and the memory with them; `done` is the share of the run that is over."""

    @abstractmethod
    def learned(self, memory: Any, accepted: Bool[Array, "n"]) -> Any:
        """The memory after a gate took these of the waiting proposals."""

    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        """The proposals at the beginning of a run."""
        return self.recall(points, values, key, self.memory(points), jnp.zeros((), points.dtype))[0]


class AbstractSchedule(eqx.Module):
    """Which operator acts in which generation: one for all, one for each, or a few by budget fraction."""

    @property
    @abstractmethod
    def per_generation(self) -> bool:
        """Whether each generation has weights of its own."""

    @abstractmethod
    def at(self, generation: Count) -> AbstractOperator:
        """The operator of this generation."""

    @abstractmethod
    def blocks(self, generations: int) -> Any:
        """The operators of the first generations as one operator pytree with a leading axis, to be scanned over."""


class AbstractGuide(eqx.Module):
    """O_num: the guided alternative to each individual, with its value.

    At inference it is the identity, which costs nothing. The guide that follows the gradient of the true objective
    lives in `l2e.meta`, which no inference code imports.
    """

    @abstractmethod
    def __call__(self, points: Points, values: Values, generation: Count) -> tuple[Points, Values]:
        """The guided points in the unit cube, and their values."""

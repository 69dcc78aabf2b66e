"""The contract of a native optimizer: three pure functions, written once, run on the host or under scan and vmap."""

from abc import abstractmethod
from typing import Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool

from l2e.core.box import Box
from l2e.core.traced.types import Count, Key, Point, Points, Values

State = TypeVar("State", bound=eqx.Module)


class AbstractAlgorithm(eqx.Module, Generic[State]):
    """A batch optimizer as init / ask / tell.

    Everything that the next step needs, the random key included, is in the state, so a state can be saved and a run
    continued exactly. All methods are pure JAX with static shapes: `ask` always returns the same number of rows, and
    `wanted` says how many leading rows of it are to be evaluated (an algorithm whose population shrinks or grows has
    padding behind them). Every leaf of a state is an array, in the dtype of the box.

    `tell` takes one value per row; a failed or padded row has `+inf`. NaN never reaches an optimizer.
    """

    @abstractmethod
    def init(self, space: Box, key: Key, start: Point | None = None) -> State:
        """The state before the first batch; `start` is a point of the box where the user wants the search to begin."""

    @abstractmethod
    def ask(self, state: State) -> Points:
        """The batch to evaluate, inside the box. Asking twice gives the same batch."""

    @abstractmethod
    def wanted(self, state: State) -> Count:
        """How many leading rows of `ask(state)` are to be evaluated, at least 1."""

    @abstractmethod
    def tell(self, state: State, values: Values) -> State:
        """The state after the batch of `ask(state)` got these values, `+inf` where it has none."""

    def converged(self, state: State) -> Bool[Array, ""]:
        """Whether nothing more is to be expected, so that a run ends before its budget does. The default is never."""
        return jnp.zeros((), bool)

    def sized(self, wanted: int) -> "AbstractAlgorithm[State]":
        """This optimizer with a batch cut to what `wanted` rows need, for host loops that meet no static shapes.

        States do not change with it. The default is the optimizer itself.
        """
        return self

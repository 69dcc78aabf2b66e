"""Optimizers that a policy controls: a hand-made backbone asks, at each batch, what a learned policy decides.

Telling is looking, deciding and acting. Reinforcement learning (`l2e.meta.estimators`) takes the three apart:
it decides by itself, remembers what was seen and done, and runs the very same backbone.
"""

from abc import abstractmethod
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
from jaxtyping import Array, Float

from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Key, Scalar, Values

State = TypeVar("State", bound=eqx.Module)


class AbstractControlled(AbstractAlgorithm[State]):
    """A backbone and its policy. States have a field `key`."""

    @abstractmethod
    def observe(self, state: State, values: Values) -> tuple[State, Any]:
        """The state after the batch got these values, before the next decision, and what the policy sees of it."""

    @abstractmethod
    def decide(self, observation: Any, key: Key) -> Any:
        """What the policy does, as it is deployed."""

    @abstractmethod
    def act(self, state: State, action: Any) -> State:
        """The state with the next batch made as the action says."""

    def with_budget(self, budget: int) -> "AbstractControlled[State]":
        """The same weights for another number of evaluations; the default is an optimizer that is told none."""
        return self

    def tell(self, state: State, values: Values) -> State:
        state, observation = self.observe(state, values)
        key, decision_key = jax.random.split(_key_of(state))
        state = eqx.tree_at(_key_of, state, key)
        return self.act(state, self.decide(observation, decision_key))


class Judgement(NamedTuple):
    """For each number of an action: its normal distribution, and the expected sum of its rewards from here on."""

    mean: Float[Array, "..."]
    deviation: Float[Array, "..."]
    value: Float[Array, "..."]


class AbstractActorCritic(AbstractControlled[State]):
    """A policy that draws its actions, with a critic while it is trained: what PPO needs."""

    @abstractmethod
    def judge(self, observation: Any) -> Judgement:
        """The distribution of actions and the critic's values."""

    @abstractmethod
    def standing(self, state: State) -> Float[Array, "..."]:
        """For each number of an action the value it is judged by: in a swarm, the best one of its particle."""


class AbstractScored(AbstractControlled[State]):
    """A policy that takes the action of the highest score: what deep Q-learning needs."""

    @abstractmethod
    def scores(self, observation: Any) -> Float[Array, "actions"]:
        """A number for each action: after training, the expected discounted sum of rewards."""

    @abstractmethod
    def reward(self, state: State) -> Scalar:
        """The reward for the batch that the state has just observed."""


def _key_of(state: Any) -> Key:
    return state.key

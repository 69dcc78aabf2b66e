"""A (1 + lambda) evolution strategy with the one-fifth success rule: a skeleton to copy for an algorithm of your own.

I. Rechenberg, "Evolutionsstrategie: Optimierung technischer Systeme nach Prinzipien der biologischen Evolution", 1973.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.population import as_arrays, check_size, reflect
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Scalar, Values

GOAL = 0.2
"""The share of children better than their parent at which the step stays as it is: one in five."""


class OnePlusLambdaState(eqx.Module):
    """What the next step needs, the random key included. Every leaf is an array."""

    space: Box
    key: Key
    parent: Point  # in the unit cube
    value: Scalar
    step: Scalar
    children: Points  # in the unit cube; they wait for their values


class OnePlusLambda(AbstractAlgorithm[OnePlusLambdaState]):
    """Children are normally distributed around the parent; the best of them replaces it if it is not worse.

    **Arguments:** `children`: how many there are per batch; `first_step`: their first standard deviation, as a share
    of the box's width.
    """

    children: int = eqx.field(static=True, default=8)
    first_step: float = eqx.field(static=True, default=0.2)

    def __check_init__(self) -> None:
        check_size("children", self.children, 1, "a batch needs a point")
        if not 0 < self.first_step <= 1:
            raise ValueError(f"first_step must be above 0 and at most 1, got {self.first_step}")

    def init(self, space: Box, key: Key, start: Point | None = None) -> OnePlusLambdaState:
        space = as_arrays(space)
        dtype = space.lower.dtype
        centre = jnp.full((space.dimension,), 0.5, dtype)
        parent = centre if start is None else jnp.clip(space.to_unit(jnp.asarray(start, dtype)), 0, 1)
        value = jnp.asarray(jnp.inf, dtype)
        step = jnp.asarray(self.first_step, dtype)
        return self._with_children(space, key, parent, value, step)

    def ask(self, state: OnePlusLambdaState) -> Points:
        return state.space.from_unit(state.children)

    def wanted(self, state: OnePlusLambdaState) -> Count:
        return jnp.asarray(self.children, jnp.int32)

    def tell(self, state: OnePlusLambdaState, values: Values) -> OnePlusLambdaState:
        best = jnp.argmin(values)  # a failed child has the value +inf and is never better
        better = values < state.value
        parent = jnp.where(better[best], state.children[best], state.parent)
        value = jnp.minimum(values[best], state.value)
        step = state.step * jnp.exp(jnp.mean(better, dtype=state.step.dtype) - GOAL)
        return self._with_children(state.space, state.key, parent, value, jnp.minimum(step, 1.0))

    def _with_children(self, space: Box, key: Key, parent: Point, value: Scalar, step: Scalar) -> OnePlusLambdaState:
        key, children_key = jax.random.split(key)
        noise = jax.random.normal(children_key, (self.children, parent.shape[0]), parent.dtype)
        children = jnp.where(jnp.isinf(value), parent + step * noise.at[0].set(0), parent + step * noise)
        return OnePlusLambdaState(space, key, parent, value, step, reflect(children))

"""What the peers with a population and one child per parent share: their state, its beginning, selection."""

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.population import as_arrays, failed_last, first_population
from l2e.core.box import Box
from l2e.core.traced.types import Count, Key, Point, Points, Values

SIDE = 10.0
"""Networks see the box as [-5, 5] in each coordinate: the box of BBOB, on which the methods were published."""


class OneToOneState(eqx.Module):
    """The population in the unit cube, and the children that wait for their values, child i below parent i."""

    space: Box
    key: Key
    points: Points
    values: Values
    children: Points
    generation: Count  # of the children; -1 for the first population


def begin(space: Box, key: Key, size: int, start: Point | None) -> OneToOneState:
    """A uniform population as the first children, of parents that are worth nothing."""
    space = as_arrays(space)
    key, first_key = jax.random.split(key)
    points = first_population(space, first_key, size, start)
    values = jnp.full((size,), jnp.inf, points.dtype)
    return OneToOneState(space, key, points, values, points, jnp.full((), -1, jnp.int32))


def selected(state: OneToOneState, values: Values) -> tuple[Points, Values]:
    """The population after its children got their values: a child replaces its parent if it is better."""
    values = failed_last(values, state.values)
    better = values < state.values
    return jnp.where(better[:, None], state.children, state.points), jnp.where(better, values, state.values)


def centred(unit: Points) -> Points:
    """Points of the unit cube as networks see them."""
    return SIDE * (unit - 0.5)


def clipped(seen: Points, parents: Points) -> Points:
    """What a network made, back in the unit cube and inside it; the parent's gene where it is not a number."""
    unit = seen / SIDE + 0.5
    return jnp.clip(jnp.where(jnp.isfinite(unit), unit, parents), 0, 1)

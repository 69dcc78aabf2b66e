"""A smooth mirror: an unbounded space folded onto the unit cube.

Coordinate-wise and C^1: the identity on [a, 1 - a], a parabola on the strip of width 2a around each face,
`x = (u + a)^2 / (4a)` at the lower one, and mirrored beyond, with period 2 (1 + 2a). A function with its optimum on a
face becomes one with an ordinary, locally quadratic optimum at `u = -a`, which an unbounded search finds as usual.
"""

import jax.numpy as jnp

from l2e.algorithms.population import reflect
from l2e.core.traced.types import Points

STRIP = 0.05


def fold(unbounded: Points) -> Points:
    """Map any point into the unit cube."""
    span = 1 + 2 * STRIP
    inner = reflect((unbounded + STRIP) / span) * span - STRIP
    low = (inner + STRIP) ** 2 / (4 * STRIP)
    high = 1 - (1 + STRIP - inner) ** 2 / (4 * STRIP)
    folded = jnp.where(inner < STRIP, low, jnp.where(inner > 1 - STRIP, high, inner))
    inside = (unbounded >= STRIP) & (unbounded <= 1 - STRIP)
    return jnp.where(inside, unbounded, folded)  # exactly the identity there, without rounding


def unfold(unit: Points) -> Points:
    """The preimage of a point of the unit cube that lies in [-a, 1 + a]."""
    low = 2 * jnp.sqrt(STRIP * jnp.clip(unit, 0, 1)) - STRIP
    high = 1 + STRIP - 2 * jnp.sqrt(STRIP * jnp.clip(1 - unit, 0, 1))
    return jnp.where(unit < STRIP, low, jnp.where(unit > 1 - STRIP, high, unit))

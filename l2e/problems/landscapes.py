"""Random landscapes with a known minimum, for training: shapes that are moved, turned, warped, bent, mixed, worn.

    f(x) = f_opt + worn((sum_k s_k shape_k(y))^q),   y = warped(x - x_opt) R

worn: nothing, values cut down to a grid (plateaus), or a fine deterministic ripple proportional to the value (noise).
The scale of values goes over five decades. The same object is a JAX problem and a fast numpy function.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.box import Box
from l2e.core.errors import unknown
from l2e.core.problem import Optimum
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Key, Points, Values
from l2e.problems.landscape_shapes import HALF, SHAPES, SMOOTH, draw_axes, on_axes

FAMILIES = (*SHAPES, "plateaus", "noise", "blend")
"""The kinds of landscapes that can be drawn."""

SINGLE = (*SMOOTH, "kinks", "plateaus", "noise")
"""Those with one minimum, where to get down fast is all."""


class Part(eqx.Module):
    """One shape with its numbers and its share."""

    shape: str = eqx.field(static=True)
    numbers: dict[str, Any]
    share: Any


class Landscape(AbstractTraceableProblem):
    """One random landscape; `values(np, points)` is the fast way on the host, `evaluate` the one inside JAX."""

    space: Box
    parts: tuple[Part, ...]
    x_opt: Any
    f_opt: Any
    turn: Any  # an orthogonal matrix, or None: axes stay axes
    warp: Any  # strength per coordinate, or None
    power: Any
    grid: Any  # the step of plateaus, or None
    noise: Any  # frequencies and strength of noise, or None
    family: str = eqx.field(static=True)

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        return values_in_jax(self, points)

    def values(self, xp: Any, points: Any) -> Any:
        """Values of n points, shape (n, d) -> (n,), computed by this array module."""
        away = points - self.x_opt
        y = on_axes(xp, away, self.turn, self.warp)
        total = 0.0
        for part in self.parts:
            total = total + part.share * SHAPES[part.shape].value(xp, part.numbers, y)
        total = xp.maximum(total, 0.0)  # rounding may go below, which floor would make a step
        if self.power is not None:
            total = (total + 1e-300) ** self.power
        if self.grid is not None:
            total = xp.floor(total / self.grid) * self.grid
        if self.noise is not None:
            total = total * (1 + self.noise[-1] * xp.cos(away @ self.noise[:-1]))
        return self.f_opt + total

    @property
    def optimum(self) -> Optimum:
        """Where the minimum is and what it is: known because every shape is zero there and positive elsewhere."""
        return Optimum(np.asarray(self.x_opt), float(self.f_opt))


def values_in_jax(landscape: Any, points: Points) -> Values:
    """What a landscape that can be computed by any array module says of points inside JAX, in their precision."""
    cast = jax.tree.map(lambda leaf: jnp.asarray(leaf, points.dtype), landscape)
    return cast.values(jnp, points)


def draw_landscape(rng: np.random.Generator, family: str, dimension: int) -> Landscape:
    """Draw one of a family.

    **Arguments:** `rng`: all its randomness; `family`: one of `FAMILIES`; `dimension`: from 1.
    """
    if family not in FAMILIES:
        raise unknown("family of landscapes", family, FAMILIES)
    d = dimension
    x_opt = rng.uniform(-0.8 * HALF, 0.8 * HALF, d)
    if rng.random() < 0.1:  # some minima lie on the boundary
        x_opt = np.where(rng.random(d) < 0.5, np.where(x_opt < 0, -HALF, HALF), x_opt)
    turn, warp = draw_axes(rng, d)
    power = float(rng.choice([1.0, 1.0, 1.0, rng.uniform(0.4, 0.9), rng.uniform(1.1, 2.0)]))
    size = 10.0 ** rng.uniform(0.5, 4.5)
    grid = 10.0 ** rng.uniform(-3, 0) if family == "plateaus" else None
    noise = None
    if family == "noise":
        noise = np.append(rng.standard_normal(d) * 1e5, 10.0 ** rng.uniform(-3, -1.3))
    names = _shapes(rng, family)
    drawn = [(name, SHAPES[name].draw(rng, d, x_opt)) for name in names]
    space = Box(np.full(d, -HALF), np.full(d, HALF))  # type: ignore[arg-type]
    probe = rng.uniform(-HALF, HALF, (32, d))
    share = rng.dirichlet(np.full(len(names), 2.0))
    parts = []
    for (name, numbers), part in zip(drawn, share, strict=True):
        alone = Landscape(space, (Part(name, numbers, 1.0),), x_opt, 0.0, turn, warp, None, None, None, family)
        typical = float(np.median(alone.values(np, probe)))
        parts.append(Part(name, numbers, np.asarray(part * size ** (1 / power) / max(typical, 1e-12))))
    return Landscape(
        space,
        tuple(parts),
        x_opt,
        np.asarray(rng.uniform(-100, 100)),
        turn,
        warp,
        None if power == 1.0 else np.asarray(power),
        None if grid is None else np.asarray(grid),
        noise,
        family,
    )


def _shapes(rng: np.random.Generator, family: str) -> tuple[str, ...]:
    if family in SHAPES:
        return (family,)
    if family == "blend":
        return tuple(str(name) for name in rng.choice(list(SHAPES), 2, replace=False))
    return (str(rng.choice(SMOOTH)),)

"""Random landscapes of several characters at once, for training: products, ripples, groups of coordinates, terraces.

A blend is made of shapes that share one minimum, each turned and warped in its own way:

    product    f_opt + s prod_k (f_k / t_k)^p_k                two to four shapes
    rippled    f_opt + s (f_1 / t_1)^p (1 + r(x))              waves at several scales on a shape without any
    groups     f_opt + s sum_k f_k(x_group k) / t_k            partly separable: a shape for each group of coordinates
    terraces   f_opt + s 10^(floor(n log10 v) / n)             a product v whose values go down in steps

t_k is the typical value of f_k, so that no shape drowns the others. Values go over as many decades as those of
`l2e.problems.landscapes`, and near the minimum over all of them.
"""

from typing import Any

import equinox as eqx
import numpy as np

from l2e.core.box import Box
from l2e.core.errors import unknown
from l2e.core.problem import Optimum
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Key, Points, Values
from l2e.problems.landscape_shapes import HALF, SHAPES, draw_axes, on_axes
from l2e.problems.landscapes import values_in_jax

BLENDS = ("product", "rippled", "groups", "terraces")
"""The kinds of blends that can be drawn."""

CALM = ("bowl", "powers", "soft", "valley", "chain", "ridge", "lopsided", "products")
"""Shapes on which ripples are put."""

SCALES = 3
"""Of ripples, each twice as fine as the one before."""

LEAST = 1e-300
RIPPLED = 0.5
"""The share of products and terraces that have ripples as well."""

PROBES = 64
"""Random points that tell the typical value of a shape."""


class Piece(eqx.Module):
    """One shape of a blend on its own axes: its coordinates, their turn and warp, its power, its typical value."""

    shape: str = eqx.field(static=True)
    where: tuple[int, ...] = eqx.field(static=True)
    numbers: dict[str, Any]
    turn: Any  # an orthogonal matrix, or None
    warp: Any  # strength per coordinate, or None
    power: Any
    typical: Any

    def value(self, xp: Any, away: Any) -> Any:
        """(f / t)^p at points given by how far they are from the minimum."""
        y = on_axes(xp, away[:, np.asarray(self.where)], self.turn, self.warp)
        raw = xp.maximum(SHAPES[self.shape].value(xp, self.numbers, y), 0.0)
        return (raw / self.typical + LEAST) ** self.power


class Ripples(eqx.Module):
    """r(x) = a sum_j h^j mean_k (1 - cos(2^j w_k . (x - x_opt)))."""

    height: Any
    fading: Any
    waves: Any

    def value(self, xp: Any, away: Any) -> Any:
        """Zero at the minimum, and nowhere negative."""
        turned = away @ self.waves
        scales = (self.fading**j * (1 - xp.cos(2.0**j * turned)).mean(axis=1) for j in range(SCALES))
        return self.height * sum(scales)


class Blend(AbstractTraceableProblem):
    """One random blend; `values(np, points)` is the fast way on the host, `evaluate` the one inside JAX."""

    space: Box
    pieces: tuple[Piece, ...]
    ripples: Ripples | None
    x_opt: Any
    f_opt: Any
    size: Any
    steps: Any  # terraces per decade, or None
    family: str = eqx.field(static=True)

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        return values_in_jax(self, points)

    def values(self, xp: Any, points: Any) -> Any:
        """Values of n points, shape (n, d) -> (n,), computed by this array module."""
        away = points - self.x_opt
        parts = [piece.value(xp, away) for piece in self.pieces]
        total = parts[0]
        for part in parts[1:]:
            total = total + part if self.family == "groups" else total * part
        if self.ripples is not None:
            total = total * (1 + self.ripples.value(xp, away))
        if self.steps is not None:
            total = 10.0 ** (xp.floor(self.steps * xp.log10(total + LEAST)) / self.steps)
        return self.f_opt + self.size * total

    @property
    def optimum(self) -> Optimum:
        """Where the minimum is and what it is: known because every piece is zero there and positive elsewhere."""
        return Optimum(np.asarray(self.x_opt), float(self.f_opt))


def draw_blend(rng: np.random.Generator, family: str, dimension: int, shapes: tuple[str, ...] = tuple(SHAPES)) -> Blend:
    """Draw one of a family.

    **Arguments:** `rng`: all its randomness; `family`: one of `BLENDS`; `dimension`: from 1; `shapes`: of which it is
    made.
    """
    if family not in BLENDS:
        raise unknown("kind of blends", family, BLENDS)
    d = dimension
    x_opt = rng.uniform(-0.8 * HALF, 0.8 * HALF, d)
    everywhere = tuple(range(d))
    ripples = None
    match family:
        case "rippled":
            calm = [name for name in shapes if name in CALM] or list(CALM)
            chosen = [(str(rng.choice(calm)), everywhere, float(rng.uniform(0.5, 1.2)))]
            ripples = _draw_ripples(rng, d)
        case "groups":
            count = int(rng.integers(2, 4)) if d > 3 else min(d, 2)
            places = np.array_split(rng.permutation(d), count)
            chosen = [
                (str(rng.choice(shapes)), tuple(place.tolist()), float(rng.uniform(0.5, 1.2))) for place in places
            ]
        case _:
            names = rng.choice(shapes, int(rng.integers(2, 5)), replace=False)
            powers = rng.dirichlet(np.ones(len(names))) * rng.uniform(0.5, 1.2)
            chosen = [(str(name), everywhere, float(power)) for name, power in zip(names, powers, strict=True)]
            ripples = _draw_ripples(rng, d) if rng.random() < RIPPLED else None
    probe = rng.uniform(-HALF, HALF, (PROBES, d)) - x_opt
    pieces = tuple(_piece(rng, *one, x_opt, probe) for one in chosen)
    return Blend(
        Box(np.full(d, -HALF), np.full(d, HALF)),  # type: ignore[arg-type]
        pieces,
        ripples,
        x_opt,
        np.asarray(rng.uniform(-100, 100)),
        np.asarray(10.0 ** rng.uniform(0.5, 4.5)),
        np.asarray(10.0 ** rng.uniform(0, 1.3)) if family == "terraces" else None,
        family,
    )


def _draw_ripples(rng: np.random.Generator, d: int) -> Ripples:
    """Wave lengths from the width of the cube to a hundredth of it, along turned axes."""
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Ripples(
        np.asarray(10.0 ** rng.uniform(-1, 0.7)),
        np.asarray(rng.uniform(0.3, 0.9)),
        turn * 10.0 ** rng.uniform(0, 1.8) * rng.uniform(0.7, 1.4, d),
    )


def _piece(
    rng: np.random.Generator, shape: str, where: tuple[int, ...], power: float, x_opt: np.ndarray, probe: np.ndarray
) -> Piece:
    d = len(where)
    turn, warp = draw_axes(rng, d)
    numbers = SHAPES[shape].draw(rng, d, x_opt[list(where)])
    alone = Piece(shape, where, numbers, turn, warp, np.asarray(1.0), np.asarray(1.0))
    typical = max(float(np.median(alone.value(np, probe))), 1e-12)
    return Piece(shape, where, numbers, turn, warp, np.asarray(power), np.asarray(typical))

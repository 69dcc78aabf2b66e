"""The two networks behind the surrogate problems: a small MLP and a small Kolmogorov-Arnold network (KAN).

Both map points of the unit cube to one number each, and are plain pytrees of arrays: what fits them differentiates
them as they are, what minimises them compiles them.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.core.errors import unknown
from l2e.core.traced.types import Key

HIDDEN = (32, 64, 32)
"""Units of the hidden layers of the MLP."""

KAN_HIDDEN = 10
"""Units of the hidden layer of the KAN."""

INTERVALS = 5
"""Intervals into which the grid of a spline divides [-1, 1]."""

DEGREE = 3
"""Of the splines: cubic."""


class AbstractNetwork(eqx.Module):
    """A network with one output."""

    @abstractmethod
    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n"]:
        """The outputs for n points of the unit cube."""


class Linear(eqx.Module):
    """An affine map of the rows."""

    matrix: Float[Array, "i o"]
    offset: Float[Array, "o"]

    def __call__(self, rows: Float[Array, "n i"]) -> Float[Array, "n o"]:
        return rows @ self.matrix + self.offset


class MLP(AbstractNetwork):
    """Affine maps with rectifiers between them."""

    layers: tuple[Linear, ...]

    @classmethod
    def initial(cls, dimension: int, key: Key) -> "MLP":
        """Random weights of He's variance, zero offsets."""
        sizes = (dimension, *HIDDEN, 1)
        keys = jax.random.split(key, len(sizes) - 1)
        shapes = zip(sizes, sizes[1:], keys, strict=False)
        return cls(tuple(Linear(_normal(k, (i, o), (2 / i) ** 0.5), jnp.zeros(o)) for i, o, k in shapes))

    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n"]:
        rows = 2 * points - 1
        for layer in self.layers[:-1]:
            rows = jax.nn.relu(layer(rows))
        return self.layers[-1](rows)[:, 0]


class SplineLayer(eqx.Module):
    """Each output is a sum over the inputs of a function of that input alone: a spline plus a multiple of SiLU.

    Liu et al. (2024), arXiv:2404.19756. The knots are evenly spaced and stay where they are. Beyond [-1, 1] the spline
    fades to zero over the width of a few intervals, and the multiple of SiLU goes on.

    **Fields:** `splines`: the coefficients of the B-splines; `base`: the multiples of SiLU; `offset`: of each output.
    """

    splines: Float[Array, "i k o"]
    base: Float[Array, "i o"]
    offset: Float[Array, "o"]

    @classmethod
    def initial(cls, inputs: int, outputs: int, key: Key) -> "SplineLayer":
        """Random functions, such that inputs of size 1 become outputs of about that size."""
        first, second = jax.random.split(key)
        splines = _normal(first, (inputs, INTERVALS + DEGREE, outputs), (1 / inputs) ** 0.5)
        return cls(splines, _normal(second, (inputs, outputs), (1 / inputs) ** 0.5), jnp.zeros(outputs))

    def __call__(self, rows: Float[Array, "n i"]) -> Float[Array, "n o"]:
        basis = b_splines(rows).reshape(rows.shape[0], -1)
        curved = basis @ self.splines.reshape(-1, self.splines.shape[-1])
        return curved + jax.nn.silu(rows) @ self.base + self.offset


class KAN(AbstractNetwork):
    """Two layers of splines: sums of functions of sums of functions of single coordinates."""

    layers: tuple[SplineLayer, SplineLayer]

    @classmethod
    def initial(cls, dimension: int, key: Key) -> "KAN":
        """Random functions."""
        first, second = jax.random.split(key)
        return cls((SplineLayer.initial(dimension, KAN_HIDDEN, first), SplineLayer.initial(KAN_HIDDEN, 1, second)))

    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n"]:
        first, second = self.layers
        return second(first(2 * points - 1))[:, 0]


def b_splines(x: Float[Array, "*shape"]) -> Float[Array, "*shape k"]:
    """The values at x of the cubic B-splines whose grid divides [-1, 1] evenly; they add up to 1 there.

    With v the distance to the middle of a spline in intervals, its value is ((2 - v)^3 - 4 (1 - v)^3) / 6, each cube
    only where its base is positive.
    """
    count = INTERVALS + DEGREE
    middles = jnp.arange(count, dtype=x.dtype) - (DEGREE - 1) / 2
    distance = jnp.abs((x[..., None] + 1) * (INTERVALS / 2) - middles)
    return (jnp.maximum(2 - distance, 0) ** 3 - 4 * jnp.maximum(1 - distance, 0) ** 3) / 6


KINDS: dict[str, type[MLP] | type[KAN]] = {"mlp": MLP, "kan": KAN}
"""The networks by the name of their kind."""


def initial(kind: str, dimension: int, key: Key) -> AbstractNetwork:
    """A network of this kind with random weights."""
    if kind not in KINDS:
        raise unknown("kind of network", kind, KINDS)
    return KINDS[kind].initial(dimension, key)


def _normal(key: Key, shape: tuple[int, ...], deviation: float) -> Float[Array, "..."]:
    return deviation * jax.random.normal(key, shape)

"""An operator for any population size and any dimension: its weights are shared over coordinates."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.l2e.contracts import AbstractOperator
from l2e.algorithms.l2e.operators.features import (
    STATISTICS,
    random_differences,
    ranking,
    spread,
    statistics,
    value_tokens,
)
from l2e.algorithms.nn import WEIGHTS, Spectral, SpectralLinear, as_dtype
from l2e.core.traced.types import Key, Points, Values


class CoordinateFree(AbstractOperator):
    """`O(x) = x + w (C - x) + v (x_a - x_b) + step * spread * tanh(...)` with one set of weights for any N and D.

    Each coordinate of each individual is a token: its distance to the best, to the mean and to the mean of the better
    half in units of the coordinate's spread, the value tokens, and the population statistics. A small network makes a
    hidden token of it. Averaged over coordinates the hidden tokens describe individuals; from these come the mixing
    weights of the crossover `C = softmax(Q K^T) X`, its rate w and the rate v of the random difference. From the
    hidden token itself comes the step of that coordinate.

    Changing the order of coordinates or of individuals changes the order of the result and nothing else; so do shifts
    and scalings of a coordinate.

    **Arguments:**

    - `width`: of the hidden tokens.
    - `noise`: whether there is the random difference.
    - `coefficient`: bound of the spectral norms; `spectral`: what is done to them, see `SpectralLinear`.
    - `key`: for the first weights.
    """

    embedding: SpectralLinear
    hidden: SpectralLinear
    query: SpectralLinear
    key: SpectralLinear
    rates: SpectralLinear
    step_head: SpectralLinear
    sharpness: Float[Array, ""]
    noise: bool = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int = 16,
        noise: bool = True,
        coefficient: float = 1.0,
        spectral: Spectral = "bounded",
        key: Key,
    ):
        keys = jax.random.split(key, 6)

        def linear(inputs: int, outputs: int, which: int, gain: float = 1.0) -> SpectralLinear:
            return SpectralLinear(
                inputs, outputs, coefficient=coefficient, gain=gain, spectral=spectral, key=keys[which]
            )

        self.embedding = linear(3 + 2 + STATISTICS, width, 0)
        self.hidden = linear(width, width, 1)
        individual = width + 2
        self.query = linear(individual, width, 2)
        self.key = linear(individual, width, 3)
        rates = linear(individual, 2, 4, gain=0.1)
        self.rates = eqx.tree_at(lambda part: part.bias, rates, jnp.asarray(FIRST_RATES, WEIGHTS))
        self.step_head = linear(width, 1, 5, gain=0.1)
        self.sharpness = jnp.asarray(FIRST_SHARPNESS, WEIGHTS)
        self.noise = noise

    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        return as_dtype(self, points.dtype)._propose(points, values, key)

    def _propose(self, points: Points, values: Values, key: Key) -> Points:
        order, back = ranking(values)
        x, f = points[order], values[order]
        unit = spread(x)
        hidden = jnp.tanh(self.hidden(jnp.tanh(self.embedding(coordinate_tokens(x, f, unit)))))
        individuals = jnp.concatenate([jnp.mean(hidden, axis=1), value_tokens(f)], axis=1)
        queries, keys = self.query(individuals), self.key(individuals)
        mixing = jax.nn.softmax(self.sharpness * queries @ keys.T / math.sqrt(queries.shape[1]), axis=1)
        towards, random = jax.nn.sigmoid(self.rates(individuals)).T[:, :, None]
        proposed = x + towards * (mixing @ x - x) + MOST_STEP * unit * jnp.tanh(self.step_head(hidden)[..., 0])
        if self.noise:
            proposed = proposed + random * random_differences(key, x)
        return proposed[back]


FIRST_SHARPNESS = 4.0
"""The first factor of the mixing logits, whose maps are spectrally bounded and so would mix almost evenly."""

FIRST_RATES = (-1.5, 0.4)
"""Logits of the first rates: 0.18 towards the mixture and 0.6 of the random difference. Half and half collapses."""

MOST_STEP = 1.0
"""The longest free step of a coordinate, in units of its spread."""


def coordinate_tokens(x: Points, f: Values, unit: Float[Array, "d"]) -> Float[Array, "n d inputs"]:
    """The tokens of all coordinates of a sorted population."""
    better = x[: (x.shape[0] + 1) // 2]
    anchors = (x[0], jnp.mean(x, axis=0), jnp.mean(better, axis=0))
    places = jnp.stack([(x - anchor) / unit for anchor in anchors], axis=2)
    standing = jnp.broadcast_to(value_tokens(f)[:, None, :], (*x.shape, 2))
    facts = jnp.broadcast_to(statistics(x, f), (*x.shape, STATISTICS))
    return jnp.concatenate([places, standing, facts], axis=2)

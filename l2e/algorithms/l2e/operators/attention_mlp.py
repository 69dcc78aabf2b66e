"""The base operator of the L2E paper ("Ours"): crossover by attention, mutation by an MLP, scaling by rank.

The paper describes it as an attention/MLP block and nothing more; it is taken to be the block of X. Li, K. Wu, Y. Li,
X. Zhang, H. Wang, J. Liu, "B2Opt: learning to optimize black-box optimization with little budget", 2023.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.l2e.contracts import AbstractOperator
from l2e.algorithms.l2e.operators.features import random_differences, ranking, spread, value_tokens
from l2e.algorithms.nn import WEIGHTS, Spectral, as_dtype, normalised
from l2e.core.traced.types import Key, Points, Values


class AttentionMLP(AbstractOperator):
    """`O = w1 X + w2 C + w3 MLP(C)` on the sorted population, `C = F1 softmax(A) X + F2 softmax(Q K^T) X`.

    A has a free logit for each pair of ranks; Q and K are affine in the value tokens; F1 + F2 = 1; w1, w2, w3 have one
    number per rank. Two things differ from the block it follows. Its value token, the softmax of the raw values, is
    degenerate on functions of large range (1 for the worst, 0 for all others): here it is rank and squashed score. And
    X is measured from the population's mean in units of its spread, so that the operator works alike wherever the
    population is and however far it has converged: with the points themselves, a change of w1 by 0.01 moves proposals
    by 0.01 of their distance from the origin, which no converging population survives. With `absolute` they are
    measured from the centre of the cube in units of the cube.

    The paper has spectral normalisation "for all linear layers": `spectral` puts it on the four linear maps of the
    operator, Q, K and both layers of the MLP, without their last columns, which are biases.

    With `noise` a fourth term `w4 (x_a - x_b)` of random individuals a, b is added, so that a population on which all
    proposals have failed does not repeat them.

    The first weights make a mild operator: each individual moves towards or away from a mixture of a few others,
    `x + w2 (C - x)`, w3 = 0.

    **Arguments:**

    - `population_size`, `dimension`: fixed by the weights.
    - `width`: of the attention over values.
    - `noise`: whether there is the fourth term.
    - `absolute`: points in units of the cube.
    - `spectral`: what is done to spectral norms, see `SpectralLinear`; `coefficient`: their bound.
    - `key`: for the first weights.
    """

    pair_logits: Float[Array, "n n"]
    query: Float[Array, "width 3"]
    key: Float[Array, "width 3"]
    fusion_logits: Float[Array, "2"]
    hidden: Float[Array, "d d+1"]
    output: Float[Array, "d d+1"]
    row_scales: Float[Array, "3 n"]
    noise_scales: Float[Array, "n"] | None
    absolute: bool = eqx.field(static=True)
    spectral: Spectral = eqx.field(static=True)
    coefficient: float = eqx.field(static=True)

    def __init__(
        self,
        population_size: int,
        dimension: int,
        *,
        width: int = 16,
        noise: bool = True,
        absolute: bool = False,
        spectral: Spectral = "none",
        coefficient: float = 1.0,
        key: Key,
    ):
        keys = jax.random.split(key, 6)
        n, d = population_size, dimension
        self.pair_logits = SHARPNESS * jax.random.normal(keys[0], (n, n), WEIGHTS)
        self.query = jax.random.normal(keys[1], (width, 3), WEIGHTS)
        self.key = jax.random.normal(keys[2], (width, 3), WEIGHTS)
        self.fusion_logits = jnp.zeros((2,), WEIGHTS)
        self.hidden = jax.random.normal(keys[3], (d, d + 1), WEIGHTS) / math.sqrt(d)
        self.output = jax.random.normal(keys[4], (d, d + 1), WEIGHTS) / math.sqrt(d)
        towards = MOVE * jax.random.normal(keys[5], (n,), WEIGHTS)
        self.row_scales = jnp.stack([1 - towards, towards, jnp.zeros((n,), WEIGHTS)])
        self.noise_scales = jnp.full((n,), NOISE, WEIGHTS) if noise else None
        self.absolute = absolute
        self.spectral = spectral
        self.coefficient = coefficient

    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        return as_dtype(self, points.dtype)._propose(points, values, key)

    def _propose(self, points: Points, values: Values, key: Key) -> Points:
        order, back = ranking(values)
        origin, unit = (0.5, 1.0) if self.absolute else (jnp.mean(points, axis=0), spread(points))
        x = (points[order] - origin) / unit
        tokens = with_one(value_tokens(values[order]))
        queries, keys = tokens @ self._linear(self.query).T, tokens @ self._linear(self.key).T
        by_value = jax.nn.softmax(queries @ keys.T / math.sqrt(queries.shape[1]), axis=1)
        fusion = jax.nn.softmax(self.fusion_logits)
        crossed = (fusion[0] * jax.nn.softmax(self.pair_logits, axis=1) + fusion[1] * by_value) @ x
        hidden = jax.nn.relu(with_one(crossed) @ self._linear(self.hidden).T)
        mutated = with_one(hidden) @ self._linear(self.output).T
        w1, w2, w3 = self.row_scales[:, :, None]
        proposed = w1 * x + w2 * crossed + w3 * mutated
        if self.noise_scales is not None:
            proposed = proposed + self.noise_scales[:, None] * random_differences(key, x)
        return (origin + unit * proposed)[back]

    def _linear(self, weight: Float[Array, "m n+1"]) -> Float[Array, "m n+1"]:
        """An affine map with the spectral norm of its linear part taken care of."""
        if self.spectral == "none":
            return weight
        linear = normalised(weight[:, :-1], self.spectral, self.coefficient)
        return jnp.concatenate([linear, weight[:, -1:]], axis=1)


SHARPNESS = 3.0
"""Standard deviation of the first pair logits: a row's softmax is then on a few individuals, not on their mean."""

MOVE = 0.5
"""Standard deviation of the first w2."""

NOISE = 0.6
"""The first w4."""


def with_one(rows: Float[Array, "n m"]) -> Float[Array, "n m+1"]:
    """Rows with a 1 at their end, so that a matrix product has a bias."""
    return jnp.concatenate([rows, jnp.ones((rows.shape[0], 1), rows.dtype)], axis=1)

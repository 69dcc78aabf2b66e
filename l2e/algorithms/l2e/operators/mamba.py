"""The structured Mamba operator of the L2E paper: a selective path and an attention path, routed by statistics."""

from typing import Any

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
from l2e.algorithms.nn import (
    WEIGHTS,
    ParallelSelective,
    PathWeights,
    SelfAttention,
    Spectral,
    SpectralLinear,
    StateOutput,
    as_dtype,
)
from l2e.core.traced.types import Key, Points, Scalar, Values


class StructuredMamba(AbstractOperator):
    """`O(x) = x + step * spread * (l_ssm tanh(Psi_m(H_mamba)) + l_attn tanh(Psi_a(H_attn)))`.

    E embeds an individual: its point and the tokens of its value. `H_mamba` is the `ParallelSelective` block of E,
    `H_attn = SelfAttention(E) + E`, the weights l are a softmax over population statistics. All linear maps have a
    spectral norm of at most `coefficient`.

    The paper embeds the point itself and leaves the unit of the step open. By default the point is measured from the
    population's mean and from its best in units of the population's spread in that coordinate, and so is the step:
    the operator then works alike wherever the population is and however far it has converged. With `absolute` both
    are in units of the cube.

    With `noise` a term `w_i (x_a - x_b)` of random individuals a, b is added, its scale a bounded function of E.

    **Arguments:**

    - `dimension`: fixed by the weights; the population size is free.
    - `width`: of the embedding, a multiple of `heads`.
    - `heads`: of the attention path.
    - `absolute`: points and steps in units of the cube.
    - `noise`: whether there is the random term.
    - `coefficient`: bound of the spectral norms; `spectral`: what is done to them, see `SpectralLinear`.
    - `state_output`: what becomes of C, see `ParallelSelective`.
    - `key`: for the first weights.
    """

    embedding: SpectralLinear
    selective: ParallelSelective
    attention: SelfAttention
    router: PathWeights
    selective_head: SpectralLinear
    attention_head: SpectralLinear
    noise_head: SpectralLinear | None
    step: Scalar
    absolute: bool = eqx.field(static=True)

    def __init__(
        self,
        dimension: int,
        *,
        width: int = 32,
        heads: int = 4,
        absolute: bool = False,
        noise: bool = True,
        coefficient: float = 1.0,
        spectral: Spectral = "bounded",
        state_output: StateOutput = "absent",
        key: Key,
    ):
        keys = jax.random.split(key, 7)
        inputs = (dimension if absolute else 2 * dimension) + 2
        norms: Any = {"coefficient": coefficient, "spectral": spectral}

        def linear(inputs: int, outputs: int, which: int) -> SpectralLinear:
            return SpectralLinear(inputs, outputs, key=keys[which], **norms)

        self.embedding = linear(inputs, width, 0)
        self.selective = ParallelSelective(width, state_output=state_output, key=keys[1], **norms)
        self.attention = SelfAttention(width, heads, key=keys[2], **norms)
        self.router = PathWeights(STATISTICS, 2, key=keys[3], **norms)
        self.selective_head = linear(width, dimension, 4)
        self.attention_head = linear(width, dimension, 5)
        self.noise_head = linear(width, 1, 6) if noise else None
        self.step = jnp.asarray(FIRST_STEP, WEIGHTS)
        self.absolute = absolute

    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        return as_dtype(self, points.dtype)._propose(points, values, key)

    def _propose(self, points: Points, values: Values, key: Key) -> Points:
        order, back = ranking(values)
        x, f = points[order], values[order]
        unit = jnp.ones_like(x[0]) if self.absolute else spread(x)
        embedded = self.embedding(self._tokens(x, f, unit))
        by_selection = jnp.tanh(self.selective_head(self.selective(embedded)))
        by_attention = jnp.tanh(self.attention_head(self.attention(embedded) + embedded))
        routes = self.router(statistics(x, f))  # Eq. (router)
        change = routes[0] * by_selection + routes[1] * by_attention  # Eq. (hybrid_fusion)
        proposed = x + self.step * unit * change
        if self.noise_head is not None:
            scales = MOST_NOISE * jax.nn.sigmoid(self.noise_head(embedded))
            proposed = proposed + scales * random_differences(key, x)
        return proposed[back]

    def _tokens(self, x: Points, f: Values, unit: Float[Array, "d"]) -> Float[Array, "n inputs"]:
        if self.absolute:
            return jnp.concatenate([2 * x - 1, value_tokens(f)], axis=1)
        to_mean, to_best = (x - jnp.mean(x, axis=0)) / unit, (x - x[0]) / unit
        return jnp.concatenate([to_mean, to_best, value_tokens(f)], axis=1)


FIRST_STEP = 0.1
"""The first step length, in units of the spread or of the cube."""

MOST_NOISE = 1.2
"""The largest factor of a random difference; the first is half of it."""

"""Multi-head self-attention over a set.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.nn.spectral import Spectral, SpectralLinear
from l2e.core.traced.types import Key


class SelfAttention(eqx.Module):
    """Self-attention of n tokens, equivariant to their order, without positions and without a residual.

    **Arguments:**

    - `size`: of a token, a multiple of `heads`.
    - `heads`: how many attentions run side by side on a part of the token each.
    - `coefficient`: bound of the spectral norm of each of the four linear maps.
    - `spectral`: what is done to these norms, see `SpectralLinear`.
    - `key`: for the first weights.
    """

    query: SpectralLinear
    key: SpectralLinear
    value: SpectralLinear
    output: SpectralLinear
    heads: int = eqx.field(static=True)

    def __init__(self, size: int, heads: int, *, coefficient: float = 1.0, spectral: Spectral = "bounded", key: Key):
        if size % heads:
            raise ValueError(f"the token size must be a multiple of the {heads} heads, got {size}")
        keys = jax.random.split(key, 4)
        self.query, self.key, self.value, self.output = (
            SpectralLinear(size, size, coefficient=coefficient, spectral=spectral, key=part) for part in keys
        )
        self.heads = heads

    def __call__(self, tokens: Float[Array, "n size"]) -> Float[Array, "n size"]:
        n, size = tokens.shape
        width = size // self.heads
        query, key, value = (part(tokens).reshape(n, self.heads, width) for part in (self.query, self.key, self.value))
        scores = jnp.einsum("ihw,jhw->hij", query, key) / math.sqrt(width)
        mixed = jnp.einsum("hij,jhw->ihw", jax.nn.softmax(scores, axis=-1), value)
        return self.output(mixed.reshape(n, size))

"""The parallel selective ("Mamba") block of the L2E paper: input-dependent gains without a recurrence.

A. Gu, T. Dao, "Mamba: linear-time sequence modeling with selective state spaces", 2023, is where the names come from;
a population has no order, so the paper drops the scan over positions and keeps the input-dependent parameters.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.nn.spectral import WEIGHTS, SpectralLinear
from l2e.core.traced.types import Key


class ParallelSelective(eqx.Module):
    """Two parallel streams of each token, blended by a gate and normalised, token by token.

    `[Delta, B] = Linear(E)`, `M_s = (Delta B) * E`, `u = Linear(E)`, `z = sigmoid(Linear(E))`, and the result is
    `LayerNorm(z M_s + (1 - z) u)`. The paper leaves the passthrough signal u undefined: it is a linear map of E here.
    It also makes a third parameter C of E that nothing uses: it is left out, since no output depends on it.

    **Arguments:**

    - `size`: of a token.
    - `coefficient`: bound of the spectral norm of each linear map.
    - `key`: for the first weights.
    """

    parameters: SpectralLinear
    passthrough: SpectralLinear
    gate: SpectralLinear
    scale: Float[Array, "size"]
    shift: Float[Array, "size"]

    def __init__(self, size: int, *, coefficient: float = 1.0, key: Key):
        first, second, third = jax.random.split(key, 3)
        self.parameters = SpectralLinear(size, 2 * size, coefficient=coefficient, key=first)
        self.passthrough = SpectralLinear(size, size, coefficient=coefficient, key=second)
        self.gate = SpectralLinear(size, size, coefficient=coefficient, key=third)
        self.scale = jnp.ones((size,), WEIGHTS)
        self.shift = jnp.zeros((size,), WEIGHTS)

    def __call__(self, tokens: Float[Array, "... size"]) -> Float[Array, "... size"]:
        timescale, transform = jnp.split(self.parameters(tokens), 2, axis=-1)
        expanded = timescale * transform * tokens  # Eq. (streams)
        z = jax.nn.sigmoid(self.gate(tokens))
        return (
            layer_norm(z * expanded + (1 - z) * self.passthrough(tokens)) * self.scale + self.shift
        )  # Eq. (mamba_out)


def layer_norm(tokens: Float[Array, "... size"]) -> Float[Array, "... size"]:
    """Tokens of mean 0 and variance 1 over their entries."""
    centred = tokens - jnp.mean(tokens, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-6)

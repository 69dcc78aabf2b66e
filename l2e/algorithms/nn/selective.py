"""The parallel selective ("Mamba") block of the L2E paper: input-dependent gains without a recurrence.

A. Gu, T. Dao, "Mamba: linear-time sequence modeling with selective state spaces", 2023, is where the names come from;
a population has no order, so the paper drops the scan over positions and keeps the input-dependent parameters.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.nn.spectral import WEIGHTS, Spectral, SpectralLinear
from l2e.core.traced.types import Key

StateOutput = Literal["absent", "unused", "used"]
"""What becomes of C: not made, made and left alone as the paper writes it, or a factor as in Mamba."""


class ParallelSelective(eqx.Module):
    """Two parallel streams of each token, blended by a gate and normalised, token by token.

    `[Delta, B] = Linear(E)`, `M_s = (Delta B) * E`, `u = Linear(E)`, `z = sigmoid(Linear(E))`, and the result is
    `LayerNorm(z M_s + (1 - z) u)`. The paper leaves the passthrough signal u undefined: it is a linear map of E here.
    It also makes a third parameter C of E that nothing uses: it is left out by default. With `state_output="unused"`
    C is a third of the same linear map, and so takes part in its norm; with "used" it multiplies the expanded stream,
    `M_s = C * (Delta B) * E`, as the output map of a state space does.

    **Arguments:**

    - `size`: of a token.
    - `coefficient`: bound of the spectral norm of each linear map.
    - `spectral`: what is done to these norms, see `SpectralLinear`.
    - `state_output`: what becomes of C.
    - `key`: for the first weights.
    """

    parameters: SpectralLinear
    passthrough: SpectralLinear
    gate: SpectralLinear
    scale: Float[Array, "size"]
    shift: Float[Array, "size"]
    state_output: StateOutput = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        *,
        coefficient: float = 1.0,
        spectral: Spectral = "bounded",
        state_output: StateOutput = "absent",
        key: Key,
    ):
        first, second, third = jax.random.split(key, 3)

        def linear(outputs: int, key: Key) -> SpectralLinear:
            return SpectralLinear(size, outputs, coefficient=coefficient, spectral=spectral, key=key)

        self.parameters = linear((2 if state_output == "absent" else 3) * size, first)
        self.passthrough = linear(size, second)
        self.gate = linear(size, third)
        self.state_output = state_output
        self.scale = jnp.ones((size,), WEIGHTS)
        self.shift = jnp.zeros((size,), WEIGHTS)

    def __call__(self, tokens: Float[Array, "... size"]) -> Float[Array, "... size"]:
        parts = 2 if self.state_output == "absent" else 3
        timescale, transform, *output = jnp.split(self.parameters(tokens), parts, axis=-1)
        expanded = timescale * transform * tokens  # Eq. (streams)
        expanded = output[0] * expanded if self.state_output == "used" else expanded
        z = jax.nn.sigmoid(self.gate(tokens))
        return (
            layer_norm(z * expanded + (1 - z) * self.passthrough(tokens)) * self.scale + self.shift
        )  # Eq. (mamba_out)


def layer_norm(tokens: Float[Array, "... size"]) -> Float[Array, "... size"]:
    """Tokens of mean 0 and variance 1 over their entries."""
    centred = tokens - jnp.mean(tokens, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-6)

"""Weights of parallel paths from a few statistics."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.nn.spectral import Spectral, SpectralLinear
from l2e.core.traced.types import Key


class PathWeights(eqx.Module):
    """`softmax(MLP(statistics))`: positive weights of the paths that sum to 1.

    The first weights are equal, by a last map of zeros; where norms are divided no map is small, and they are not.

    **Arguments:**

    - `statistics`: how many numbers come in.
    - `paths`: how many weights go out.
    - `width`: of the one hidden layer.
    - `coefficient`: bound of the spectral norm of both linear maps.
    - `spectral`: what is done to these norms, see `SpectralLinear`.
    - `key`: for the first weights.
    """

    hidden: SpectralLinear
    output: SpectralLinear

    def __init__(
        self,
        statistics: int,
        paths: int,
        *,
        width: int = 16,
        coefficient: float = 1.0,
        spectral: Spectral = "bounded",
        key: Key,
    ):
        first, second = jax.random.split(key)
        gain = 1.0 if spectral == "divided" else 0.0
        self.hidden = SpectralLinear(statistics, width, coefficient=coefficient, spectral=spectral, key=first)
        self.output = SpectralLinear(width, paths, coefficient=coefficient, gain=gain, spectral=spectral, key=second)

    def __call__(self, statistics: Float[Array, "s"]) -> Float[Array, "paths"]:
        return jax.nn.softmax(self.output(jnp.tanh(self.hidden(statistics))))

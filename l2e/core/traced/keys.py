"""Random keys as typed JAX keys."""

from typing import Any

import jax
import jax.numpy as jnp

from l2e.core import keys
from l2e.core.keys import IMPLEMENTATION as IMPLEMENTATION
from l2e.core.traced import runtime


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of typed JAX keys."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def as_key(rng: Any) -> jax.Array:
    """A typed JAX key from whatever people call a seed: see `l2e.core.keys.as_key`."""
    with runtime.float64():
        return jax.random.wrap_key_data(jnp.asarray(keys.as_key(rng)), impl=IMPLEMENTATION)

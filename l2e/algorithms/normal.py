"""Normal numbers for programs of many tiny operations: JAX's own, bit for bit, in one fused operation.

On a CPU `jax.random` runs its cipher as a loop of a hundred small steps, which cost a CMA-ES generation in 10-D more
than its linear algebra. Here the twenty rounds are written out, and XLA fuses them.
"""

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.traced.types import Key, Values

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def normal(key: Key, count: int, dtype: jnp.dtype) -> Values:
    """`jax.random.normal(key, (count,), dtype)` for threefry keys and float32 or float64."""
    high, low = _threefry(jax.random.key_data(key), jnp.arange(count, dtype=jnp.uint32))
    if jnp.dtype(dtype) == jnp.float64:
        bits = (high.astype(jnp.uint64) << 32) | low.astype(jnp.uint64)
        mantissa, one, unsigned = bits >> 12, np.float64(1).view(np.uint64), jnp.uint64
    else:
        mantissa, one, unsigned = (high ^ low) >> 9, np.float32(1).view(np.uint32), jnp.uint32
    unit = jax.lax.bitcast_convert_type(mantissa | jnp.asarray(one, unsigned), dtype) - 1
    least = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype), dtype=dtype)
    uniform = jnp.maximum(least, unit * (1 - least) + least)
    return jax.lax.erf_inv(uniform) * np.asarray(np.sqrt(2), dtype)


def _threefry(key: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Threefry-2x32 with 20 rounds (Salmon et al. 2011) of the counters (0, count)."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    x, y = jnp.zeros_like(count) + keys[0], count + keys[1]
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = x + y
            y = ((y << rotation) | (y >> (32 - rotation))) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return x, y

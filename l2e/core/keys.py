"""Random keys without JAX: the raw data of JAX's threefry keys, so that a seed means the same with and without it.

J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Threefry-2x32, 20 rounds).
"""

import sys
from typing import Any

import numpy as np

IMPLEMENTATION = "threefry2x32"
"""JAX's name for the generator that all our results are made with, whatever the user's default is."""

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
MASK = 0xFFFFFFFF


def as_key(rng: Any) -> np.ndarray:
    """The two 32-bit words of a key, from whatever people call a seed.

    **Arguments:** `rng`: a non-negative integer, a `numpy.random.Generator` (one draw is taken from it), a JAX key
    (typed or raw), the words themselves, or None for fresh entropy.
    """
    if rng is None:
        return _of_seed(int(np.random.SeedSequence().generate_state(1)[0]))
    if isinstance(rng, np.random.Generator):
        return _of_seed(int(rng.integers(2**31)))
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        if not 0 <= int(rng) < 2**63:
            raise ValueError(f"rng must be a non-negative integer below 2**63, got {rng}")
        return _of_seed(int(rng))
    if isinstance(rng, np.ndarray) and rng.dtype == np.uint32 and rng.shape == (2,):
        return rng.copy()
    if "jax" in sys.modules and isinstance(rng, sys.modules["jax"].Array):
        return _of_jax(rng)
    raise TypeError(f"rng must be an int, a numpy Generator, a JAX key or None, got {type(rng).__name__}")


def draw_bits(key: np.ndarray) -> int:
    """Thirty-two random bits, those of `jax.random.bits(key, dtype=uint32)`."""
    first, second = _threefry(int(key[0]), int(key[1]), 0, 0)
    return first ^ second


def fold_in(key: np.ndarray, number: int) -> np.ndarray:
    """Another key for each number, that of `jax.random.fold_in`."""
    return np.asarray(_threefry(int(key[0]), int(key[1]), 0, number & MASK), dtype=np.uint32)


def _of_seed(seed: int) -> np.ndarray:
    return np.asarray([seed >> 32, seed & MASK], dtype=np.uint32)


def _of_jax(rng: Any) -> np.ndarray:
    jax = sys.modules["jax"]
    if jax.numpy.issubdtype(rng.dtype, jax.dtypes.prng_key):
        if rng.shape != ():
            raise ValueError(f"rng must be one key, got an array of keys of shape {rng.shape}")
        if IMPLEMENTATION in str(jax.random.key_impl(rng)):
            return np.asarray(jax.random.key_data(rng))
        return _of_seed(int(jax.random.bits(rng, dtype=np.uint32)))  # a key of another kind seeds one of ours
    if rng.dtype == np.uint32 and rng.shape == (2,):
        return np.asarray(rng)
    raise TypeError(f"rng must be an int, a numpy Generator, a JAX key or None, got an array of {rng.dtype}{rng.shape}")


def _threefry(key_0: int, key_1: int, count_0: int, count_1: int) -> tuple[int, int]:
    keys = (key_0, key_1, key_0 ^ key_1 ^ PARITY)
    x, y = (count_0 + key_0) & MASK, (count_1 + key_1) & MASK
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = (x + y) & MASK
            y = (y << rotation | y >> (32 - rotation)) & MASK
            y ^= x
        x = (x + keys[(group + 1) % 3]) & MASK
        y = (y + keys[(group + 2) % 3] + group + 1) & MASK
    return x, y

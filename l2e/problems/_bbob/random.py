"""Random BBOB-like tasks, drawn in pure JAX, so that training can draw fresh ones inside a compiled step.

The formulas are the 24 of BBOB. What an instance fixes there is random here: where the optimum is, how the axes are
turned, how ill-conditioned the function is, what the optimum is worth.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.core.box import Box
from l2e.core.traced import runtime
from l2e.core.traced.keys import as_key
from l2e.core.traced.types import Key
from l2e.problems._bbob.parameters import PEAKED, Peaks, parameters, peaks_around
from l2e.problems._bbob.suite import BBOB, NAMES, check_function, check_integer

SHIFT = 4.0
"""Optima are uniform in [-SHIFT, SHIFT]^d."""

HARDNESS = (0.8, 1.2)
"""All condition numbers of a task are raised to one power, uniform in this range."""

OFFSET = 100.0
"""Values of optima are uniform in [-OFFSET, OFFSET]: float32 keeps about five digits behind the point."""


def sample_bbob(key: Key, function: int, dimension: int, dtype: Any = jnp.float32, rotated: bool = False) -> BBOB:
    """Draw a task. It may be jitted and vmapped over keys; all other arguments are static.

    The optimum is uniform in [-4, 4]^d, its value uniform in [-100, 100], rotations are Haar, and condition numbers
    are BBOB's to a power uniform in [0.8, 1.2] (in f14 the spread of the exponents is multiplied by it instead; f1,
    f8, f9 and f19 have none, the peaks of f21 and f22 vary by themselves). Two functions bind the optimum: in f5 it is
    a corner of the box, in f4 every second coordinate of it is positive. In f9, f19, f20 and f24, whose optimum BBOB
    keeps in a few places, it moves like everywhere else. With `rotated` the separable f2, f3 and f4 are rotated too, as
    in the instances of the L2E paper.

    ```python
    tasks = jax.vmap(lambda key: l2e.problems.sample_bbob(key, function=15, dimension=10))(jax.random.split(key, 64))
    ```
    """
    numbers_key, rotations_key, peaks_key = jax.random.split(key, 3)
    numbers = _uniform(numbers_key, (dimension + 2,), dtype)
    shift, f_opt = SHIFT * (2 * numbers[2:] - 1), OFFSET * (2 * numbers[0] - 1)
    hardness = HARDNESS[0] + (HARDNESS[1] - HARDNESS[0]) * numbers[1]
    rotations = _rotations(rotations_key, dimension, dtype)
    x_opt = _place(function, shift)
    peaks = _peaks(peaks_key, function, x_opt, rotations[0]) if function in PEAKED else None
    drawn = parameters(function, (x_opt, f_opt), rotations, peaks, hardness, rotated)
    drawn = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), drawn)
    space = Box(jnp.full(dimension, -5, dtype), jnp.full(dimension, 5, dtype))
    return BBOB(space, drawn, function, f"random {NAMES[function - 1]}")


def random_bbob(rng: Any, function: int, dimension: int = 10) -> BBOB:
    """Draw one task in float64, ready to use: the eager form of `sample_bbob`.

    **Arguments:** `rng`: a seed, a numpy `Generator` or a JAX key; `function`: 1 to 24; `dimension`: from 2.

    **Raises:** `ValueError` or `TypeError` for anything else.
    """
    function, dimension = check_function(function), check_integer("dimension", dimension, 2)
    key = as_key(rng)
    with runtime.float64():
        return jax.tree.map(np.asarray, _sample(key, function, dimension, jnp.float64))


_sample = functools.partial(jax.jit, static_argnums=(1, 2, 3))(sample_bbob)


def _place(function: int, shift: Float[Array, "d"]) -> Float[Array, "d"]:
    match function:
        case 4:
            return jnp.where(np.arange(len(shift)) % 2 == 0, jnp.abs(shift), shift)
        case 5:
            return jnp.where(shift < 0, -5, 5).astype(shift.dtype)
        case _:
            return shift


def _rotations(key: Key, dimension: int, dtype: Any) -> tuple[Float[Array, "d d"], Float[Array, "d d"]]:
    """Two Haar-distributed orthogonal matrices (Mezzadri 2007): QR of normal numbers, the signs of R moved to Q."""
    normals = jax.random.normal(key, (2 * dimension * dimension,), dtype).reshape(2, dimension, dimension)
    q, r = jnp.linalg.qr(normals)
    signs = jnp.where(jnp.diagonal(r, axis1=1, axis2=2) < 0, -1, 1)
    first, second = q * signs[:, None, :]
    return first, second


def _uniform(key: Key, shape: tuple[int, ...], dtype: Any) -> Float[Array, "..."]:
    """Uniform numbers in [0, 1); drawn as one row, which compiles several times faster than a matrix of them."""
    return jax.random.uniform(key, (math.prod(shape),), dtype).reshape(shape)


def _peaks(key: Key, function: int, x_opt: Float[Array, "d"], rotation: Float[Array, "d d"]) -> Peaks:
    """Peaks as in f21 and f22: one random place, condition and order of the axes for each."""
    dimension, dtype = len(x_opt), x_opt.dtype
    count, half_width, first_condition = (101, 5.0, 1e3**0.5) if function == 21 else (21, 4.9, 1e3)
    place_key, condition_key, axes_key = jax.random.split(key, 3)
    places = half_width * (2 * _uniform(place_key, (count, dimension), dtype) - 1)
    places = places.at[0].set(x_opt)
    conditions = 1e3 ** _order(condition_key, (count - 1,), dtype)
    conditions = jnp.append(jnp.asarray(first_condition, dtype), conditions)
    powers = _order(axes_key, (count, dimension), dtype) - 0.5
    heights = np.append(10.0, np.linspace(1.1, 9.1, count - 1)).astype(dtype)
    return peaks_around(places, conditions[:, None] ** powers, heights, rotation)


def _order(key: Key, shape: tuple[int, ...], dtype: Any) -> Float[Array, "..."]:
    """Rows of evenly spaced numbers from 0 to 1, each row in a random order."""
    return jnp.argsort(_uniform(key, shape, dtype), axis=-1).astype(dtype) / (shape[-1] - 1)

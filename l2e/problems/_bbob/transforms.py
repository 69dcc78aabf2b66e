"""The transformations from which the BBOB functions are built, cheap and with finite gradients.

Points are columns here, shape (d, n): a matrix acts from the left as in the papers, and the processor works on many
points at once. Trigonometric functions go through one polynomial, `versine`: its argument counts turns, so reducing
it is exact, and 1 - cos keeps its digits at the optimum, where the cosine has none left.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# sin(pi t) = t * sum_k c_k t**(2k); the first term left out is 1e-18 at the end |t| = 1/2 of the reduced range.
_SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(11))
# exp(x) = sum_k x**k / k!; the first term left out is 2e-17 at |x| = 0.098, the largest exponent of T_osz.
_EXPONENTIAL = tuple(1 / math.factorial(k) for k in range(10))


def versine(turns: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 - cos(2 pi turns), as 2 sin(pi turns)**2."""
    rest = turns - jnp.round(turns)
    square = rest * rest
    series = _polynomial(_SINE, square)
    return 2 * square * series * series


def sine(angle: Float[Array, "..."]) -> Float[Array, "..."]:
    """sin(angle) for angles of moderate size."""
    return 1 - versine(angle * (0.5 / math.pi) - 0.25)


def turns(angle: Float[Array, "..."]) -> Float[Array, "..."]:
    """A large angle in turns, without the whole ones; two subtractions, the first one exact, keep all its digits."""
    whole = jnp.round(angle * (0.5 / math.pi))
    return ((angle - whole * 6.28125) - whole * (2 * math.pi - 6.28125)) * (0.5 / math.pi)


class Oscillation(NamedTuple):
    """T_osz of some numbers: `logarithm` of their size, what the bumps add to it, and the factor this makes."""

    logarithm: Float[Array, "..."]
    bump: Float[Array, "..."]
    factor: Float[Array, "..."]


def oscillation(x: Float[Array, "..."], log: Callable[[Array], Array] = jnp.log) -> Oscillation:
    """The parts of T_osz, small bumps at every scale: `h = log|x|`, `0.049 (sin(c1 h) + sin(c2 h))`, and its exp."""
    positive = x > 0
    logarithm = log(jnp.where(x == 0, 1, jnp.abs(x)))
    fast = sine(jnp.where(positive, 10.0, 5.5) * logarithm)
    slow = sine(jnp.where(positive, 7.9, 3.1) * logarithm)
    bump = 0.049 * (fast + slow)
    return Oscillation(logarithm, bump, _polynomial(_EXPONENTIAL, bump))


def oscillate(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """T_osz: `sign(x) exp(h + 0.049 (sin(c1 h) + sin(c2 h)))` with `h = log|x|`."""
    return x * oscillation(x).factor


def skew(x: Float[Array, "d n"], strength: float) -> Float[Array, "d n"]:
    """T_asy: positive coordinates grow, `x_i ** (1 + strength (i-1)/(d-1) sqrt(x_i))`."""
    positive = jnp.where(x > 0, x, 1)
    exponent = (strength * ladder(x.shape[0])).astype(x.dtype)[:, None]
    return x * jnp.exp(exponent * jnp.sqrt(positive) * jnp.log(positive))


def penalty(x: Float[Array, "d n"]) -> Float[Array, "n"]:
    """f_pen: the squared distance of a point to the box [-5, 5]^d."""
    outside = jnp.maximum(jnp.abs(x) - 5, 0)
    return jnp.sum(outside * outside, axis=0)


def root(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The square root, with gradient 0 at 0."""
    positive = jnp.where(x > 0, x, 1)
    return jnp.where(x > 0, jnp.sqrt(positive), 0)


def power(x: Float[Array, "..."], exponent: float) -> Float[Array, "..."]:
    """x ** exponent for x >= 0 and a positive exponent, with gradient 0 at 0."""
    positive = jnp.where(x > 0, x, 1)
    return jnp.where(x > 0, jnp.exp(exponent * jnp.log(positive)), 0)


def linear(matrix: Float[Array, "d d"] | Float[Array, "d"] | None, x: Float[Array, "d n"]) -> Float[Array, "d n"]:
    """A linear map: a matrix, the diagonal of one, or None for the identity."""
    if matrix is None:
        return x
    return matrix[:, None] * x if matrix.ndim == 1 else matrix @ x


def ladder(dimension: int) -> Float[np.ndarray, "d"]:
    """(i-1)/(d-1) for i = 1..d: the exponents of all conditionings."""
    return np.arange(dimension) / (dimension - 1)


def _polynomial(coefficients: tuple[float, ...], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """sum_k c_k x**k by Horner's rule."""
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total

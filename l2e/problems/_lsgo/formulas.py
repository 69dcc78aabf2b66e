"""The base functions of CEC'2013 LSGO, along the last axis of any array of sub-vectors.

Numbers and symbols are those of Li, Tang, Omidvar, Yang, Qin (2013). Each function has the value 0 at z = 0 to the
last bit: differences from the optimum are formed without cancellation. Sums are matrix products with constant vectors
and triangles, which run at the speed of the memory where XLA's own reductions and scans add one number at a time.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.problems._bbob.transforms import ladder, oscillation, root, versine
from l2e.problems._lsgo.logarithm import logarithm

Vectors = Float[Array, "... s"]
Values = Float[Array, "..."]

SKEWNESS = 0.2
"""The beta of T_asy in all functions of the suite."""
STRIDE = 25
"""Long running sums are taken over pieces of this length, which divides every group size and 1000."""


def warp(x: Vectors) -> Vectors:
    """T_asy T_osz x with one logarithm: for u = T_osz(x) > 0, `u_i ** (1 + beta (i-1)/(s-1) sqrt(u_i))`, else u."""
    log, bump, factor = oscillation(x, logarithm)
    u, positive = x * factor, x > 0
    growth = jnp.sqrt(jnp.where(positive, u, 1)) * jnp.where(positive, log + bump, 0)
    return u * jnp.exp(_constant(SKEWNESS * ladder(x.shape[-1]), x) * growth)


def rugged(x: Vectors) -> Vectors:
    """Lambda^10 T_asy T_osz x, the argument of Rastrigin's and Ackley's functions."""
    return warp(x) * _constant(10 ** (0.5 * ladder(x.shape[-1])), x)


def sphere(x: Vectors) -> Values:
    """The sum of squares."""
    return (x * x) @ _constant(np.ones(x.shape[-1]), x)


def elliptic(x: Vectors) -> Values:
    """An ellipsoid of condition number 10^6 under T_osz."""
    z = x * oscillation(x, logarithm).factor
    return (z * z) @ _constant(1e6 ** ladder(x.shape[-1]), x)


def rastrigin(x: Vectors) -> Values:
    """Rastrigin's function of `rugged` coordinates."""
    z = rugged(x)
    return (z * z + 10 * versine(z)) @ _constant(np.ones(x.shape[-1]), x)


def ackley(x: Vectors) -> Values:
    """Ackley's function of `rugged` coordinates. XLA would compute these twice for two sums; as the two parts of one
    complex sum it does not."""
    z = rugged(x)
    mean = _constant(np.full(x.shape[-1], 1 / x.shape[-1]), x)
    means = jax.lax.complex(z * z, versine(z)) @ mean
    return -20 * jnp.expm1(-0.2 * root(means.real)) - np.e * jnp.expm1(-means.imag)


def schwefel(x: Vectors) -> Values:
    """Schwefel's problem 1.2, the squares of all running sums, of T_asy T_osz x."""
    return sphere(running_sums(warp(x)))


def rosenbrock(x: Vectors) -> Values:
    """Rosenbrock's function with its minimum moved to x = 0."""
    head, tail = x[..., :-1], x[..., 1:]
    valley = head * (head + 2) - tail
    return (100 * (valley * valley) + head * head) @ _constant(np.ones(x.shape[-1] - 1), x)


def running_sums(x: Vectors) -> Vectors:
    """x_1, x_1 + x_2, ...: within pieces of `STRIDE` by one triangle, plus the sum of all earlier pieces by another."""
    *batch, length = x.shape
    pieces = x.reshape(*batch, length // STRIDE, STRIDE)
    within = pieces @ _constant(np.triu(np.ones((STRIDE, STRIDE))), x)
    earlier = within[..., -1] @ _constant(np.triu(np.ones((length // STRIDE,) * 2), 1), x)
    return (within + earlier[..., None]).reshape(x.shape)


def _constant(values: np.ndarray, like: Array) -> Array:
    return jnp.asarray(values, like.dtype)


Formula = Callable[[Vectors], Values]
GROUPED: dict[int, Formula] = {
    **dict.fromkeys((4, 8), elliptic),
    **dict.fromkeys((5, 9), rastrigin),
    **dict.fromkeys((6, 10), ackley),
    **dict.fromkeys((7, 11, 13, 14), schwefel),
}
"""What is computed of each group of variables, for the functions that have groups."""
UNGROUPED: dict[int, Formula] = {
    **dict.fromkeys((1, 4), elliptic),
    **dict.fromkeys((2, 5), rastrigin),
    **dict.fromkeys((3, 6), ackley),
    7: sphere,
    12: rosenbrock,
    15: schwefel,
}
"""What is computed of the variables that belong to no group, for the functions that have any."""

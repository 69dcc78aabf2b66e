"""The 24 BBOB formulas, each a pure function of points (as columns) and the parameters of an instance.

Numbers and symbols are those of Hansen, Finck, Ros, Auger (2009), RR-6829; the separable and the rotated form of one
landscape are one function here, which differ in the linear maps they are given. All have the value 0 at `x_opt`.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.problems._bbob.parameters import Parameters
from l2e.problems._bbob.transforms import linear, oscillate, penalty, power, root, sine, skew, turns, versine

Columns = Float[Array, "d n"]
Values = Float[Array, "n"]

SCHWEFEL_PEAK = 4.2096874637
"""Where z sin(sqrt|z|) / 100 is largest in [-5, 5], in hundreds."""
LUNACEK_FUNNEL = 2.5
"""The centre of the better funnel of f24."""


def _centred(x: Columns, p: Parameters) -> Columns:
    return x - p.x_opt[:, None]


def _inner(x: Columns, p: Parameters) -> Columns:
    return linear(p.inner, _centred(x, p))


def _mirrored(x: Columns, p: Parameters) -> Columns:
    """2 sign(x_opt) (x - x_opt): the box is mirrored so that the optimum lies on the positive side."""
    return jnp.where(p.x_opt > 0, 2, -2)[:, None] * _centred(x, p)


def _weighted(z: Columns, p: Parameters) -> Values:
    return jnp.sum(p.weights[:, None] * (z * z), axis=0)


def sphere(x: Columns, p: Parameters) -> Values:
    """f1."""
    return jnp.sum(_centred(x, p) ** 2, axis=0)


def ellipsoid(x: Columns, p: Parameters) -> Values:
    """f2, f10 and, with one heavy weight, the discus f11."""
    return _weighted(oscillate(_inner(x, p)), p)


def rastrigin(x: Columns, p: Parameters) -> Values:
    """f3, f15."""
    z = linear(p.outer, skew(oscillate(_inner(x, p)), 0.2))
    return jnp.sum(10 * versine(z) + z * z, axis=0)


def bueche_rastrigin(x: Columns, p: Parameters) -> Values:
    """f4."""
    z = oscillate(_inner(x, p))
    stretch = np.where(np.arange(x.shape[0]) % 2 == 0, 10, 1).astype(x.dtype)[:, None]
    z = linear(p.outer, jnp.where(z > 0, stretch * z, z))
    return jnp.sum(10 * versine(z) + z * z, axis=0) + 100 * penalty(x)


def linear_slope(x: Columns, p: Parameters) -> Values:
    """f5: flat beyond the corner `x_opt`."""
    below = 5 - jnp.where(p.x_opt > 0, 1, -1)[:, None] * x
    return jnp.sum(p.weights[:, None] * jnp.maximum(below, 0), axis=0)


def attractive_sector(x: Columns, p: Parameters) -> Values:
    """f6."""
    z = _inner(x, p)
    z = jnp.where(z * p.x_opt[:, None] > 0, 100 * z, z)
    return power(oscillate(jnp.sum(z * z, axis=0)), 0.9)


def step_ellipsoid(x: Columns, p: Parameters) -> Values:
    """f7: plateaus, so its gradient is zero almost everywhere in the box."""
    z = _inner(x, p)
    steps = jnp.where(jnp.abs(z) > 0.5, jnp.floor(0.5 + z), jnp.floor(0.5 + 10 * z) / 10)
    return 0.1 * jnp.maximum(jnp.abs(z[0]) * 1e-4, _weighted(linear(p.outer, steps), p)) + penalty(x)


def rosenbrock(x: Columns, p: Parameters) -> Values:
    """f8, f9."""
    return jnp.sum(_rosenbrock_terms(_inner(x, p)), axis=0)


def _rosenbrock_terms(y: Columns) -> Columns:
    """100 (z_i^2 - z_{i+1})^2 + (z_i - 1)^2, written in y = z - 1 to keep the digits around the optimum."""
    valley = y[:-1] * (y[:-1] + 2) - y[1:]
    return 100 * valley * valley + y[:-1] * y[:-1]


def bent_cigar(x: Columns, p: Parameters) -> Values:
    """f12."""
    return _weighted(linear(p.outer, skew(_inner(x, p), 0.5)), p)


def sharp_ridge(x: Columns, p: Parameters) -> Values:
    """f13, in COCO's form for every dimension; ioh widens the ridge above 40 dimensions."""
    z = _inner(x, p)
    return z[0] * z[0] + 100 * root(jnp.sum(z[1:] * z[1:], axis=0))


def different_powers(x: Columns, p: Parameters) -> Values:
    """f14: the weights are the exponents, 2 to 6."""
    z = _inner(x, p)
    logarithm = jnp.log(jnp.where(z == 0, 1, jnp.abs(z)))
    return root(jnp.sum(z * z * jnp.exp((p.weights - 2)[:, None] * logarithm), axis=0))


def weierstrass(x: Columns, p: Parameters) -> Values:
    """f16: sum_k 2^-k (1 - cos(2 pi 3^k z)), k = 0..11.

    The triple-angle formula takes v = 1 - cos(t) to 1 - cos(3t) = v (3 - 2v)^2. It can magnify rounding ninefold, so
    every fourth term is computed afresh.
    """
    z = linear(p.outer, oscillate(_inner(x, p)))
    total, wave = jnp.zeros_like(z), jnp.zeros_like(z)
    for k in range(12):
        wave = versine(3.0**k * z) if k % 4 == 0 else wave * (3 - 2 * wave) ** 2
        total = total + 0.5**k * wave
    return 10 * jnp.mean(total, axis=0) ** 3 + 10 / x.shape[0] * penalty(x)


def schaffers(x: Columns, p: Parameters) -> Values:
    """f17, f18: mean of sqrt(s) (1 + sin(50 s^0.2)^2), squared, with s^2 = z_i^2 + z_{i+1}^2."""
    z = linear(p.outer, skew(_inner(x, p), 0.5))
    squares = z[:-1] * z[:-1] + z[1:] * z[1:]
    wave = versine(50 / np.pi * power(squares, 0.1))
    return jnp.mean(root(root(squares)) * (1 + 0.5 * wave), axis=0) ** 2 + 10 * penalty(x)


def griewank_rosenbrock(x: Columns, p: Parameters) -> Values:
    """f19: the cosine of numbers up to millions, so rounding shows here first."""
    terms = _rosenbrock_terms(_inner(x, p))
    return 10 * jnp.mean(terms / 4000 + versine(turns(terms)), axis=0)


def schwefel(x: Columns, p: Parameters) -> Values:
    """f20: its penalty acts on z, so also inside the box."""
    y = _mirrored(x, p)
    y = jnp.concatenate([y[:1], y[1:] + 0.25 * y[:-1]])
    z = linear(p.outer, y) + SCHWEFEL_PEAK
    return 4.189828872724339 - jnp.mean(z * sine(10 * root(jnp.abs(z))), axis=0) + 100 * penalty(z)


def gallagher(x: Columns, p: Parameters) -> Values:
    """f21, f22: T_osz(10 - max_i w_i exp(-q_i))^2, q_i a quadratic form around peak i.

    The maximum is taken of log w_i - q_i, so one exponential is enough; the forms, expanded around the optimum, are
    two matrix products, and lose no digits there.
    """
    assert p.peaks is not None, "f21 and f22 have peaks"
    y = _inner(x, p)
    curvatures = p.peaks.curvatures * (0.5 / x.shape[0])
    pulled = curvatures * p.peaks.offsets
    constants = jnp.log(p.peaks.heights / 10) - jnp.sum(pulled * p.peaks.offsets, axis=1)
    exponents = constants[:, None] - curvatures @ (y * y) + (2 * pulled) @ y
    return oscillate(-10 * jnp.expm1(jnp.max(exponents, axis=0))) ** 2 + penalty(x)


def katsuura(x: Columns, p: Parameters) -> Values:
    """f23: prod_i (1 + i sum_j |2^j z - round(2^j z)| 2^-j)^(10 / d^1.2), j = 1..32.

    With t_j the j-th distance times 2^-j, t_{j+1} = min(t_j, 2^-(j+1) - t_j): the tent map, exact in binary numbers.
    """
    z = _inner(x, p)
    dimension = x.shape[0]
    distance = jnp.abs(z - 0.5 * jnp.round(2 * z))
    total = distance
    for j in range(2, 33):
        distance = jnp.minimum(distance, 0.5**j - distance)
        total = total + distance
    logarithms = jnp.log1p(np.arange(1, dimension + 1).astype(x.dtype)[:, None] * total)
    growth = jnp.expm1(10 / dimension**1.2 * jnp.sum(logarithms, axis=0))
    return 10 / dimension**2 * growth + penalty(x)


def lunacek(x: Columns, p: Parameters) -> Values:
    """f24: two funnels under a Rastrigin wave."""
    dimension = x.shape[0]
    y = _mirrored(x, p)
    size = 1 - 0.5 / (np.sqrt(dimension + 20) - 4.1)
    second = -float(np.sqrt((LUNACEK_FUNNEL**2 - 1) / size))
    better = jnp.sum(y * y, axis=0)
    wider = dimension + float(size) * jnp.sum((y + (LUNACEK_FUNNEL - second)) ** 2, axis=0)
    wave = 10 * jnp.sum(versine(linear(p.inner, y)), axis=0)
    return jnp.minimum(better, wider) + wave + 1e4 * penalty(x)


FORMULAS: tuple[Callable[[Columns, Parameters], Values], ...] = (
    *(sphere, ellipsoid, rastrigin, bueche_rastrigin, linear_slope),
    *(attractive_sector, step_ellipsoid, rosenbrock, rosenbrock),
    *(ellipsoid, ellipsoid, bent_cigar, sharp_ridge, different_powers),
    *(rastrigin, weierstrass, schaffers, schaffers, griewank_rosenbrock),
    *(schwefel, gallagher, gallagher, katsuura, lunacek),
)
"""The formula of f1, f2, ..., f24."""

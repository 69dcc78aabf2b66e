"""What an instance of a BBOB function is made of, and how a shift and two rotations become it."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from l2e.problems._bbob.transforms import ladder

PEAKED = (21, 22)
"""The functions that have peaks."""


class Peaks(eqx.Module):
    """The peaks of f21 and f22, seen from the optimum, which is the first of them.

    **Fields:** `offsets`: R (place of the peak - x_opt), so the first row is zero; `curvatures`: the diagonal of each
    peak's quadratic form; `heights`: 10 for the first, less for the others.
    """

    offsets: Float[Array, "p d"]
    curvatures: Float[Array, "p d"]
    heights: Float[Array, "p"]


class Parameters(eqx.Module):
    """The arrays of one instance; all instances of a function and dimension have the same structure.

    **Fields:** `x_opt`, `f_opt`: the optimum; `inner`, `outer`: the linear maps before and after the non-linear
    transformations, each a matrix, a diagonal or None for the identity; `weights`: weights, slopes or exponents of
    the coordinates, ones where a formula has none; `peaks`: those of f21 and f22.
    """

    x_opt: Float[Array, "d"]
    f_opt: Float[Array, ""]
    inner: Float[Array, "d d"] | Float[Array, "d"] | None
    outer: Float[Array, "d d"] | Float[Array, "d"] | None
    weights: Float[Array, "d"]
    peaks: Peaks | None


def parameters(
    function: int,
    optimum: tuple[Any, Any],
    rotations: tuple[Any, Any],
    peaks: Peaks | None = None,
    hardness: Any = 1.0,
    rotated: bool = False,
) -> Parameters:
    """Put an instance together, from numpy arrays or from traced ones.

    **Arguments:**

    - `function`: 1 to 24.
    - `optimum`: the pair x_opt, f_opt.
    - `rotations`: the matrices R and Q of the definitions.
    - `peaks`: for f21 and f22.
    - `hardness`: all condition numbers are raised to this power; 1 is BBOB.
    - `rotated`: apply R also in f2, f3 and f4, which are separable in BBOB.
    """
    first, second = rotations
    rungs = ladder(first.shape[0]).astype(first.dtype)
    inner, outer = _linear_maps(function, first, second, hardness, rotated)
    return Parameters(*optimum, inner, outer, _weights(function, rungs, hardness), peaks)


def peaks_around(places: Any, curvatures: Any, heights: Any, rotation: Any) -> Peaks:
    """Peaks at places of the box, the first one being the optimum."""
    return Peaks((places - places[0]) @ rotation.T, curvatures, heights)


def stretch(dimension: int) -> float:
    """The scale of the Rosenbrock functions f8, f9 and f19: max(1, sqrt(d)/8)."""
    return max(1.0, math.sqrt(dimension) / 8)


def _linear_maps(function: int, r: Any, q: Any, hardness: Any, rotated: bool) -> tuple[Any, Any]:
    """The maps before and after the non-linear transformations, with R and Q as in the definitions."""
    dimension = r.shape[0]
    rungs = ladder(dimension).astype(r.dtype)

    def conditioning(condition: float) -> Any:  # the diagonal of Lambda^condition
        return condition ** (0.5 * hardness * rungs)

    match function:
        case 1 | 5:
            return None, None
        case 2:
            return (r if rotated else None), None
        case 3 | 4:
            return (r if rotated else None), conditioning(10)
        case 6 | 13:
            return (q * conditioning(10)) @ r, None
        case 7:
            return conditioning(10)[:, None] * r, q
        case 8:
            return stretch(dimension) * np.ones(dimension, r.dtype), None
        case 9 | 19:
            return stretch(dimension) * r, None
        case 12:
            return r, r
        case 15:
            return r, (r * conditioning(10)) @ q
        case 16:
            return r, (r * conditioning(0.01)) @ q
        case 17:
            return r, conditioning(10)[:, None] * q
        case 18:
            return r, conditioning(1000)[:, None] * q
        case 20:
            return None, conditioning(10)
        case 23 | 24:
            return (q * conditioning(100)) @ r, None
        case _:
            return r, None


def _weights(function: int, rungs: Any, hardness: Any) -> Any:
    """The weights of the squares; for f5 the slopes, for f14 the exponents."""
    first = (np.arange(len(rungs)) == 0).astype(rungs.dtype)
    match function:
        case 2 | 10:
            return 1e6 ** (hardness * rungs)
        case 5:
            return 10 ** (hardness * rungs)
        case 7:
            return 100 ** (hardness * rungs)
        case 11:
            return 1 + (1e6**hardness - 1) * first
        case 12:
            return 1 + (1e6**hardness - 1) * (1 - first)
        case 14:
            return 2 + 4 * hardness * rungs
        case _:
            return np.ones_like(rungs)

"""The box in which a search happens."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

from l2e._types import Key, Point, Points


class Box(eqx.Module):
    """An axis-aligned box `lower <= x <= upper` with finite, ordered bounds.

    Optimizers work in its unit cube, so an affine change of the bounds does not change a run. The dtype of the bounds
    is the dtype of everything computed in the box.
    """

    lower: Point
    upper: Point

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.lower.shape[-1]

    @property
    def width(self) -> Point:
        """Upper minus lower bound."""
        return self.upper - self.lower

    def to_unit(self, points: Points) -> Points:
        """Map the box onto the unit cube."""
        return (points - self.lower) / self.width

    def from_unit(self, points: Points) -> Points:
        """Map the unit cube onto the box; rounding never leaves the box."""
        return self.clip(self.lower + points * self.width)

    def clip(self, points: Points) -> Points:
        """The nearest point of the box, coordinate by coordinate."""
        return jnp.clip(points, self.lower, self.upper)

    def sample(self, key: Key, n: int) -> Points:
        """Draw n points uniformly."""
        flat = jax.random.uniform(key, (n * self.dimension,), self.lower.dtype)  # flat draws compile much faster
        return self.from_unit(flat.reshape(n, self.dimension))


def reflect(unit: Points) -> Points:
    """Mirror points at the faces of the unit cube until they are inside (a triangle wave)."""
    return 1 - jnp.abs(1 - jnp.mod(unit, 2))


def box(bounds: Any, dtype: Any = np.float64) -> Box:
    """Check bounds as people write them and make a `Box`.

    **Arguments:** `bounds`: a list of `(low, high)` pairs, an array of shape (d, 2), a `scipy.optimize.Bounds`, or
    a `Box`.

    **Raises:** `ValueError` naming the first coordinate whose bounds are reversed, equal, infinite or NaN.
    """
    if isinstance(bounds, Box):
        lower, upper = np.asarray(bounds.lower), np.asarray(bounds.upper)
    elif isinstance(bounds, scipy.optimize.Bounds):
        lower, upper = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        if lower.ndim != 1:
            raise ValueError(f"bounds must be vectors of one number per coordinate, got shape {lower.shape}")
    else:
        lower, upper = _from_pairs(bounds)
    lower, upper = lower.astype(dtype), upper.astype(dtype)
    _check(lower, upper)
    return Box(_inward(lower, 1), _inward(upper, -1))  # type: ignore[arg-type]  # numpy leaves: no device is touched until first use


def _from_pairs(bounds: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds must be a list of (low, high) numbers, an array of shape (d, 2) or a scipy Bounds: {error}"
        ) from error
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.shape[0] == 0:
        raise ValueError(f"bounds must hold one (low, high) pair per coordinate, shape (d, 2); got shape {pairs.shape}")
    return pairs[:, 0], pairs[:, 1]


def _inward(ends: np.ndarray, direction: int) -> np.ndarray:
    """Subnormal ends moved to the next number inside the box that compiled code can hold (it flushes them to 0)."""
    tiny = np.finfo(ends.dtype).tiny
    subnormal = (np.abs(ends) < tiny) & (ends != 0)
    return np.where(subnormal, np.where(np.sign(ends) == direction, direction * tiny, 0.0), ends).astype(ends.dtype)


def _check(lower: np.ndarray, upper: np.ndarray) -> None:
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"bounds[{i}] = ({low}, {high}): both ends must be finite numbers")
        if not low < high:
            raise ValueError(f"bounds[{i}] = ({low}, {high}): the lower end must be below the upper end")
        if float(high) - float(low) == float("inf"):
            raise ValueError(f"bounds[{i}] = ({low}, {high}): the width overflows")
        if float(high) - float(low) < 4 * np.finfo(lower.dtype).tiny:
            raise ValueError(f"bounds[{i}] = ({low}, {high}): the width is too small to be computed with")

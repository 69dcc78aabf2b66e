"""The box in which a search happens."""

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Box:
    """An axis-aligned box `lower <= x <= upper` with finite, ordered bounds.

    Methods search its unit cube, so an affine change of the bounds does not change a run. The bounds are numpy arrays,
    or JAX arrays inside compiled code, and everything here works with both.
    """

    lower: Any
    upper: Any

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.lower.shape[-1]

    @property
    def width(self) -> Any:
        """Upper minus lower bound."""
        return self.upper - self.lower

    def to_unit(self, points: Any) -> Any:
        """Map the box onto the unit cube."""
        return (points - self.lower) / self.width

    def from_unit(self, points: Any) -> Any:
        """Map the unit cube onto the box; rounding never leaves the box."""
        return self.clip(self.lower + points * self.width)

    def clip(self, points: Any) -> Any:
        """The nearest point of the box, coordinate by coordinate."""
        return points.clip(self.lower, self.upper)


def box(bounds: Any, dtype: Any = np.float64) -> Box:
    """Check bounds as people write them and make a `Box`.

    **Arguments:** `bounds`: a list of `(low, high)` pairs, an array of shape (d, 2), a `scipy.optimize.Bounds`, or
    a `Box`.

    **Raises:** `ValueError` naming the first coordinate whose bounds are reversed, equal, infinite or NaN.
    """
    lower, upper = (ends.astype(dtype) for ends in ends_of(bounds))
    _check(lower, upper)
    return Box(_inward(lower, 1), _inward(upper, -1))


def ends_of(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of bounds as people write them, of which nothing is checked but their shape."""
    if isinstance(bounds, Box):
        return np.asarray(bounds.lower), np.asarray(bounds.upper)
    if not _is_scipys(bounds):
        return _from_pairs(bounds)
    lower, upper = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
    if lower.ndim != 1:
        raise ValueError(f"bounds must be vectors of one number per coordinate, got shape {lower.shape}")
    return lower, upper


def _is_scipys(bounds: Any) -> bool:
    """Whether these are scipy's `Bounds`, without importing scipy.optimize, which takes longer than all of this."""
    optimize = sys.modules.get("scipy.optimize")
    return optimize is not None and isinstance(bounds, optimize.Bounds)


def _from_pairs(bounds: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    try:
        _check_real(bounds)
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds must be a list of (low, high) numbers, an array of shape (d, 2) or a scipy Bounds: {error}"
        ) from error
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.shape[0] == 0:
        raise ValueError(f"bounds must hold one (low, high) pair per coordinate, shape (d, 2); got shape {pairs.shape}")
    return pairs[:, 0], pairs[:, 1]


def _check_real(bounds: Any) -> None:
    """Refuse what numpy would turn into numbers that nobody meant."""
    if isinstance(bounds, np.ma.MaskedArray) and np.ma.getmaskarray(bounds).any():
        raise TypeError("some bounds are masked")
    kind = np.asarray(bounds).dtype.kind
    if kind in "cmMSU":
        raise TypeError({"c": "complex numbers", "S": "text", "U": "text"}.get(kind, "dates") + " are no bounds")


def _inward(ends: np.ndarray, direction: int) -> np.ndarray:
    """Subnormal ends moved to the next number inside the box that compiled code can hold (it flushes them to 0)."""
    tiny = np.finfo(ends.dtype).tiny
    subnormal = (np.abs(ends) < tiny) & (ends != 0)
    return np.where(subnormal, np.where(np.sign(ends) == direction, direction * tiny, 0.0), ends).astype(ends.dtype)


def _check(lower: np.ndarray, upper: np.ndarray) -> None:
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(
                f"bounds[{i}] = ({low}, {high}): both ends must be finite numbers; a coordinate without bounds is "
                "Unbounded(around, scale) in an l2e.Space"
            )
        if not low < high:
            raise ValueError(f"bounds[{i}] = ({low}, {high}): the lower end must be below the upper end")
        if float(high) - float(low) == float("inf"):
            raise ValueError(f"bounds[{i}] = ({low}, {high}): the width overflows")
        if float(high) - float(low) < 4 * np.finfo(lower.dtype).tiny:
            raise ValueError(f"bounds[{i}] = ({low}, {high}): the width is too small to be computed with")

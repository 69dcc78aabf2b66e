"""Between a user's parameters and the points of the box that a method searches.

Plain boxes need no view: their points are what the user sees.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from l2e.core.box import Box, ends_of
from l2e.core.parameters import Fixed, Float, Int, same
from l2e.core.space import Space

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


class View:
    """What a user calls a point, for one space.

    **Arguments:** `space`: the parameters.
    """

    def __init__(self, space: Space):
        self.space = space

    @property
    def box(self) -> Box:
        """What is searched."""
        return self.space.box

    def show(self, point: np.ndarray) -> Any:
        """What the user's function is given for a point of the box."""
        return self.space.params(point)

    def vector(self, point: np.ndarray) -> np.ndarray:
        """What results show as `x`."""
        return self.space.vector(point)

    def point(self, given: Any) -> np.ndarray:
        """The point of the box for what a user calls a point."""
        return self.space.point(given)

    def points(self, given: Any) -> np.ndarray:
        """The points (n, d) of the box for a list of what a user calls points."""
        return np.asarray([self.point(one) for one in given]).reshape(-1, self.box.dimension)

    def asked(self, batch: np.ndarray, given: Any) -> np.ndarray:
        """The points that were asked for, as they are given back; others are translated."""
        left = [(self.show(point), point) for point in batch]
        points = []
        for one in given:
            row = next((i for i, (shown, _) in enumerate(left) if same(shown, one)), None)
            points.append(self.point(one) if row is None else left.pop(row)[1])
        return np.asarray(points).reshape(-1, self.box.dimension)

    def start(self, x0: Any) -> Any:
        """`x0` as points of the box: one, or a list of several."""
        if x0 is None:
            return None
        if isinstance(x0, Mapping) or (np.ndim(x0) == 1 and not isinstance(x0[0], Mapping)):
            return self.point(x0)
        return self.points(x0)

    def function(self, fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool) -> Callable[[Any], Any]:
        """The user's function as a function of points of the box."""
        return InTerms(self, fun, args, vectorized, self.by_names(fun, args))

    def batch(self, points: np.ndarray) -> Any:
        """What a vectorised function is given."""
        return [self.show(point) for point in points]

    def by_names(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        """Whether the user's function takes the parameters by their names; else it is given the dictionary."""
        return not args and _takes(fun, **self.show(np.asarray(self.box.lower)))

    def callback(self, callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """The user's callback, told of points in the user's terms."""
        return None if callback is None else lambda seen: callback(self.result(seen))

    def result(self, result: "OptimizeResult") -> "OptimizeResult":
        """A result in the user's terms."""
        best = result.x
        result.x = None if best is None else self.vector(best)
        if not isinstance(self, VectorView):
            result.params = None if best is None else self.space.params(best)
        if result.get("noise") is not None:
            result.noise = result.noise._replace(x=self.vector(result.noise.x))
        if "failures" in result:
            result.failures = [one._replace(x=self.vector(one.x)) for one in result.failures]
        if "points" in result:
            result.points = self.batch(result.points)
        if "evaluations" in result:
            result.evaluations = result.evaluations.in_terms(self.vector, self.space.params)
        return result


class VectorView(View):
    """Bounds with integers or fixed coordinates: the user sees vectors of all coordinates."""

    def show(self, point: np.ndarray) -> np.ndarray:
        return np.asarray(list(self.space.params(point).values()), dtype=np.float64)

    def vector(self, point: np.ndarray) -> np.ndarray:
        return self.show(point)

    def point(self, given: Any) -> np.ndarray:
        numbers = np.asarray(given, dtype=np.float64)
        names = list(self.space.parameters)
        if numbers.shape != (len(names),):
            raise ValueError(f"x0 must have shape ({len(names)},), got {numbers.shape}")
        return self.space.point(dict(zip(names, numbers.tolist(), strict=True)))

    def batch(self, points: np.ndarray) -> np.ndarray:
        return np.asarray([self.show(point) for point in points])

    def by_names(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> bool:
        return False


@dataclasses.dataclass(frozen=True)
class InTerms:
    """A user's function as a function of points of the box; unlike a lambda, it can be sent to another process."""

    view: View
    fun: Callable[..., Any]
    args: tuple[Any, ...]
    vectorized: bool
    by_names: bool

    def __call__(self, points: np.ndarray) -> Any:
        if self.vectorized:
            return self.fun(self.view.batch(points), *self.args)
        shown = self.view.show(points)
        return self.fun(**shown) if self.by_names else self.fun(shown, *self.args)


def view_of(bounds: Any, integrality: Any = None) -> View | None:
    """How a user sees the points of these bounds; None where they are the points that are searched.

    **Arguments:** `bounds`: a `Space`, a mapping of parameters, or bounds as of `box`, where equal ends are a fixed
    coordinate; `integrality`: which coordinates are whole numbers, one flag each or one for all, as in scipy.
    """
    if isinstance(bounds, Mapping):
        bounds = Space(bounds)
    if isinstance(bounds, Space):
        if integrality is not None:
            raise ValueError("integrality goes with bounds; in a space, integers are Int(low, high)")
        return View(bounds)
    if integrality is None and isinstance(bounds, Box):
        return None
    lower, upper = ends_of(bounds)
    whole = _flags(integrality, len(lower))
    if not (whole.any() or (lower == upper).any()):
        return None
    names = [f"x[{i}]" for i in range(len(lower))]
    each = [_coordinate(low, high, flag) for low, high, flag in zip(lower.tolist(), upper.tolist(), whole, strict=True)]
    return VectorView(Space(dict(zip(names, each, strict=True))))


def _coordinate(low: float, high: float, whole: bool) -> Any:
    if not whole or not (np.isfinite(low) and np.isfinite(high)):
        return Fixed(low) if low == high else Float(low, high)
    first, last = int(np.ceil(low)), int(np.floor(high))
    if first > last:
        raise ValueError(f"there is no whole number between {low} and {high}")
    return Fixed(first) if first == last else Int(first, last)


def _flags(integrality: Any, dimension: int) -> np.ndarray:
    if integrality is None:
        return np.zeros(dimension, dtype=bool)
    flags = np.asarray(integrality)
    if flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise ValueError(f"integrality must hold True or False for each coordinate, got {integrality!r}")
    if flags.shape not in ((), (1,), (dimension,)):
        raise ValueError(f"integrality must have one flag for each of {dimension} coordinates, got shape {flags.shape}")
    return np.broadcast_to(flags.astype(bool), (dimension,))


def _takes(fun: Callable[..., Any], **params: Any) -> bool:
    """Whether a function can be called with these names."""
    try:
        inspect.signature(fun).bind(**params)
    except (TypeError, ValueError):
        return False
    return True

"""What `minimize` and `Optimizer` are told, checked at the door."""

import contextlib
import dataclasses
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from l2e.api import catalog
from l2e.api.catalog import Searcher
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box, box
from l2e.core.constraints import ConstrainedBox
from l2e.core.ending import Ending
from l2e.core.errors import unknown
from l2e.core.evaluator import Evaluator
from l2e.core.fingerprint import fingerprint
from l2e.core.keys import as_key, draw_bits, fold_in
from l2e.core.lattice import MixedBox, kinds
from l2e.core.program import AbstractProgram, ProgramSearch
from l2e.core.search import AbstractSearch, Known, run

if TYPE_CHECKING:
    from l2e.portfolio.noisy import Statistic


@dataclass(frozen=True)
class Setup:
    """A search ready to begin."""

    space: Box
    method: str
    searcher: Searcher
    budget: int
    """What the method is told; the meter may have another limit."""
    key: np.ndarray
    start: np.ndarray | None
    population_size: int | None
    known: Known | None = None
    """Evaluations made elsewhere."""
    workers: int = 1
    """How many points are evaluated at once."""
    noisy: "bool | Statistic | None" = None
    """What is known of noise; None if nothing is."""
    open_ended: bool = False
    """No budget was given: `budget` is where the search ends at the latest."""

    def search(self) -> AbstractSearch | None:
        """What runs the method batch by batch, or None if it runs a loop of its own."""
        if "jax" in sys.modules:
            from l2e.core.traced.runtime import refuse_tracing

            refuse_tracing()
        if isinstance(self.searcher, AbstractProgram):
            return ProgramSearch(self.searcher, self.space, self.seed, self.budget, self.start, self.known)
        if isinstance(self.searcher, AbstractAdapter):
            return None
        from l2e.core.traced.search import AlgorithmSearch

        return AlgorithmSearch(self.searcher, self._plain, self.key, self.start)

    def run(self, evaluate: Evaluator, search: AbstractSearch | None = None) -> str:
        """Run the method until it ends by itself, and say why; `StopSearch` of the evaluator comes through.

        **Arguments:** `evaluate`: the metered function; `search`: the search to run, made afresh if not given.
        """
        search = search or self.search()
        if search is not None:
            return run(search, evaluate)
        assert isinstance(self.searcher, AbstractAdapter)
        return self.searcher.run(evaluate, self._plain, self.seed, self.start)

    @property
    def _plain(self) -> Box:
        """The box without what is known of its coordinates, for methods that know none but continuous ones."""
        return Box(self.space.lower, self.space.upper) if isinstance(self.space, MixedBox) else self.space

    def for_noise(self, noisy: Any) -> "Setup":
        """The same search told what is known of noise.

        **Arguments:** `noisy`: whether values are uncertain, "median" or "mean" if they are and points are to be
        compared by that; None: the default method notices.
        """
        if noisy is not None and not isinstance(noisy, bool | np.bool_) and noisy not in STATISTICS:
            raise unknown("noisy", noisy, ("None", "True", "False", *STATISTICS))
        noisy = bool(noisy) if isinstance(noisy, np.bool_) else noisy
        return dataclasses.replace(
            self, noisy=noisy, searcher=_for_noise(self.searcher, self.space, noisy, self.budget)
        )

    def continued(self, start: np.ndarray | None, budget: int, used: int) -> "Setup":
        """Another search of the same method that goes on from a point, after so many evaluations."""
        method = self.searcher
        if isinstance(self.method, str) and catalog.is_name(self.method):
            method = _built(self.method, self.space.dimension, budget, self.population_size, self.workers)
            method = _without_budget(method) if self.open_ended else method
            method = _for_noise(method, self.space, self.noisy, budget)
        return dataclasses.replace(self, searcher=method, start=start, budget=budget, key=fold_in(self.key, used))

    @property
    def settings(self) -> dict[str, Any]:
        """What makes two searches the same; plain JSON. The budget that was told is not among it: it may be raised."""
        bounds = np.stack([np.asarray(self.space.lower), np.asarray(self.space.upper)], axis=1)
        mixed = kinds(self.space)
        return {
            "method": self.method,
            "bounds": bounds.tolist(),
            "key": self.key.tolist(),
            "x0": None if self.start is None else self.start.tolist(),
            "population_size": self.population_size,
            "searcher": fingerprint(self.searcher),
            **({"workers": self.workers} if self.workers > 1 else {}),
            **({} if self.noisy is None else {"noisy": self.noisy}),
            **({} if mixed is None else {"kinds": mixed}),
            **_returned(self.space),
            **({} if self.known is None else {"known": _digest(self.known)}),
        }

    @property
    def seed(self) -> int:
        """An integer seed for methods that want one, drawn from the key."""
        return draw_bits(self.key) >> 1


def prepare(
    bounds: Any,
    method: Any,
    budget: Any,
    x0: Any = None,
    rng: Any = None,
    population_size: Any = None,
    known: Known | None = None,
    workers: int = 1,
) -> Setup:
    """Check everything a search is told; errors say what was given and what is allowed."""
    space = bounds if isinstance(bounds, MixedBox | ConstrainedBox) else box(bounds)
    evaluations = default_budget(space.dimension) if budget is None else whole_number("budget", budget)
    size = None if population_size is None else whole_number("population_size", population_size)
    name, searcher = _searcher(method, space.dimension, evaluations, size, workers)
    searcher = _without_budget(searcher) if budget is None else searcher
    start = _start(x0, space)
    if known is not None:
        check_inside("known point", known.points, space)
    if not isinstance(searcher, AbstractProgram):
        if isinstance(space, ConstrainedBox):
            raise ValueError(f"constraints are for the default method; {name!r} has none")
        if start is not None and start.ndim == 2:
            raise ValueError(f"several x0 are for the default method; {name!r} begins at one")
        if start is None and known is not None:
            start = known.points[int(np.argmin(known.values))]
    return Setup(
        space, name, searcher, evaluations, as_key(rng), start, size, known, workers, open_ended=budget is None
    )


def known_points(given: Any, translate: Callable[[Any], np.ndarray] | None = None) -> Known | None:
    """Evaluations `(X, y)` that a user has already, as points of the box; those without a finite value are left out.

    **Arguments:** `translate`: from what the user calls points to points of the box.
    """
    if given is None:
        return None
    try:
        points, values = given
    except (TypeError, ValueError) as error:
        raise ValueError("known must be a pair (X, y): points and their values") from error
    points = np.asarray(points, dtype=np.float64) if translate is None else translate(points)
    values = np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)
    if points.ndim != 2 or len(points) != len(values):
        raise ValueError(f"known must hold points (n, d) and n values, got shapes {points.shape} and {values.shape}")
    finite = np.isfinite(values)
    return Known(points[finite], values[finite]) if finite.any() else None


def _returned(space: Box) -> dict[str, Any]:
    """How many constraints come with the values of a search, as inequalities and equations."""
    if not isinstance(space, ConstrainedBox) or space.constraints.cheap:
        return {}
    equations = int(space.constraints.equal.sum())
    return {"returns": [len(space.constraints.equal) - equations, equations]}


def _digest(known: Known) -> str:
    return hashlib.sha256(known.points.tobytes() + known.values.tobytes()).hexdigest()


def default_budget(dimension: int) -> int:
    """What a search that was given no budget has at most; methods other than the default one plan with it."""
    return max(PLANNED, PLANNED_PER_DIMENSION * dimension)


def ending_of(dimension: int, budget: Any, tol: Any, patience: Any) -> Ending | None:
    """When a search ends before its budget; None if it does not."""
    if budget is not None and tol is None and patience is None:
        return None
    tolerance = target_value(tol, "tol")
    if tolerance is not None and not 0 <= tolerance < np.inf:
        raise ValueError(f"tol must be a finite number from 0 on, got {tol}")
    return Ending(dimension, tolerance, None if patience is None else whole_number("patience", patience))


def _searcher(method: Any, dimension: int, budget: int, size: int | None, workers: int) -> tuple[str, Searcher]:
    if is_method(method):
        if size is not None:
            raise ValueError("population_size goes with a method's name; an algorithm object has its own")
        return type(method).__name__, _told_workers(method, workers)
    if not isinstance(method, str):
        raise TypeError(f"method must be a name or an algorithm object, got {type(method).__name__}")
    return method, _built(method, dimension, budget, size, workers)


def _built(name: str, dimension: int, budget: int, size: int | None, workers: int) -> Searcher:
    """A method by its name; with several workers its own population size becomes a multiple of their number."""
    method = catalog.method(name)
    searcher = method.build(dimension, budget, size)
    own, usual = getattr(searcher, "population_size", None), getattr(searcher, "default_population", None)
    own = usual(dimension) if own is None and usual is not None else own
    if workers > 1 and size is None and isinstance(own, int) and own % workers:
        with contextlib.suppress(ValueError):  # a method whose size is fixed keeps it
            searcher = method.build(dimension, budget, -(-own // workers) * workers)
    if workers > 1 and dataclasses.is_dataclass(searcher) and hasattr(searcher, "multiple"):
        searcher = dataclasses.replace(searcher, multiple=workers)  # its population shrinks
    return _told_workers(searcher, workers)


def _without_budget(searcher: Searcher) -> Searcher:
    """The default method plans otherwise if nobody says how much it has."""
    from l2e.portfolio.method import Portfolio

    return dataclasses.replace(searcher, open_ended=True) if isinstance(searcher, Portfolio) else searcher


def _for_noise(searcher: Searcher, space: Box, noisy: "bool | Statistic | None", budget: int) -> Searcher:
    """A method that copes with noise, or notices it, where there is one.

    A model of a family that is refused leaves the default, which notices; one that is used was measured without.
    """
    from l2e.portfolio.method import Portfolio
    from l2e.portfolio.transfer.method import Transfer

    if noisy is False:
        return searcher
    default = searcher if isinstance(searcher, Portfolio | Transfer) else None
    plain = not isinstance(space, ConstrainedBox)
    if noisy is not None:
        from l2e.portfolio.noisy import Noisy

        if default is None or not plain:
            raise ValueError(f"noisy={noisy!r} is for the default method, without constraints")
        return Noisy(default, "median" if noisy is True else noisy)
    from l2e.portfolio.watchful import Watchful, notices

    if default is None or not plain or not notices(space):
        return searcher
    used = isinstance(default, Transfer) and not default.refuses(space, budget)
    return searcher if used else Watchful(default)


def _told_workers(searcher: Searcher, workers: int) -> Searcher:
    return searcher.with_workers(workers) if workers > 1 and isinstance(searcher, AbstractProgram) else searcher


def is_method(thing: Any) -> bool:
    """Whether this can search: an adapter, a program, or a native algorithm (which needs JAX to exist)."""
    if isinstance(thing, AbstractAdapter):
        return True
    traced = sys.modules.get("l2e.core.traced.algorithm")
    return traced is not None and isinstance(thing, traced.AbstractAlgorithm)


def is_traceable(thing: Any) -> bool:
    """Whether this is a problem that JAX can trace."""
    traced = sys.modules.get("l2e.core.traced.problem")
    return traced is not None and isinstance(thing, traced.AbstractTraceableProblem)


def seconds(what: str, given: Any) -> float | None:
    """A positive number of seconds, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | np.number):
        raise TypeError(f"{what} must be a number of seconds, got {given!r}")
    if not (np.isfinite(given) and given > 0):
        raise ValueError(f"{what} must be a positive number of seconds, got {given}")
    return float(given)


def target_value(given: Any, what: str = "target") -> float | None:
    """A number, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | np.number):
        raise TypeError(f"{what} must be a number, got {given!r}")
    if np.isnan(given):
        raise ValueError(f"{what} must be a number, got NaN")
    return float(given)


PLANNED, PLANNED_PER_DIMENSION = 10_000, 1000
"""Evaluations that a search without a budget makes at most: the larger of the two."""

STATISTICS = ("median", "mean")
"""By which of them points with uncertain values can be compared."""

MOST = 2**53
"""The largest budget or size: beyond, floats no longer count."""


def whole_number(what: str, given: Any) -> int:
    """A whole number from 1 on."""
    whole = isinstance(given, int | np.integer) or (isinstance(given, float) and given.is_integer())
    if isinstance(given, bool) or not whole:
        raise TypeError(f"{what} must be a whole number, got {given!r}")
    if not 1 <= given <= MOST:
        raise ValueError(f"{what} must be at least 1 and at most 2**53, got {str(given)[:40]}")
    return int(given)


def _start(x0: Any, space: Box) -> np.ndarray | None:
    if x0 is None:
        return None
    if np.iscomplexobj(x0):
        raise ValueError("x0 must hold real numbers")
    start = np.asarray(x0, dtype=np.float64)
    if start.ndim not in (1, 2) or start.shape[-1] != space.dimension or not len(start):
        raise ValueError(f"x0 must have shape ({space.dimension},), got {start.shape}")
    if not np.isfinite(start).all():
        raise ValueError("x0 must hold finite numbers only")
    check_inside("x0", start, space)
    return start


def check_inside(what: str, points: np.ndarray, space: Box) -> None:
    """Refuse points of which one is outside of the box."""
    if points.shape[-1] != space.dimension:
        raise ValueError(f"{what} must have {space.dimension} coordinates, got {points.shape[-1]}")
    for point in np.atleast_2d(points):
        outside = np.flatnonzero(~((point >= space.lower) & (point <= space.upper)))
        if outside.size:
            i = int(outside[0])
            raise ValueError(f"{what}[{i}] = {point[i]} is outside its bounds ({space.lower[i]}, {space.upper[i]})")

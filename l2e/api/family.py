"""A family: functions on one box whose coordinates mean the same, of which some are solved again and again."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from l2e.api.views import view_of
from l2e.core.box import Box, box
from l2e.core.lattice import kinds
from l2e.core.problem import AbstractProblem, HostFunction

BUDGETS = (5, 10, 20, 50)
"""Evaluations per dimension for which a model is made and judged."""

PER_MEMBER = 100
"""Evaluations per dimension and member that learning spends, if nothing else is said."""

FIRST_SHARE = 0.5
"""Of a member's evaluations: its own search, from the centre."""

LEAST_FIRST = 10
"""Evaluations per dimension of that search, at least."""


@dataclasses.dataclass(frozen=True)
class Quote:
    """What learning will cost, at most: evaluations of each phase."""

    members: int
    dimension: int
    searches: int
    """The search of every member, from the centre, with the differences there."""
    cross: int
    """Every member at the end of every other."""
    choosing: int
    """Searches with members left out, which decide what follows the seeds and where the model is trusted."""

    @property
    def total(self) -> int:
        """All evaluations."""
        return self.searches + self.cross + self.choosing

    def __str__(self) -> str:
        return (
            f"{self.members} members in {self.dimension}-D: at most {self.total} evaluations "
            f"({self.total / self.members:.0f} per member): {self.searches} for their own searches, {self.cross} at "
            f"each other's ends, {self.choosing} to choose with members left out"
        )


class Family:
    """Functions of one family, by name.

    ```python
    family = l2e.Family({"depot-1": f1, "depot-2": f2}, bounds=[(0, 1)] * 8)
    family = l2e.Family.of(make, seeds=range(40), bounds=[(0, 1)] * 8)
    ```

    **Arguments:**

    - `members`: functions of a point, by name; or a list of them; or problems, whose box is then the default.
    - `bounds`: one box for all of them, or an `l2e.Space` of named parameters, as of `minimize`.
    - `integrality`: which coordinates are whole numbers, as of `minimize`.
    - `vectorized`: functions take a batch (n, d) and return (n,).
    - `coordinates`: names of the coordinates, for the card; those of a `Space` are taken from it.
    - `features`: numbers that are known of each member before it is searched (loads, distances, sizes), one row for
      each, by name or in order. A new member's are given to `minimize(features=...)`.
    """

    def __init__(
        self,
        members: Mapping[str, Any] | Sequence[Any],
        bounds: Any = None,
        *,
        integrality: Any = None,
        vectorized: bool = False,
        coordinates: Sequence[str] | None = None,
        features: Mapping[str, Any] | Sequence[Any] | np.ndarray | None = None,
    ):
        named = dict(members) if isinstance(members, Mapping) else {str(i): f for i, f in enumerate(members)}
        if not named:
            raise ValueError("a family needs at least one member")
        for name, function in named.items():
            if not callable(function):
                raise TypeError(f"member {name!r} must be callable, got {type(function).__name__}")
        own = [f.space for f in named.values() if isinstance(f, AbstractProblem)]
        if bounds is None and not own:
            raise ValueError("bounds are needed: one (low, high) pair per coordinate, e.g. bounds=[(-5, 5)] * 10")
        view = view_of(own[0] if bounds is None else bounds, integrality)
        self.space: Box = box(own[0] if bounds is None else bounds) if view is None else view.box
        for space in own:
            if not same_box(space, self.space):
                raise ValueError("members of a family have one box; map yours onto the unit cube if they differ")
        self.functions = {name: _plain(function, vectorized) for name, function in named.items()}
        if view is not None:
            self.functions = {
                name: (view.function(function, (), batched), batched)
                for name, (function, batched) in self.functions.items()
            }
        self.features = None if features is None else feature_table(features, tuple(named))
        if coordinates is not None and len(coordinates) != self.dimension:
            raise ValueError(f"{len(coordinates)} names were given for {self.dimension} coordinates")
        self.coordinates = None if coordinates is None else tuple(map(str, coordinates))

    @classmethod
    def of(cls, make: Callable[[int], Any], seeds: Iterable[int], bounds: Any = None, **options: Any) -> "Family":
        """The members that `make(seed)` returns; `features` may be a function of the seed, too."""
        numbers = list(seeds)
        if callable(options.get("features")):
            options["features"] = [options["features"](seed) for seed in numbers]
        return cls({str(seed): make(seed) for seed in numbers}, bounds, **options)

    def __len__(self) -> int:
        return len(self.functions)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the members."""
        return tuple(self.functions)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.space.dimension

    def quote(self, budget: int | None = None) -> Quote:
        """What `learn` will spend, at most; it never spends more than `budget`.

        **Arguments:** `budget`: of all of it; 100 evaluations per dimension and member if not given.

        **Raises:** `ValueError` for a budget with which no member can be searched.
        """
        m, d = len(self), self.dimension
        total = PER_MEMBER * d * m if budget is None else budget
        first = max(int(FIRST_SHARE * total / m), min(LEAST_FIRST * d, total // m))
        if first < 2 * d + 2:
            raise ValueError(
                f"{total} evaluations are too few for {m} members in {d}-D: give {(2 * d + 2) * m} or more"
            )
        cross = m * (m - 1) if m * (m - 1) <= total - m * first else 0
        left = total - m * first - cross
        return Quote(m, d, m * first, cross, left)


def _plain(function: Any, vectorized: bool) -> tuple[Callable[[Any], Any], bool]:
    """What is called, and whether it takes a batch."""
    if isinstance(function, HostFunction):
        return function.function, function.vectorized
    return function, vectorized or isinstance(function, AbstractProblem)


def feature_table(given: Any, names: tuple[str, ...]) -> np.ndarray:
    """Features as one row for each member.

    **Arguments:** `given`: by name, or in order; `names`: of the members.
    """
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing or len(given) > len(names):
            raise ValueError(f"features are needed of all members and no others; missing: {', '.join(missing) or '-'}")
        given = [given[name] for name in names]
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("features must be numbers, as many for each member") from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != len(names) or not table.shape[1]:
        raise ValueError(f"features must be one row of numbers for each of {len(names)} members, got {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("features must be finite numbers")
    return table


def same_box(one: Box, other: Box) -> bool:
    """Whether two boxes are the same, up to rounding of numbers that were written down, and kinds of coordinates."""
    if one.dimension != other.dimension or kinds(one) != kinds(other):
        return False
    width = np.asarray(one.upper) - np.asarray(one.lower)
    apart = np.maximum(np.abs(one.lower - other.lower), np.abs(one.upper - other.upper))
    return bool((apart <= 1e-9 * width).all())

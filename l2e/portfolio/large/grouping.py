"""Which variables interact: recursive differential grouping with a threshold of rounding errors.

Y. Sun, M. Kirley, S. K. Halgamuge, "A recursive decomposition method for large scale continuous optimization", IEEE
Transactions on Evolutionary Computation 22 (2018); the threshold is that of Y. Sun, M. N. Omidvar, M. Kirley, X. Li,
"Adaptive threshold parameter estimation with recursive differential grouping", GECCO 2018. Unlike there, all variables
are first tested against all others in one batch, and subsets of one level are tested together.
"""

import dataclasses
from collections.abc import Generator
from typing import Any

import numpy as np

from l2e.portfolio.large.asking import ask, copies
from l2e.portfolio.run import WIDTH, Batches, Run

MOVE = 0.1 * WIDTH
"""How far variables are moved to see whether they interact."""

LARGEST = 150
"""Larger groups are not searched along their eigenvectors."""

DENSE = 0.8
PAIRS = 16
"""If more than this share of some random pairs interacts, all variables that interact at all are one group."""

SPARSE = 4
"""A variable that interacts with no more than this many others is one of a sparse graph."""

TRIED = 3
"""After so many variables of a sparse graph no more groups are looked for."""

MOST = 20
"""Evaluations per dimension that may be spent on groups."""


@dataclasses.dataclass(frozen=True)
class Structure:
    """What is known of the interactions.

    **Fields:** `separable`: variables that interact with no other; `groups`: sets of variables that interact with each
    other, which may overlap; `rest`: variables that interact, in no group of a useful size; `dense`: whether most of
    these interact with most others.
    """

    separable: np.ndarray
    groups: tuple[np.ndarray, ...]
    rest: np.ndarray
    dense: bool = False


Found = Generator[np.ndarray, np.ndarray, Structure]


class Grouping:
    """Finds the structure around a point.

    **Arguments:** `x`: the point; `members`: the variables that are looked at.
    """

    def __init__(self, x: np.ndarray, members: np.ndarray):
        self.x, self.members = x.copy(), members
        self.moved = np.where(x > 0, x - MOVE, x + MOVE)
        self._threshold = _gamma(len(x))
        self._f = np.inf
        self._known: dict[tuple[int, ...], float] = {}  # values with a set of variables moved

    def find(self, run: Run, most: float) -> Found:
        """Spend up to `most` evaluations on the structure; whatever is unknown then is the rest."""
        limit = run.used + most
        coupled, alone = yield from self._coupled(run)
        separable = self.members[~coupled]
        left = list(self.members[coupled])
        if len(left) < 2:
            return Structure(self.members, (), np.empty(0, int))
        if (yield from self._is_dense(run, np.asarray(left), alone)):
            return Structure(separable, *_as_group(np.asarray(left)), dense=True)
        groups, rest, covered, in_graph = [], [], set(), 0
        while left and run.used < limit:
            start = next((i for i in left if i not in covered), None)
            if start is None:
                break
            row = yield from self._row(run, [start], left)
            group = [start, *row]
            covered.update(group)
            if len(row) <= SPARSE:
                group = yield from self._grown(run, group, left, limit)
                covered.update(group)
            others = [i for i in left if i not in set(group)]
            open_ended = bool(others) and bool((yield from self._tested(run, group, [others]))[0])
            if not open_ended:
                left = others
            if len(group) <= LARGEST and (len(row) > SPARSE or not open_ended):
                groups.append(np.asarray(sorted(group)))
            else:
                rest.extend(group)
            in_graph += open_ended and len(row) <= SPARSE
            if in_graph >= TRIED:
                break
        rest.extend(i for i in left if i not in covered)
        return Structure(separable, tuple(groups), np.unique(np.asarray(rest, dtype=int)))

    def _coupled(self, run: Run) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Which variables interact with any of the others, and the values with each alone moved."""
        count, everything = len(self.members), self.x.copy()
        everything[self.members] = self.moved[self.members]
        self._f, whole = yield from run.evaluate_aside(np.stack([self.x, everything]))
        alone = yield from self._with(run, self.x, self.moved, count)
        self._known.update(((int(i),), value) for i, value in zip(self.members, alone.tolist(), strict=True))
        without = yield from self._with(run, everything, self.x, count)
        return self.differs(alone - self._f, whole - without, (self._f, alone, whole, without)), alone

    def _with(self, run: Run, base: np.ndarray, places: np.ndarray, count: int) -> Batches:
        """Values of a point with one member at a time at its other place."""

        def build(numbers: np.ndarray) -> np.ndarray:
            rows, chosen = copies(base, len(numbers)), self.members[numbers]
            rows[np.arange(len(numbers)), chosen] = places[chosen]
            return rows

        return (yield from ask(run, count, build))

    def differs(self, one: np.ndarray, other: np.ndarray, values: tuple[Any, ...]) -> np.ndarray:
        """Where two differences of values differ by more than rounding."""
        sizes = sum(np.abs(value) for value in values)
        return np.abs(one - other) > self._threshold * sizes

    def _is_dense(self, run: Run, left: np.ndarray, alone: np.ndarray) -> Generator[np.ndarray, np.ndarray, bool]:
        first, second = (run.rng.choice(left, PAIRS) for _ in range(2))
        place = {int(i): k for k, i in enumerate(self.members)}
        f_first, f_second = (alone[[place[int(i)] for i in chosen]] for chosen in (first, second))

        def build(numbers: np.ndarray) -> np.ndarray:
            rows = copies(self.x, len(numbers))
            for chosen in (first, second):
                rows[np.arange(len(numbers)), chosen[numbers]] = self.moved[chosen[numbers]]
            return rows

        both = yield from ask(run, PAIRS, build)
        interact = self.differs(f_first - self._f, both - f_second, (self._f, f_first, f_second, both))
        return bool(np.mean(interact[first != second]) > DENSE) if (first != second).any() else False

    def _tested(
        self, run: Run, group: list[int], sets: list[list[int]]
    ) -> Generator[np.ndarray, np.ndarray, list[bool]]:
        """For each set of variables, whether it interacts with the group."""
        keys = [tuple(chosen) for chosen in [group, *sets]]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        asked = [*new, *((*group, *chosen) for chosen in sets)]

        def build(numbers: np.ndarray) -> np.ndarray:
            rows = copies(self.x, len(numbers))
            for row, number in zip(rows, numbers, strict=True):
                chosen = list(asked[number])
                row[chosen] = self.moved[chosen]
            return rows

        values = yield from ask(run, len(asked), build)
        self._known.update(zip(new, values.tolist(), strict=False))
        having, known = values[len(new) :], np.asarray([self._known[key] for key in keys])
        alone, without = known[:1], known[1:]
        sums = (self._f, alone, without, having)
        return list(self.differs(alone - self._f, having - without, sums))

    def _row(self, run: Run, group: list[int], others: list[int]) -> Generator[np.ndarray, np.ndarray, list[int]]:
        """The other variables that interact with a group, by bisection, all sets of a level at once.

        The halves are those of all others with the group, so that most of them are those of another group, too.
        """
        found: list[int] = []
        inside, level = set(group), [others]
        while level:
            tested = [(subset, left) for subset in level if (left := [i for i in subset if i not in inside])]
            interacts = yield from self._tested(run, group, [left for _, left in tested])
            level = []
            for (subset, left), yes in zip(tested, interacts, strict=True):
                if not yes:
                    continue
                if len(subset) == 1:
                    found.extend(left)
                else:
                    level.extend([subset[: len(subset) // 2], subset[len(subset) // 2 :]])
        return found

    def _grown(
        self, run: Run, group: list[int], left: list[int], limit: float
    ) -> Generator[np.ndarray, np.ndarray, list[int]]:
        """A small group with all that interacts with it, while it stays small and evaluations are left."""
        while len(group) <= 2 * SPARSE and run.used < limit:
            more = yield from self._row(run, group, left)
            if not more:
                break
            group = [*group, *more]
        return group


def _as_group(members: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """One group, if it is not too large for one."""
    empty = np.empty(0, int)
    return ((members,), empty) if len(members) <= LARGEST else ((), members)


def _gamma(dimension: int) -> float:
    """The bound of relative rounding errors of a sum, with a square root of its length for their cancellation."""
    product = (np.sqrt(dimension) + 2) * 2.0**-53
    return float(product / (1 - product))

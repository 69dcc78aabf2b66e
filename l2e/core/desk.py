"""Points of a search handed out one by one, and their values taken in any order.

A search works in batches and waits for the last value of each. Whoever has a worker free meanwhile is given points of
*companions*: further searches of the same method from other starts, in place of nothing to do.
"""

from collections.abc import Callable

import numpy as np

from l2e.core.search import AbstractSearch
from l2e.core.workers.contract import Ticket


class _Open:
    """The batch of one search that is being evaluated."""

    def __init__(self, search: AbstractSearch):
        self.search = search
        self._begin()

    def _begin(self) -> None:
        self._points = self.search.ask()
        self._handed, self._values = 0, {}

    @property
    def has_points(self) -> bool:
        return self._handed < len(self._points)

    @property
    def over(self) -> bool:
        return len(self._points) == 0

    def take(self) -> tuple[int, np.ndarray]:
        row = self._handed
        self._handed += 1
        return row, self._points[row].copy()

    def tell(self, row: int, value: float) -> None:
        self._values[row] = value
        if len(self._values) == len(self._points):
            self.search.tell(np.asarray([self._values[i] for i in range(len(self._points))]))
            self._begin()


class Desk:
    """Hands out the points of a search and of its companions.

    **Arguments:** `search`: the one that matters; `companion`: makes the k-th further search, k = 1, 2, ...
    """

    def __init__(self, search: AbstractSearch, companion: Callable[[int], AbstractSearch]):
        self._open = [_Open(search)]
        self._companion = companion
        self._made = 0
        self._given = 0
        self.companions = 0
        """Points handed out for companions."""
        self._out: dict[int, tuple[_Open, int]] = {}

    @property
    def search(self) -> AbstractSearch:
        """The search that matters."""
        return self._open[0].search

    @property
    def out(self) -> int:
        """How many points are handed out and not told."""
        return len(self._out)

    @property
    def over(self) -> bool:
        """Whether the search that matters expects nothing more."""
        return self._open[0].over

    @property
    def waiting(self) -> bool:
        """Whether the search that matters has a point to give, without a companion."""
        return self._open[0].has_points

    def next(self) -> Ticket:
        """The next point: of the search that matters if it has one, else of a companion."""
        one = next((one for one in self._open if one.has_points), None) or self._begin()
        row, point = one.take()
        number = self._given
        self._given += 1
        self._out[number] = (one, row)
        own = one is self._open[0]
        self.companions += not own
        part = one.search.part if own else "companion"
        return Ticket(number, point, part)

    def tell(self, number: int, value: float) -> None:
        """The value of a point that was handed out, `+inf` if its evaluation failed."""
        one, row = self._out.pop(number)
        one.tell(row, value)
        self._open = [self._open[0], *(one for one in self._open[1:] if not one.over)]

    def _begin(self) -> _Open:
        self._made += 1
        self._open.append(_Open(self._companion(self._made)))
        return self._open[-1]

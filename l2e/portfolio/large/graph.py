"""A sparse graph of interactions: which pairs of variables interact, where each interacts with few others.

Every variable is tested against sets of those that come after it: the sets are the halves, quarters, ... of all
variables, whose own values are shared by all tests of a level, so a test costs one evaluation.
"""

from collections.abc import Generator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from l2e.portfolio.large.asking import ask, copies
from l2e.portfolio.large.grouping import Grouping
from l2e.portfolio.run import Batches, Run

EDGES = 4
"""A graph with more edges per variable than this is not sparse."""

Edges = Generator[np.ndarray, np.ndarray, np.ndarray | None]
"""Pairs of positions in the list of variables, or None if there are too many."""


class Graph:
    """Finds the edges.

    **Arguments:** `grouping`: which knows the point, how far variables move, and what rounding is.
    """

    def __init__(self, grouping: Grouping):
        self._grouping, self._members = grouping, grouping.members

    def edges(self, run: Run, most: float) -> Edges:
        """Spend up to `most` evaluations; None if the graph is not sparse or takes more."""
        count, limit = len(self._members), run.used + most
        f0 = (yield from run.evaluate_aside(self._grouping.x))[0]
        alone = yield from self._moved(run, [np.asarray([i]) for i in range(count)])
        tests = [(i, begin, end) for i in range(count) for begin, end in _later(i, count)]
        found: list[tuple[int, int]] = []
        while tests:
            sets = sorted({(begin, end) for _, begin, end in tests})
            place = {key: k for k, key in enumerate(sets)}
            if run.used + len(sets) + len(tests) > limit or len(found) > EDGES * count:
                return None
            whole = yield from self._moved(run, [np.arange(*key) for key in sets])
            both = yield from self._moved(run, [np.append(np.arange(begin, end), i) for i, begin, end in tests])
            first = np.asarray([i for i, _, _ in tests])
            second = whole[[place[begin, end] for _, begin, end in tests]]
            values = (f0, alone[first], second, both)
            interact = self._grouping.differs(alone[first] - f0, both - second, values)
            tests = [test for test, yes in zip(tests, interact, strict=True) if yes]
            found.extend((i, begin) for i, begin, end in tests if end - begin == 1)
            tests = [half for test in tests if test[2] - test[1] > 1 for half in _halves(*test)]
        return np.asarray(found, dtype=int).reshape(-1, 2)

    def _moved(self, run: Run, sets: list[np.ndarray]) -> Batches:
        """Values with one set of variables at a time at its other place."""
        x, moved = self._grouping.x, self._grouping.moved

        def build(numbers: np.ndarray) -> np.ndarray:
            rows = copies(x, len(numbers))
            for row, number in zip(rows, numbers, strict=True):
                chosen = self._members[sets[number]]
                row[chosen] = moved[chosen]
            return rows

        return (yield from ask(run, len(sets), build))


def bandwidth_order(count: int, edges: np.ndarray) -> np.ndarray:
    """The positions in an order in which those that interact are close to each other."""
    both = np.concatenate([edges, edges[:, ::-1]])
    matrix = coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(count, count)).tocsr()
    return np.asarray(reverse_cuthill_mckee(matrix, symmetric_mode=True))


def _later(i: int, count: int) -> list[tuple[int, int]]:
    """The sets of the binary tree that together hold all positions after i."""
    begin, end, sets = 0, count, []
    while end - begin > 1:
        middle = (begin + end) // 2
        if i < middle:
            sets.append((middle, end))
            end = middle
        else:
            begin = middle
    return sets


def _halves(i: int, begin: int, end: int) -> list[tuple[int, int, int]]:
    middle = (begin + end) // 2
    return [(i, begin, middle), (i, middle, end)]

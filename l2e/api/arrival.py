"""Searches whose results are told as they arrive: no worker waits for the slowest of a batch."""

import numpy as np

from l2e.api.setup import Setup
from l2e.core.desk import Desk
from l2e.core.evaluator import Evaluator, OtherPoints
from l2e.core.journal_frames import Segment
from l2e.core.keys import fold_in
from l2e.core.search import AbstractSearch
from l2e.core.workers.contract import Ticket

COMPANIONS = 1 << 20
"""Keys of companions begin here, far from those of restarts."""

COMPANION_SHARE = 0.2
"""Of the evaluations, companions have at most this share."""


def desk_of(setup: Setup) -> Desk:
    """The points of a search one by one; companions begin at random points of the box.

    **Raises:** `ValueError` for a method with a loop of its own.
    """
    search = setup.search()
    if search is None:
        raise ValueError(f"method {setup.method!r} runs its own loop and waits for each batch; order must be 'asked'")

    def companion(k: int) -> AbstractSearch:
        key = fold_in(setup.key, COMPANIONS + k)
        space = setup.space
        start = np.random.default_rng(key.tolist()).uniform(space.lower, space.upper)
        other = setup.continued(start, setup.budget, COMPANIONS + k).search()
        assert other is not None
        return other

    return Desk(search, companion)


class ArrivalRun:
    """One search whose points are evaluated as workers become free.

    **Arguments:** `setup`: the search; `evaluate`: counts and records, and has the workers; `known`: what a journal
    has of this search.
    """

    def __init__(self, setup: Setup, evaluate: Evaluator, known: Segment | None = None):
        assert evaluate.apart is not None
        self._desk, self._evaluate, self._apart = desk_of(setup), evaluate, evaluate.apart
        self._known = known
        self._out: dict[int, Ticket] = {}

    @property
    def search(self) -> AbstractSearch:
        """The search that matters."""
        return self._desk.search

    def __call__(self) -> str:
        """Until the search expects nothing more, and say so, or the evaluator raises `StopSearch`."""
        evaluate, desk = self._evaluate, self._desk
        evaluate.begin_clock()
        if self._known is not None:
            self._replay(self._known)
        for ticket in list(self._out.values()):
            self._apart.submit(ticket)
        while not desk.over:
            while self._apart.free > 0 and evaluate.remaining > len(self._out) and self._may_ask():
                self._apart.submit(self._ask())
            if not self._out:
                evaluate.refuse_more()
            for number, value in self._apart.arrived():
                ticket = self._out.pop(number)
                desk.tell(number, value)
                evaluate.finish(ticket.point[None], np.asarray([value]))
        return "the method expects no further improvement"

    def _may_ask(self) -> bool:
        """Whether there is a point to ask for; companions have no more than their share, not to starve the search."""
        return self._desk.waiting or self._desk.companions < COMPANION_SHARE * (self._evaluate.used + len(self._out))

    def _ask(self) -> Ticket:
        ticket = self._desk.next()
        self._out[ticket.number] = ticket
        return ticket

    def _replay(self, known: Segment) -> None:
        """Do again what the journal says was done, in the same order."""
        for kind, number in known.events:
            if kind == "asked":
                ticket = self._ask()
                if ticket.number != number or not np.array_equal(ticket.point, known.asked[number][0]):
                    raise OtherPoints("the search asks for other points than those in its journal")
            else:
                ticket = self._out.pop(number)
                self._evaluate.meter.record.part(ticket.part)
                self._desk.tell(number, self._evaluate.recall(ticket.point, number))

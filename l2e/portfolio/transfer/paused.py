"""A search that waits while something else is tried, and may go on where it was."""

import numpy as np

from l2e.portfolio.run import Run, Steps
from l2e.portfolio.searches import Nothing

SET_ASIDE = "set aside"
"""Why a part of a search has no further evaluations for the time being."""


class Paused:
    """A search between two batches.

    **Arguments:** `run`: whose evaluations it spends; `search`: not yet begun.
    """

    def __init__(self, run: Run, search: Steps | Nothing):
        self._run, self._search = run, search
        self._next: np.ndarray | None = None
        self._part: str | None = None

    def search_until(self, used: float) -> Nothing:
        """Search until so many evaluations of the run are used; the batch that would come next waits."""
        self._next = next(self._search)
        while self._run.used < used:
            self._next = self._search.send((yield self._next))
        self._part = self._run.set_aside(SET_ASIDE)

    def resume(self) -> Nothing:
        """Go on to the end."""
        assert self._next is not None, "it has not begun"
        self._run.take_up(self._part)
        try:
            while True:
                self._next = self._search.send((yield self._next))
        except StopIteration:
            return

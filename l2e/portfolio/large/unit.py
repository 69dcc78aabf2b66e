"""What the parts of a large search have in common: they take turns, and are chosen by what their turns gained."""

from typing import Protocol

import numpy as np

from l2e.portfolio.run import Run, Steps


class Unit(Protocol):
    """A part that searches some of the variables, one turn after the other.

    **Fields:** `name`: in the trace; `members`: its variables.
    """

    @property
    def name(self) -> str: ...

    @property
    def members(self) -> np.ndarray: ...

    def cost(self) -> float:
        """About how many evaluations its next turn takes."""
        ...

    def turn(self, run: Run) -> Steps:
        """Search from the best point known; a reason if further turns promise nothing before that point moves."""
        ...

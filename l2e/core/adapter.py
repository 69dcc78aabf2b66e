"""The contract of anything that can search: it is given the metered function, and calls it."""

from abc import ABC, abstractmethod

import numpy as np

from l2e.core.box import Box
from l2e.core.evaluator import Evaluator


class AbstractAdapter(ABC):
    """A search method seen from outside. Whatever can call a function can be one."""

    @abstractmethod
    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        """Call `evaluate` on points of the box until done; return why it ended by itself.

        `evaluate` raises `StopSearch` when it wants no more; implementations let it through. `evaluate.remaining`
        is what is left of the budget, `start` a point of the box at which the user wants the search to begin.
        """

"""An evolution strategy whose population shrinks over a known budget: wide at first, a local search at the end.

lambda(t) = max(lambda_0, lambda_max (1 - t)^2), lambda_max = 2.5 R / (100 + 5 D) for R evaluations.
"""

import numpy as np

from l2e._cma_defaults import default_population
from l2e.experts.evolution import Evolution
from l2e.experts.residual import Network
from l2e.experts.run import HALF, Run, Steps


class Shrinking:
    """MA-ES from a random mean over all of the cube, with that schedule.

    **Arguments:** `dimension`; `allowed`: the evaluations it plans for; `rng`: draws the mean; `network`: weights of
    the learned residual, which also scales the schedule, or None.
    """

    def __init__(self, dimension: int, allowed: int, rng: np.random.Generator, network: Network | None = None):
        self.allowed = allowed
        self._least = default_population(dimension)
        self._most = max(2.5 * allowed / (100 + 5 * dimension), self._least)
        mean = rng.uniform(-0.8 * HALF, 0.8 * HALF, dimension)
        self.search = Evolution(mean, 0.4 * HALF, int(self._most), network=network)

    @property
    def used(self) -> int:
        """Evaluations so far."""
        return self.search.used

    @property
    def best_f(self) -> float:
        """The best value it has found itself."""
        return self.search.best_f

    def step(self, run: Run) -> Steps:
        """One generation."""
        left = max(1 - self.used / self.allowed, 0.0)
        wanted = max(self._least, int(self._most * left**2))
        if wanted < 0.85 * self.search.planned or wanted == self._least < self.search.planned:
            self.search.resize(wanted)
        return (yield from self.search.step(run))

"""An evolution strategy whose population shrinks over a known budget: wide at first, a local search at the end.

lambda(t) = max(lambda_0, lambda_max (1 - t)^2), lambda_max = 2.5 R / (100 + 5 D) for R evaluations.
"""

import numpy as np

from l2e.core.cma_defaults import default_population
from l2e.portfolio.evolution import Evolution
from l2e.portfolio.run import HALF, Run, Steps

FIRST_SHARE, FIRST_GENERATIONS, FIRST_PER_DIMENSION = 2.5, 100, 5
"""The numbers of lambda_max above."""

WITHIN = 0.8
"""The first mean is drawn from this share of the cube."""

FIRST_STEP = 0.4
"""Over half the width of the cube."""

RESIZED_BELOW = 0.85
"""The population is changed when the wanted one is below this share of it."""


class Shrinking:
    """MA-ES from a random mean over all of the cube, with that schedule.

    **Arguments:** `dimension`; `allowed`: the evaluations it plans for; `rng`: draws the mean.
    """

    def __init__(self, dimension: int, allowed: int, rng: np.random.Generator):
        self._allowed = allowed
        self._least = default_population(dimension)
        generations = FIRST_GENERATIONS + FIRST_PER_DIMENSION * dimension
        self._most = max(FIRST_SHARE * allowed / generations, self._least)
        mean = rng.uniform(-WITHIN * HALF, WITHIN * HALF, dimension)
        self._search = Evolution(mean, FIRST_STEP * HALF, int(self._most))

    def step(self, run: Run) -> Steps:
        """One generation."""
        left = max(1 - self._search.used / self._allowed, 0.0)
        wanted = max(self._least, int(self._most * left**2))
        population = self._search.population
        if wanted < RESIZED_BELOW * population or wanted == self._least < population:
            self._search.resize(wanted)
        return (yield from self._search.step(run))

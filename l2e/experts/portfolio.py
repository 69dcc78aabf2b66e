"""The default optimizer: the router's search as a method on any box."""

from collections.abc import Generator
from typing import Any

import numpy as np

from l2e._space import Box
from l2e.driver import Assessment
from l2e.experts.envelope import assess
from l2e.experts.gate import Gate
from l2e.experts.residual import Network
from l2e.experts.router import Router
from l2e.experts.run import HALF, Run
from l2e.experts.weights import load_gate, load_network, shipped_gate, shipped_network
from l2e.program import AbstractProgram

GATED_BUDGETS = (60, 100)
"""A gate is asked with more than the first and up to the second of these evaluations per dimension, for which it was
trained: with fewer a scout goes before quasi-Newton, with more it gains nothing anywhere (DESIGN.md)."""

GATED_DIMENSION = 24
"""The largest dimension in which it is asked: beyond, the evolutionary path that it would leave to is slow."""


class Portfolio(AbstractProgram):
    """Quasi-Newton, a surrogate-guided evolution strategy and global experts under one router, told the budget.

    The box is mapped onto a cube, so scaling the bounds does not change the search.

    **Arguments:** `numerical`, `surrogate`, `separable`, `global_search`, `scout`, `gate`: parts that can be switched
    off, the last one a trained one that may end quasi-Newton; `residual`: a trained part of local evolutionary
    searches that can be switched on, which on functions it has never seen is not better than nothing so far
    (results/README.md); `gate_weights`, `residual_weights`: files of trained parts instead of the shipped ones.
    """

    numerical: bool = True
    surrogate: bool = True
    separable: bool = True
    global_search: bool = True
    scout: bool = True
    gate: bool = True
    residual: bool = False
    gate_weights: str | None = None
    residual_weights: str | None = None

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, notes: set[str]
    ) -> Generator[np.ndarray, np.ndarray, None]:
        lower, upper = (np.asarray(bound, dtype=np.float64) for bound in (space.lower, space.upper))
        width = upper - lower
        first = np.zeros(len(lower))
        if start is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                first = np.where(width > 0, np.clip((start - lower) / width, 0, 1) * 2 * HALF - HALF, 0.0)
        run = Run(len(lower), budget, np.random.default_rng(seed), notes=notes)
        parts = (self.numerical, self.surrogate, self.separable, self.global_search, self.scout)
        search = Router(*parts, network=self._network(), gate=self._gate(len(lower), budget)).search(run, first)
        values: Any = None
        while True:
            with np.errstate(all="ignore"):  # failed evaluations are infinities, which experts compute with
                points = search.send(values)
                inside = np.clip(lower + (points + HALF) / (2 * HALF) * width, lower, upper)
            values = yield inside

    def assess(self, space: Box, budget: int, values: np.ndarray, notes: set[str]) -> Assessment:
        return assess(space.dimension, budget, values, notes)

    def _network(self) -> Network | None:
        if not self.residual:
            return None
        return shipped_network() if self.residual_weights is None else load_network(self.residual_weights)

    def _gate(self, dimension: int, budget: int) -> Gate | None:
        trained = GATED_BUDGETS[0] * dimension < budget <= GATED_BUDGETS[1] * dimension
        if not self.gate or not trained or dimension > GATED_DIMENSION:
            return None
        return shipped_gate() if self.gate_weights is None else load_gate(self.gate_weights)

"""L-BFGS on groups that overlap, in the metric of their curvature: only pairs inside a group are measured."""

import numpy as np

from l2e.portfolio.large.descent import Descent
from l2e.portfolio.large.windows import Windows
from l2e.portfolio.run import Run, Steps

GRADIENTS = 12
"""Steps of L-BFGS in a turn."""

STALE = 0.25
"""The curvature is measured anew when a turn gained less than this share of what the first one with it did, each as a
share of the value."""

SHARES = (1e-11, 1e-9, 1e-7)
"""Second differences are to be these shares of the value, in turns."""

SMALLEST = 1e-12
"""Curvature is taken to be at least this share of the largest."""

LARGEST_PATTERN = 1500
"""More variables have no metric of their own: it takes memory that grows with their square."""


class Pattern(Windows):
    """Searches variables of which it is known which pairs interact.

    **Arguments:** `members`: the variables; `edges`: pairs of places among them.
    """

    name = "overlapping groups"

    def __init__(self, members: np.ndarray, edges: np.ndarray):
        super().__init__(members, edges)
        self._descent = Descent(members, GRADIENTS)
        self._fresh: float | None = None  # what the first turn with this curvature gained, as a share of the value
        self._stale = True
        self._measured = 0

    @property
    def level(self) -> float:
        """How far it has come by itself."""
        return self._descent.level

    def cost(self) -> float:
        return self._descent.cost() + (len(self._edges) + 4 * len(self.members) if self._stale else 0)

    def turn(self, run: Run) -> Steps:
        measures, before = self._stale, run.best_f
        if measures:
            yield from self._measure(run)
        reason = yield from self._descent.turn(run)
        gain = (before - run.best_f) / max(abs(before), 1e-300)
        if measures:
            self._fresh = gain
        self._stale = reason is not None or gain < STALE * (self._fresh or 0.0)
        return reason if measures else None

    def _measure(self, run: Run) -> Steps:
        """The metric is the inverse of the curvature, with positive eigenvalues."""
        share = SHARES[self._measured % len(SHARES)]
        self._measured += 1
        _, hessian = yield from self._curvature(run, np.arange(len(self.members)), share, fit=True)
        if not np.isfinite(hessian).all() or not hessian.any():
            return None
        values, vectors = np.linalg.eigh(hessian)
        sizes = np.maximum(np.abs(values), SMALLEST * np.abs(values).max())
        self._descent.use((vectors / sizes) @ vectors.T)
        return None


def overlapping(groups: tuple[np.ndarray, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Chains of groups that share variables: the variables of each, and the pairs of places that are in one group."""
    chains: list[list[np.ndarray]] = []
    for group in groups:
        joined = [chain for chain in chains if any(np.intersect1d(group, other).size for other in chain)]
        chains = [chain for chain in chains if not any(chain is other for other in joined)]
        chains.append([group, *(other for chain in joined for other in chain)])
    found = []
    for chain in chains:
        members = np.unique(np.concatenate(chain))
        if len(chain) > 1 and len(members) <= LARGEST_PATTERN:
            places = [np.searchsorted(members, group) for group in chain]
            pairs = [np.stack([p[i] for i in np.triu_indices(len(p), 1)], axis=1) for p in places]
            found.append((members, np.unique(np.concatenate(pairs), axis=0)))
    return found

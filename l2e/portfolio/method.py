"""The default method: the router's search on any box."""

import dataclasses
from collections.abc import Generator
from typing import Any

import numpy as np

from l2e.core.box import Box
from l2e.core.constraints import ConstrainedBox
from l2e.core.lattice import MixedBox
from l2e.core.program import AbstractProgram
from l2e.core.search import Account, Assessment
from l2e.portfolio import horizons
from l2e.portfolio.confidence import assess
from l2e.portfolio.constrained.grid import ConstrainedMixedRun, search_constrained_grid
from l2e.portfolio.constrained.run import Constrained, ConstrainedRun
from l2e.portfolio.constrained.search import search_constrained
from l2e.portfolio.gate import Gate, GateWeights, checked
from l2e.portfolio.large.search import LargeSearch
from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.mixed.search import search_grid
from l2e.portfolio.parallel import ParallelRun
from l2e.portfolio.policy import LARGE_ABOVE, Policy
from l2e.portfolio.router import Router, sample
from l2e.portfolio.run import HALF, WIDTH, Run, Steps, tamed
from l2e.portfolio.searches import Nothing
from l2e.portfolio.threads import one_thread
from l2e.portfolio.weights import shipped_gate


@dataclasses.dataclass(frozen=True, eq=False)
class Portfolio(AbstractProgram):
    """Quasi-Newton, a surrogate-guided evolution strategy and global experts under one router, told the budget.

    The box is mapped onto a cube, so scaling the bounds does not change the search. Whatever values it is told, finite
    or not, it asks for points of the box until the budget is used: a part that fails hands over to another.

    **Arguments:** `gate`: weights of the trained gate that may end quasi-Newton, None for no gate (`Portfolio.trained`
    has the shipped ones); `policy`: all decisions as numbers, and parts that are left out; `workers`: how many points
    are evaluated at once; `open_ended`: nobody knows how much of the budget will be used, so it plans for little first
    and then for more (continuous variables, up to `LARGE_ABOVE` of them).
    """

    gate: GateWeights | None = None
    policy: Policy = dataclasses.field(default_factory=Policy)
    workers: int = 1
    open_ended: bool = False

    def __post_init__(self) -> None:
        if self.gate is not None:
            checked(self.gate)

    @classmethod
    def trained(cls, policy: Policy | None = None) -> "Portfolio":
        """With the gate inside the package: the method `auto`."""
        return cls(shipped_gate(), policy or Policy())

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        rng = np.random.default_rng(seed)
        if isinstance(space, ConstrainedBox):
            return (yield from self._constrained(space, rng, budget, start, account))
        first = None if start is None else to_cube(start, space)
        if isinstance(space, MixedBox):
            mixed = MixedRun(Grid(space), budget, rng, self.policy, account)
            return (yield from drive(mixed, search_grid(mixed, first), space))
        run = self._run(space.dimension, budget, rng, account)
        if space.dimension > LARGE_ABOVE:
            return (yield from drive(run, LargeSearch().search(run, first), space))
        yield from drive(run, horizons.search(Router(self.gate_for()), run, first, self.open_ended), space)

    def _constrained(
        self, space: ConstrainedBox, rng: np.random.Generator, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        first = None if start is None else to_cube(start, space)
        inner = space.inner
        state = Constrained(space.constraints, lambda points: from_cube(points, inner), space.dimension)
        if isinstance(inner, MixedBox):
            mixed = ConstrainedMixedRun(state, Grid(inner), budget, rng, self.policy, account)
            return (yield from drive(mixed, search_constrained_grid(mixed, first), inner))
        run = ConstrainedRun(state, space.dimension, budget, rng, self.policy, account)
        yield from drive(run, search_constrained(run, first), inner)

    def with_workers(self, workers: int) -> "Portfolio":
        return dataclasses.replace(self, workers=workers)

    def _run(self, dimension: int, budget: int, rng: np.random.Generator, account: Account) -> Run:
        if self.workers == 1:
            return Run(dimension, budget, rng, self.policy, account)
        return ParallelRun(dimension, budget, rng, self.policy, account, self.workers)

    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment | None:
        if isinstance(space, MixedBox | ConstrainedBox):  # the shares were measured on continuous landscapes
            return None
        if self.open_ended:
            budget = min(budget, max(len(values), 1))
        return assess(space.dimension, budget, values, account.notes)

    def gate_for(self) -> Gate | None:
        """The gate, unless it is left out."""
        return Gate(self.gate) if self.gate is not None and self.policy.has("gate") else None


def drive(run: Run, search: Steps | Nothing, space: Box) -> Generator[np.ndarray, np.ndarray, None]:
    """Have the points of a search in the working cube evaluated on the box; a search that fails is replaced."""
    values: Any = None
    taken = 0
    while True:
        with one_thread(), np.errstate(all="ignore"):  # failed evaluations are infinities
            for known in run.account.known[taken:]:
                run.know(to_cube(known.points, space), tamed(known.values), known.points)
                taken += 1
            try:
                points = search.send(values)
            except StopIteration:  # every point of a finite space was evaluated
                return
            except Exception as error:  # noqa: BLE001 - no value that a function returns may end a search
                run.fail("router", error)
                search = _samples(run)
                points = next(search)
            inside = from_cube(points, space) if run.anchor is None else beside(run.anchor, points, space)
        values = yield inside


def from_cube(points: np.ndarray, space: Box) -> np.ndarray:
    """Points of the working cube in the box."""
    lower, upper = (np.asarray(bound, dtype=np.float64) for bound in (space.lower, space.upper))
    inside = np.clip(lower + (points + HALF) / WIDTH * (upper - lower), lower, upper)
    return space.snap(inside) if isinstance(space, MixedBox) else inside


def beside(anchor: np.ndarray, moves: np.ndarray, space: Box) -> np.ndarray:
    """Points of the box that are moves, in lengths of the working cube, from the place of one of its points."""
    lower, upper = (np.asarray(bound, dtype=np.float64) for bound in (space.lower, space.upper))
    return np.clip(from_cube(anchor, space) + moves * ((upper - lower) / WIDTH), lower, upper)


def to_cube(point: np.ndarray, space: Box) -> np.ndarray:
    """A point of the box in the working cube; the middle of coordinates without width."""
    lower, upper = (np.asarray(bound, dtype=np.float64) for bound in (space.lower, space.upper))
    width = upper - lower
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(width > 0, np.clip((point - lower) / width, 0, 1) * 2 * HALF - HALF, 0.0)


def _samples(run: Run) -> Steps:
    while True:
        yield from run.spend("sampling", sample(run))

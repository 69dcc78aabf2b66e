"""The default method with a model of the family: the members' ends first, then what suits the family, behind gates.

What happens in which order, and why a model is left: `l2e.portfolio.transfer.search`.
"""

import dataclasses
from collections.abc import Generator

import numpy as np

from l2e.core.box import Box
from l2e.core.constraints import ConstrainedBox
from l2e.core.errors import unknown
from l2e.core.lattice import MixedBox
from l2e.core.program import AbstractProgram
from l2e.core.search import Account, Assessment
from l2e.portfolio.gate import GateWeights
from l2e.portfolio.large.search import LargeSearch
from l2e.portfolio.method import Portfolio, drive, to_cube
from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.mixed.search import search_grid
from l2e.portfolio.policy import LARGE_ABOVE, Policy
from l2e.portfolio.router import Router
from l2e.portfolio.transfer.knowledge import Knowledge, Plans
from l2e.portfolio.transfer.recall import Recalling
from l2e.portfolio.transfer.search import Default, TransferSearch, refuses
from l2e.portfolio.weights import shipped_gate

PARTS = ("gate", "jump", "covariance", "metric")
"""What can be left out: the gates, the jump, and what follows the seeds other than the default."""


@dataclasses.dataclass(frozen=True, eq=False)
class Transfer(AbstractProgram):
    """The default method, told of solved members of the family.

    **Arguments:** `knowledge`: the members; `plans`: what to do with a budget per dimension; `gate`, `policy`: of the
    default, which takes no differences if it is without "newton"; `left_out`: of `PARTS`; `traits`: features of the
    function, as those that are known of the members.
    """

    knowledge: Knowledge
    plans: Plans
    gate: GateWeights | None = dataclasses.field(default_factory=shipped_gate)
    policy: Policy = dataclasses.field(default_factory=Policy)
    left_out: tuple[str, ...] = ()
    traits: np.ndarray | None = None

    def __post_init__(self) -> None:
        for part in self.left_out:
            if part not in PARTS:
                raise unknown("part of the transfer", part, PARTS)

    def refuses(self, space: Box, budget: int) -> bool:
        """Whether a search in such a box is the default's from its first evaluation on."""
        return refuses(self.knowledge, self.plans.plan(budget / space.dimension))

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        if isinstance(space, ConstrainedBox):
            raise ValueError("a model of a family does not go with constraints")
        first = None if start is None else to_cube(start, space)
        rng, plan = np.random.default_rng(seed), self.plans.plan(budget / space.dimension)
        run, default = self._run(space, budget, rng, account)
        exact = self.policy.has("newton") and not isinstance(space, MixedBox)
        search = TransferSearch(self.knowledge, plan, run, default, first, self.left_out, self.traits, exact)
        yield from drive(run, search.steps(), space)

    def _run(
        self, space: Box, budget: int, rng: np.random.Generator, account: Account
    ) -> tuple[Recalling | MixedRun, Default]:
        """The evaluations of a search, and the default for its box."""
        if isinstance(space, MixedBox):
            mixed = MixedRun(Grid(space), budget, rng, self.policy, account)
            return mixed, lambda start: search_grid(mixed, start)
        run, d = Recalling(space.dimension, budget, rng, self.policy, account), space.dimension
        if d > LARGE_ABOVE:
            return run, lambda start: LargeSearch().search(run, start)
        router = Router(Portfolio(self.gate, self.policy).gate_for())
        return run, lambda start: router.search(run, start)

    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment | None:
        said = Portfolio(self.gate, self.policy).assess(space, budget, values, account)
        model = account.facts.get("model")
        if said is None or model is None or model.trusted:
            return said
        return said._replace(warnings=(*said.warnings, f"the model was not used: {model.why}"))

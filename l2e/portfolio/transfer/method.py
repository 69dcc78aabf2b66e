"""The default method with a model of the family: the members' ends first, then what suits the family, behind gates.

1. The value at the centre, which the default asks for, too. Where the plan is closed for the budget: the default.
2. A third of the differences at the centre, which the default will want, too. If the gradient points where no member's
   does, the function is not of this family: the default goes on, with all that was paid for.
3. Jumps to where kernel ridge expects the minimiser, if it was right on left-out members; seeds, the first three fixed,
   the others by the values so far. If they do not win as often as they should: the default.
4. From the best point: the default, an evolutionary search with the members' covariance, or quasi-Newton with their
   metric; then the default from there. Where gradients hardly tell families apart it is the default: a start that is
   better than the centre is worth having whatever the family, a covariance or a metric of another one is not.
"""

import dataclasses
import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from l2e.core.box import Box
from l2e.core.errors import unknown
from l2e.core.program import AbstractProgram
from l2e.core.search import Account, Assessment
from l2e.portfolio.confidence import assess
from l2e.portfolio.gate import GateWeights
from l2e.portfolio.method import Portfolio, drive, to_cube
from l2e.portfolio.newton import star
from l2e.portfolio.policy import Policy
from l2e.portfolio.probes import NO_LINE
from l2e.portfolio.reasons import Reason
from l2e.portfolio.router import Router
from l2e.portfolio.run import HALF, WIDTH, Steps
from l2e.portfolio.searches import Nothing, descend, evolution, evolve
from l2e.portfolio.transfer.jump import Jump, jumps
from l2e.portfolio.transfer.knowledge import LEAST_MEMBERS, Knowledge, Plan, Plans
from l2e.portfolio.transfer.newton import MetricNewton
from l2e.portfolio.transfer.recall import Recalling
from l2e.portfolio.weights import shipped_gate

PARTS = ("gate", "jump", "covariance", "metric")
"""What can be left out: the gates, the jump, and what follows the seeds other than the default."""

MOST_SEEDS, SEEDS_SHARE, FEW_SEEDS = 16, 0.2, 3
"""Seeds are at most this many, the dimension, and this share of the budget less what the gate cost, or a few."""

EARNED = 0.5
"""Until a seed beats the centre only this share of them is tried."""

FAIR, ODDS_BELOW = 0.25, 0.1
"""Of a wrong family a seed beats the centre this often; below these odds the function is foreign."""

WEAK_JUMP, BETTER_JUMP = 0.7, 0.05
"""A jump is made if its left-out error is below this; that with the gradient if it is better by this than that with
the centre's value alone; after it a few seeds are enough."""

LATE_JUMP = 0.9
"""A jump by the values of seeds is made below this: it costs one evaluation, and all seeds were tried."""

FAR = 0.02
"""A second jump is made if it goes this far from the first one, in the unit cube."""

STEP = 0.25
"""First step of the evolutionary search, in deviations of the members' covariance."""

MIDPOINT_FROM = 4
"""With so many seeds the last evaluation is the middle of the best two."""

METRIC_STEP = 0.5
"""First step of quasi-Newton with the metric, in mean deviations of the covariance."""


class Transferred(NamedTuple):
    """What a model did in a search: `result.model`."""

    strategy: str
    """What followed the seeds: "default", "evolution", "newton"; "none" if the model was not used."""
    trusted: bool
    why: str
    seeds: int
    jumps: int
    likeness: float
    """Of the gradient at the centre to those of members, 1 at best; NaN if it was not looked at."""
    centre: float
    start: float
    """The value at the centre, and the best one when seeds and jumps were over."""
    gradient: np.ndarray
    """At the centre, per width of the box; NaN where it was not looked at."""


@dataclasses.dataclass(frozen=True, eq=False)
class Transfer(AbstractProgram):
    """The default method, told of solved members of the family.

    **Arguments:** `knowledge`: the members; `plans`: what to do with a budget per dimension; `gate`, `policy`: of the
    default; `left_out`: of `PARTS`.
    """

    knowledge: Knowledge
    plans: Plans
    gate: GateWeights | None = dataclasses.field(default_factory=shipped_gate)
    policy: Policy = dataclasses.field(default_factory=Policy)
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part in self.left_out:
            if part not in PARTS:
                raise unknown("part of the transfer", part, PARTS)

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        run = Recalling(space.dimension, budget, np.random.default_rng(seed), self.policy, account)
        gate = Portfolio(self.gate, self.policy).gate_for(space.dimension, budget)
        first = None if start is None else to_cube(start, space)
        yield from drive(run, _Search(self, run, Router(gate), first).steps(), space)

    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment:
        said = assess(space.dimension, budget, values, account.notes)
        model = account.facts.get("model")
        if model is None or model.trusted:
            return said
        return said._replace(warnings=(*said.warnings, f"the model was not used: {model.why}"))

    def has(self, part: str) -> bool:
        """Whether a part is used."""
        return part not in self.left_out


class _ForeignError(Exception):
    """The function is not of this family."""


class _Search:
    """One search with a model."""

    def __init__(self, method: Transfer, run: Recalling, router: Router, start: np.ndarray | None):
        self._method, self._run, self._router = method, run, router
        self._known = method.knowledge
        self._start = start
        self._tried: list[int] = []
        self._values: list[float] = []
        self._jumps: list[Jump] = []
        self._made = 0
        self._centre = math.nan
        self._likeness = math.nan
        self._lead = math.inf
        self._gradient = np.full(run.dimension, np.nan)

    def steps(self) -> Steps:
        """The whole search; it never ends by itself."""
        plan = self._method.plans.plan(self._run.budget / self._run.dimension)
        if self._method.has("gate") and not self._known.tells_foreign:
            plan = plan._replace(follow="default")
        try:
            if not plan.opened and self._known.members >= LEAST_MEMBERS:
                raise _ForeignError(plan.why)  # the default, from its first evaluation on
            yield from self._begin()
        except _ForeignError as foreign:
            self._say("none", False, str(foreign))
            self._forget_seeds()
        else:
            self._say(plan.follow, True, plan.why)
            yield from self._follow(plan)
        self._run.remembers = False
        return (yield from self._router.search(self._run, self._goes_on_from()))

    def _forget_seeds(self) -> None:
        """The default's models must not see what was tried for nothing: ends of another family lie anywhere."""
        if self._tried:
            self._run.forget()
            self._run.remember(np.zeros((1, self._run.dimension)), np.array([self._centre]))

    def _goes_on_from(self) -> np.ndarray | None:
        """Where the default begins: at the best point if the model was trusted, else where it would have begun."""
        if self._run.account.facts["model"].trusted:
            return self._run.best_x
        known = self._start is None and bool(self._run.account.known)
        return None if known else np.zeros(self._run.dimension) if self._start is None else self._start

    def _say(self, strategy: str, trusted: bool, why: str) -> None:
        counted = len(self._tried), self._made, self._likeness, self._centre, self._run.best_f
        self._run.account.facts["model"] = Transferred(strategy, trusted, why, *counted, self._gradient.copy())

    def _try(self, point: np.ndarray) -> Generator[np.ndarray, np.ndarray, float]:
        """Evaluate a point of the unit cube that knowledge proposes, or several; the least value."""
        value = float((yield from self._run.evaluate(point * WIDTH - HALF)).min())
        self._lead = min(self._lead, value)
        return value

    @property
    def _won(self) -> bool:
        """Whether anything that was proposed is better than the centre; differences do not count."""
        return self._lead < self._centre

    def _begin(self) -> Nothing:
        """Everything up to the best point from which the search goes on, or `_ForeignError`."""
        run, known = self._run, self._known
        self._say("none", False, "the search had not begun")
        self._lead = run.best_f  # of what the user knows
        values = yield from run.spend("start", run.evaluate(np.zeros(run.dimension)), lambda _: Reason.DONE)
        self._centre = float(values[0])
        if self._start is not None:
            yield from run.spend("start", self._try((self._start + HALF) / WIDTH), lambda _: Reason.DONE)
        if known.members < LEAST_MEMBERS:
            yield from self._take_star(np.arange(run.dimension))
            raise _ForeignError(f"it has {known.members} members, and needs {LEAST_MEMBERS}")
        if not math.isfinite(self._centre):
            raise _ForeignError("the function has no value at the centre of the box")
        if self._method.has("gate"):
            yield from self._look_for_kin()
        yield from self._look_at_seeds()
        if not self._won:
            raise _ForeignError("no end of a member is better than the centre")

    def _look_for_kin(self) -> Nothing:
        """Leave a function whose centre looks like no member's."""
        known = self._known
        if not known.familiar(self._centre):
            raise _ForeignError("the value at the centre is unlike those of members")
        kin = known.whole_kin if self._wants_gradient else known.kin
        if kin is None:
            return
        yield from self._take_star(kin.coordinates)
        gradient = self._gradient[kin.coordinates]
        if not np.isfinite(gradient).all():
            raise _ForeignError("the gradient at the centre is not finite")
        self._likeness = kin.likeness(gradient)
        if self._likeness < kin.limit:
            raise _ForeignError(
                f"the gradient at the centre points where no member's does (likeness {self._likeness:.2f}, members "
                f"have {kin.limit:.2f} or more)"
            )

    def _take_star(self, coordinates: np.ndarray) -> Nothing:
        points, steps, _ = star(np.zeros(self._run.dimension))
        asked = self._run.evaluate_aside(points[coordinates])
        values = yield from self._run.spend("differences at the centre", asked, lambda _: Reason.DONE)
        self._gradient[coordinates] = (values - self._centre) / (steps[coordinates] / WIDTH)

    @property
    def _wants_gradient(self) -> bool:
        """Whether a jump by the gradient is worth its differences, by its left-out error, before it is paid for."""
        features = self._known.gradient_features
        if features is None or not self._method.has("jump"):
            return False
        best = jumps(features, features[0], self._known.ends)
        alone = self._by_centre(float(self._known.centre[0]))
        return bool(best) and best[0].error < min(WEAK_JUMP, (alone.error if alone else math.inf) - BETTER_JUMP)

    def _by_centre(self, centre: float) -> Jump | None:
        known = self._known
        if not np.isfinite(known.centre).all() or known.scale_free:
            return None
        found = jumps(known.centre_features(known.centre), known.centre_features(np.asarray(centre)), known.ends)
        return found[0] if found else None

    def _look_at_seeds(self) -> Nothing:
        run, known = self._run, self._known
        paid = int(np.isfinite(self._gradient).sum())
        count = int(min(MOST_SEEDS, run.dimension, max(SEEDS_SHARE * run.budget - paid, FEW_SEEDS), known.members))
        if self._method.has("jump"):
            count = yield from self._jump_first(count)
        odds = yield from run.spend("seeds", self._seeds(max(count, 1)), lambda _: Reason.DONE)
        if odds < ODDS_BELOW:
            raise _ForeignError("the ends of members do not beat the centre as often as they should")
        if self._method.has("jump") and known.compares and self._tried:
            found = self._late_jumps()
            if found and found[0].error < LATE_JUMP:
                yield from run.spend("jump", self._jump(found), lambda _: Reason.DONE)

    def _late_jumps(self) -> list[Jump]:
        """Predictions by the values of seeds, with and without the differences at the centre."""
        known = self._known
        features, own = known.features(self._tried), known.scaled(np.array([*self._values, self._centre]))
        found = jumps(features, own, known.ends)
        taken = np.flatnonzero(np.isfinite(self._gradient))
        if taken.size and known.gradient_features is not None:
            slopes = known.features_of(self._gradient, self._centre)[taken]
            both = np.column_stack([features, known.gradient_features[:, taken]])
            found += jumps(both, np.append(own, slopes), known.ends)
        return sorted(found, key=lambda jump: jump.error)

    def _jump_first(self, count: int) -> Generator[np.ndarray, np.ndarray, int]:
        """Jumps by what is known before any seed; how many seeds are still worth trying."""
        known = self._known
        jump = self._by_centre(self._centre)
        if np.isfinite(self._gradient).all() and known.gradient_features is not None:
            features = known.features_of(self._gradient, self._centre)
            found = jumps(known.gradient_features, features, known.ends)
            if found and found[0].error < WEAK_JUMP:
                yield from self._run.spend("jump", self._jump(found[:1]), lambda _: Reason.DONE)
                return min(count, FEW_SEEDS)
        if jump is not None and jump.error < WEAK_JUMP and not known.compares:
            yield from self._run.spend("jump", self._jump([jump]), lambda _: Reason.DONE)
            return count - 1
        return count

    def _jump(self, found: list[Jump]) -> Nothing:
        """Evaluate the best prediction, and the next one if it is elsewhere."""
        first = np.clip(found[0].point, 0, 1)
        yield from self._try(first)
        self._jumps.append(found[0]._replace(point=first))
        self._made += 1
        for other in found[1:2]:
            point = np.clip(other.point, 0, 1)
            if other.error < LATE_JUMP and np.linalg.norm(point - first) > FAR * math.sqrt(len(point)):
                yield from self._try(point)
                self._jumps.append(other._replace(point=point))
                self._made += 1

    def _seeds(self, count: int) -> Generator[np.ndarray, np.ndarray, float]:
        """Try ends of members; the odds that the function is of the family."""
        known, odds = self._known, 1.0
        middle = not known.has_cross and count >= MIDPOINT_FROM
        for t in range(count - middle):
            if t >= max(EARNED * count, 1) and not self._won:
                break
            j = known.next_seed(self._tried, np.array(self._values), self._centre)
            value = yield from self._try(known.ends[j])
            self._tried.append(j)
            self._values.append(value)
            if known.has_cross and self._method.has("gate"):
                rate = min(max(known.rate(j), FAIR), 0.95)
                odds *= rate / FAIR if value < self._centre else (1 - rate) / (1 - FAIR)
                if odds < ODDS_BELOW and not self._won:
                    return odds
        if middle and len(self._tried) >= 2:
            a, b = np.argsort(self._values, kind="stable")[:2]
            point = (known.ends[self._tried[a]] + known.ends[self._tried[b]]) / 2
            yield from self._try(point)
        return 1.0

    def _follow(self, plan: Plan) -> Nothing:
        """What suits the family, until it is done."""
        run, known, follow = self._run, self._known, plan.follow
        covariance = self._covariance()
        deviations = np.sqrt(np.linalg.eigvalsh(covariance).clip(0))
        run.remembers = False
        if follow == "evolution" and self._method.has("covariance"):
            size = float(np.exp(np.log(np.maximum(deviations, 1e-12)).mean()))
            squares, axes = np.linalg.eigh(covariance)
            factor = (axes * (np.sqrt(squares.clip(1e-24)) / size)) @ axes.T
            search = evolution(run, run.best_x, STEP * size * WIDTH, record=run.best_f, factor=factor)
            yield from run.spend("evolution, as the family", evolve(run, search))
        elif follow == "newton" and self._method.has("metric") and known.has_metric:
            length = METRIC_STEP * float(np.sqrt(np.trace(covariance) / run.dimension))
            newton = MetricNewton(run.best_x, run.best_f, known.metric, length)
            yield from run.spend("newton, as the family", descend(run, newton, None, NO_LINE, 1.0))

    def _covariance(self) -> np.ndarray:
        if not self._jumps:
            return self._known.covariance(None, False)
        best = (self._run.best_x + HALF) / WIDTH
        won = [jump for jump in self._jumps if np.allclose(jump.point, best, atol=1e-9)]
        return self._known.covariance((won or self._jumps)[-1].misses, bool(won))

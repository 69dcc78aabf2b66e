"""One search with a model of the family: the members' ends first, then what suits the family, behind gates.

1. The value at the centre, which the default asks for, too. Where the plan is closed for the budget: the default.
2. A third of the differences at the centre, which quasi-Newton will want, too, or as few as tell families apart. If the
   gradient points where no member's does, the function is not of this family: the default goes on, with all that was
   paid for.
3. Jumps to where kernel ridge expects the minimiser, if it was right on left-out members; seeds, the first three fixed,
   the others by the values so far. If they do not win as often as they should: the default.
4. From the best point: the default, with first steps as long as the members' ends are spread where it begins with a
   look; or an evolutionary search with the members' covariance, or quasi-Newton with their metric, and then the
   default from there.

Where gradients hardly tell families apart, none are paid for and nothing is taken on trust: a search that begins with a
look is the default's, and in a longer one the default has a fifth of the budget first, and an end of a member is worth
going on from only if it is better than what the default has reached by then. So it is where gradients are not known,
after the look.
"""

import dataclasses
import math
from collections.abc import Callable, Generator
from typing import NamedTuple, TypeAlias

import numpy as np

from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.newton import star
from l2e.portfolio.policy import LARGE_ABOVE
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, Steps
from l2e.portfolio.searches import Nothing, descend, evolution, evolve
from l2e.portfolio.stages import SAME_PLACE
from l2e.portfolio.transfer.jump import Jump
from l2e.portfolio.transfer.knowledge import LEAST_MEMBERS, Knowledge, Plan
from l2e.portfolio.transfer.leaps import LATE_JUMP, WEAK_JUMP, Leaps
from l2e.portfolio.transfer.newton import MetricNewton
from l2e.portfolio.transfer.paused import Paused
from l2e.portfolio.transfer.recall import Recalling

MOST_SEEDS, SEEDS_SHARE, FEW_SEEDS = 16, 0.2, 3
"""Seeds are at most this many, the dimension, and this share of the budget less what the gate cost, or a few."""

EARNED = 0.5
"""Until a seed beats the centre only this share of them is tried."""

FAIR, ODDS_BELOW = 0.25, 0.1
"""Of a wrong family a seed beats the centre this often; below these odds the function is foreign."""

SURE_JUMP = 0.35
"""After a jump by the user's features with a left-out error below this, or by the gradient, a few seeds are enough."""

FAR = 0.02
"""A second jump is made if it goes this far from the first one, in the unit cube."""

STEP = 0.25
"""First step of the evolutionary search, in deviations of the members' covariance."""

MIDPOINT_FROM = 4
"""With so many seeds the last evaluation is the middle of the best two."""

NEAR_STEP, LEAST_NEAR = 0.5, 1e-3
"""First steps of the default near the best point, in mean deviations of the covariance, and the least."""

METRIC_STEP = 0.5
"""First step of quasi-Newton with the metric, in mean deviations of the covariance."""


class Transferred(NamedTuple):
    """What a model did in a search: `result.model`."""

    strategy: str
    """What followed the seeds: "default", "near", "evolution", "newton"; "none" if the model was not used."""
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


RACE_FROM, RACE, LEAST_RACE = 8, 0.2, 5
"""With so many evaluations per dimension the default has this share of them, or this number per dimension if that is
more and it begins with a look, before a model in doubt is asked; one whose gradients are known to tell nothing is not
asked at all in a search that begins with a look."""

Default: TypeAlias = Callable[[np.ndarray | None], Steps | Nothing]
"""The default method from a start on, or from its own."""


def refuses(known: Knowledge, plan: Plan) -> bool:
    """Whether a search with such a plan is the default's from its first evaluation on."""
    return not plan.opened and known.members >= LEAST_MEMBERS


class _ForeignError(Exception):
    """The function is not of this family."""


class TransferSearch:
    """One search with a model.

    **Arguments:** `known`: the members; `plan`: what to do with the budget; `run`: the evaluations; `default`: what
    goes on in the end; `start`: of the user; `left_out`: parts that are not used; `traits`: features of the function;
    `differences`: whether the gradient at the centre can be had: values are exact and coordinates continuous.
    """

    def __init__(
        self,
        known: Knowledge,
        plan: Plan,
        run: Recalling | MixedRun,
        default: Default,
        start: np.ndarray | None,
        left_out: tuple[str, ...] = (),
        traits: np.ndarray | None = None,
        differences: bool = True,
    ):
        self._known, self._run, self._default, self._start = known, run, default, start
        self._left_out, self._differences = left_out, differences
        self._leaps = Leaps(known, traits)
        self._doubtful = self._has("gate") and not (differences and known.tells_foreign(run.budget / run.dimension))
        plain = self._doubtful or run.dimension > LARGE_ABOVE or not differences
        self._plan = plan._replace(follow="default") if plain else plan
        self._bar = math.inf  # what seeds must be better than; the centre if there was no race
        self._paused: Paused | None = None
        self._tried: list[int] = []
        self._values: list[float] = []
        self._jumps: list[Jump] = []
        self._made = 0
        self._centre = math.nan
        self._likeness = math.nan
        self._lead = math.inf
        self._gradient = np.full(run.dimension, np.nan)

    def steps(self) -> Nothing:
        """The whole search; it ends only where every point of a grid was evaluated."""
        plan = self._plan
        try:
            if refuses(self._known, plan):
                raise _ForeignError(plan.why)
            yield from self._begin()
        except _ForeignError as foreign:
            self._say("none", False, str(foreign))
            self._forget_seeds()
        else:
            self._say(plan.follow, True, plan.why)
            yield from self._follow(plan)
        self._pay_again()
        if self._paused is not None and not self._run.account.facts["model"].trusted:
            yield from self._paused.resume()
        else:
            yield from self._default(self._goes_on_from())

    @property
    def _looks(self) -> bool:
        """Whether the default begins with a look, and has no use for differences at the centre."""
        return self._run.policy.looks(self._run.dimension, self._run.budget)

    def _has(self, part: str) -> bool:
        return part not in self._left_out

    def _pay_again(self) -> None:
        """From here on a point that is asked for twice is evaluated twice, as the default does."""
        if isinstance(self._run, Recalling):
            self._run.remembers = False

    def _forget_seeds(self) -> None:
        """The default's models must not see what was tried for nothing: ends of another family lie anywhere.

        Nor is a difference at the centre a better place to begin than the centre.
        """
        run = self._run
        if run.dimension <= run.policy.look_up_to and 0 < np.abs(run.best_x).max() <= SAME_PLACE:
            run.best_x, run.best_f = np.zeros(run.dimension), self._centre
        if self._tried and self._paused is None:
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
        ask = self._run.evaluate if self._paused is None else self._run.evaluate_aside
        value = float((yield from ask(point * WIDTH - HALF)).min())
        self._lead = min(self._lead, value)
        return value

    @property
    def _won(self) -> bool:
        """Whether anything that was proposed is better than the centre, or the default; differences do not count."""
        return self._lead < min(self._centre, self._bar)

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
            if self._differences:
                yield from self._take_star(np.arange(run.dimension))
            raise _ForeignError(f"it has {known.members} members, and needs {LEAST_MEMBERS}")
        if not math.isfinite(self._centre):
            raise _ForeignError("the function has no value at the centre of the box")
        if self._has("gate"):
            yield from self._look_for_kin()
        if self._doubtful and isinstance(run, Recalling):
            if self._looks and self._differences and known.kin is not None:
                raise _ForeignError("gradients hardly tell families apart, and there is no time for a second look")
            if run.budget >= RACE_FROM * run.dimension:
                yield from self._race(run)
        yield from self._look_at_seeds()
        if not self._won:
            rival = "the centre" if self._paused is None else "what the default has found by itself"
            raise _ForeignError(f"no end of a member is better than {rival}")

    def _race(self, run: Recalling) -> Nothing:
        """The default with a share of the budget, which then waits."""
        self._say("none", False, "the default has its turn first")
        self._pay_again()
        paused = Paused(run, self._default(self._goes_on_from()))
        yield from paused.search_until(max(RACE * run.budget, LEAST_RACE * run.dimension if self._looks else 0))
        self._paused, self._bar, self._lead = paused, run.best_f, math.inf

    def _look_for_kin(self) -> Nothing:
        """Leave a function whose centre looks like no member's."""
        known = self._known
        if not known.familiar(self._centre):
            raise _ForeignError("the value at the centre is unlike those of members")
        if not self._differences or self._doubtful:
            return  # what cannot tell is not paid for
        kin = known.whole_kin if self._has("jump") and self._leaps.wants_gradient else known.kin
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

    def _look_at_seeds(self) -> Nothing:
        run, known = self._run, self._known
        paid = int(np.isfinite(self._gradient).sum())
        count = int(min(MOST_SEEDS, run.dimension, max(SEEDS_SHARE * run.budget - paid, FEW_SEEDS), known.members))
        if self._has("jump"):
            count = yield from self._jump_first(count)
        odds = yield from run.spend("seeds", self._seeds(max(count, 1)), lambda _: Reason.DONE)
        if odds < ODDS_BELOW:
            raise _ForeignError("the ends of members do not beat the centre as often as they should")
        if self._has("jump") and (self._paused is None or self._won):
            found = self._leaps.by_values(self._tried, self._values, self._centre, self._gradient)
            if found and found[0].error < LATE_JUMP:
                yield from run.spend("jump", self._jump(found), lambda _: Reason.DONE)

    def _jump_first(self, count: int) -> Generator[np.ndarray, np.ndarray, int]:
        """Jumps by what is known before any seed; how many seeds are still worth trying."""
        jump, sure = self._leaps.by_gradient(self._gradient, self._centre), WEAK_JUMP
        if jump is None or jump.error >= WEAK_JUMP:
            jump, sure = self._leaps.by_centre(self._centre), SURE_JUMP if self._leaps.has_traits else 0.0
            if jump is None or (self._known.compares and not self._leaps.has_traits):
                return count
        if jump.error >= WEAK_JUMP:
            return count
        yield from self._run.spend("jump", self._jump([jump]), lambda _: Reason.DONE)
        return min(count, FEW_SEEDS) if jump.error < sure else count - 1

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
            enough = FEW_SEEDS if self._paused is not None else max(EARNED * count, 1)
            if t >= enough and not self._won:
                break
            j = known.next_seed(self._tried, np.array(self._values), self._centre)
            value = yield from self._try(known.ends[j])
            self._tried.append(j)
            self._values.append(value)
            if known.has_cross and self._has("gate"):
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
        self._pay_again()
        if follow == "evolution" and self._has("covariance"):
            deviations = np.sqrt(np.linalg.eigvalsh(covariance).clip(0))
            size = float(np.exp(np.log(np.maximum(deviations, 1e-12)).mean()))
            squares, axes = np.linalg.eigh(covariance)
            factor = (axes * (np.sqrt(squares.clip(1e-24)) / size)) @ axes.T
            search = evolution(run, run.best_x, STEP * size * WIDTH, record=run.best_f, factor=factor)
            yield from run.spend("evolution, as the family", evolve(run, search))
        elif follow == "near" and self._has("covariance"):
            size = NEAR_STEP * float(np.sqrt(np.trace(covariance) / run.dimension))
            first = min(max(size, LEAST_NEAR), run.policy.first_step)
            run.policy = dataclasses.replace(run.policy, first_step=first)
        elif follow == "newton" and self._has("metric") and known.has_metric:
            length = METRIC_STEP * float(np.sqrt(np.trace(covariance) / run.dimension))
            newton = MetricNewton(run.best_x, run.best_f, known.metric, length)
            yield from run.spend("newton, as the family", descend(run, newton, 1.0))

    def _covariance(self) -> np.ndarray:
        if not self._jumps:
            return self._known.covariance(None, False)
        best = (self._run.best_x + HALF) / WIDTH
        won = [jump for jump in self._jumps if np.allclose(jump.point, best, atol=1e-9)]
        return self._known.covariance((won or self._jumps)[-1].misses, bool(won))

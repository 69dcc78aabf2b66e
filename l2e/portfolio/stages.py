"""The stages of a search: what is done, and when. The router runs them in order.

1. With very little to spend: a look, a trust-region search with points far apart; with little, a scout, the first
   generations of the evolutionary search. Then the learned gate says who goes on.
2. With more: quasi-Newton from the start, as long as it is sound and not slow.
3. Where a probe says separable: coordinate-wise search, then quasi-Newton again; before the scout, and before all else
   if the function is wavy. At a smooth minimum: other starts.
4. The evolutionary search with its surrogate: with quasi-Newton's point and metric where that was slow, stuck, or says
   that it converged and is wrong; then over the whole cube.
5. More of the cube: with much to spend a population told what is left, L-SHADE where pairs of coordinates hardly
   interact, else a shrinking evolution strategy, and other starts again after it; with less, evolutionary searches with
   a model from anywhere; with little left, a local search around the best.
"""

import dataclasses
import math
from collections.abc import Generator
from typing import Protocol

import numpy as np

from l2e.portfolio.evolution import Evolution
from l2e.portfolio.gate import Action, Chooses, by_hand
from l2e.portfolio.handover import distribution
from l2e.portfolio.newton import FIRST_SCALE_AFTER_LOOK, QuasiNewton, star
from l2e.portfolio.parallel import look_ahead_at
from l2e.portfolio.policy import CROSS_TERMS_UP_TO
from l2e.portfolio.probes import NO_LINE, Line, is_separable, look_along_line, ruggedness
from l2e.portfolio.reasons import NO_GRADIENT, Reason
from l2e.portfolio.run import WIDTH, Run, finish
from l2e.portfolio.searches import (
    Nothing,
    descend,
    evolution,
    evolve,
    polish,
    search_coordinates,
)
from l2e.portfolio.starts import Starts
from l2e.portfolio.trust_region import TrustRegion

SAME_PLACE = 1e-4
"""The best point is where quasi-Newton stands if no coordinate differs by more: it may be one of its differences."""


@dataclasses.dataclass
class Seen:
    """What the stages of one search know and tell each other."""

    run: Run
    start: np.ndarray
    gate: Chooses | None
    starts: Starts
    value: float = math.inf
    """At the start."""
    line: Line = NO_LINE
    along_axes: bool = False
    """The coordinates were searched before quasi-Newton."""
    look: TrustRegion | None = None
    scout: Evolution | None = None
    choice: Action = Action.NEWTON
    """Who goes on after the look or the scout."""
    newton: QuasiNewton | None = None
    reason: Reason = Reason.NOT_TRIED
    """Why quasi-Newton stopped, or why it was not tried."""
    weak: bool | None = None
    """Whether pairs of coordinates hardly interact; None if nobody looked."""

    @property
    def newton_is_best(self) -> bool:
        """Whether the best point is where quasi-Newton stands, whoever found it."""
        return self.newton is not None and bool(np.abs(self.run.best_x - self.newton.x).max() <= SAME_PLACE)


class Stage(Protocol):
    """One stage of the order."""

    @property
    def name(self) -> str:
        """Its name in the trace, should it fail."""
        ...

    def due(self, seen: Seen) -> bool:
        """Whether it is its turn."""
        ...

    def play(self, seen: Seen) -> Nothing:
        """Spend evaluations, and write into `seen` what later stages need."""
        ...


class FirstPoint:
    """Evaluate the start, unless it is known; of several, the best one stays."""

    name = "start"

    def due(self, seen: Seen) -> bool:
        return not np.isfinite(seen.value)

    def play(self, seen: Seen) -> Nothing:
        if seen.run.workers > 1 and np.ndim(seen.start) == 1:
            self._look_ahead(dataclasses.replace(seen, value=0.0))
        values = yield from seen.run.spend("start", seen.run.evaluate(seen.start), lambda values: Reason.DONE)
        best = int(np.argmin(values))
        seen.start, seen.value = np.atleast_2d(seen.start)[best], float(values[best])

    def _look_ahead(self, known: Seen) -> None:
        """What will be asked first once the start has a value is evaluated with it."""
        if FirstLine().due(known):
            look_ahead_at(known.run, look_along_line(known.run, known.start))
        elif FirstAxes().due(known):
            look_ahead_at(known.run, is_separable(known.run, known.start, known.value))
        elif Newton().due(known) and not Scout().due(known):
            known.run.look_ahead(star(known.start)[0][: known.run.workers - 1])


class FirstLine:
    """Look along a line through the start; where the function is rugged there, quasi-Newton is not tried."""

    name = "line"

    def due(self, seen: Seen) -> bool:
        run = seen.run
        rich = run.budget >= run.policy.line_from * run.dimension
        return rich and not Scout().due(seen) and newton_is_due(seen)

    def play(self, seen: Seen) -> Nothing:
        look = look_along_line(seen.run, seen.start)
        seen.line = yield from seen.run.spend("line", look, lambda line: f"{line.turns} turns")
        if seen.line.turns > seen.run.policy.rugged_turns:
            seen.reason = Reason.RUGGED
            seen.run.notes.add(str(Reason.WAVY))


class FirstAxes:
    """With little to spend: search along the coordinates first, if the function is separable, and where no scout is due
    also wavy.
    """

    name = "coordinates"

    def due(self, seen: Seen) -> bool:
        run, policy = seen.run, seen.run.policy
        poor = run.budget < policy.wavy_below * run.dimension
        wavy = seen.line.turns >= policy.wavy_turns
        return policy.has("coordinates") and (Scout().due(seen) or (poor and wavy)) and run.has_left(policy.wavy_room)

    def play(self, seen: Seen) -> Nothing:
        seen.along_axes = True
        at_start = seen.run.workers > 1 and seen.line is NO_LINE  # there the probe's points are known
        yield from search_coordinates(seen.run, (seen.start, seen.value) if at_start else None)


class Look:
    """A trust-region search whose points lie far apart; then the gate says who goes on."""

    name = "look"

    def due(self, seen: Seen) -> bool:
        run, policy = seen.run, seen.run.policy
        alone = run.workers == 1  # it asks for one point at a time
        return policy.has("look") and policy.looks(run.dimension, run.budget) and alone and is_sound(seen)

    def play(self, seen: Seen) -> Nothing:
        run, policy = seen.run, seen.run.policy
        start = (seen.start, seen.value) if seen.value <= run.best_f else (run.best_x, run.best_f)
        seen.look = TrustRegion(*start, policy.first_step * WIDTH, policy.look_least * WIDTH)
        limit = run.used + policy.look_for * run.dimension
        yield from run.spend("look", finish(seen.look, run, limit), lambda reason: choose(seen, seen.look))


class Scout:
    """With more to spend: the first generations of the evolutionary search; then the gate says who goes on."""

    name = "scout"

    def due(self, seen: Seen) -> bool:
        run, policy = seen.run, seen.run.policy
        low, high = (per_dimension * run.dimension for per_dimension in policy.scout_budgets)
        wanted = policy.has("scout") and run.dimension <= CROSS_TERMS_UP_TO and low < run.budget <= high
        return wanted and newton_is_due(seen)

    def play(self, seen: Seen) -> Nothing:
        run, policy = seen.run, seen.run.policy
        seen.scout = evolution(run, run.best_x, policy.first_step * WIDTH, record=run.best_f)
        yield from run.spend("scout", self._look_around(seen, seen.scout), str)

    def _look_around(self, seen: Seen, search: Evolution) -> Generator[np.ndarray, np.ndarray, str]:
        run, policy = seen.run, seen.run.policy
        limit = run.used + policy.scout_for * run.dimension
        yield from finish(search, run, run.used + policy.scout_at_least * run.dimension)
        if not run.best_f < seen.value:  # the start is a good one
            return f"then {seen.choice}"
        yield from finish(search, run, limit)
        return choose(seen, search)


class LookOn:
    """The look goes on, if the gate said so, or if quasi-Newton met ripples and there is little to spend."""

    name = "look"

    def due(self, seen: Seen) -> bool:
        little = seen.run.budget <= seen.run.policy.look_again * seen.run.dimension
        chosen = seen.choice is Action.LOOK or (seen.reason is Reason.RIPPLED and little)
        return seen.look is not None and chosen

    def play(self, seen: Seen) -> Nothing:
        assert seen.look is not None
        seen.look.adopt(seen.run.best_x, seen.run.best_f)
        yield from seen.run.spend("look", finish(seen.look, seen.run))


class Newton:
    """Quasi-Newton, from the start or from where the look or the scout arrived."""

    name = "newton"

    def due(self, seen: Seen) -> bool:
        return newton_is_due(seen) and seen.choice is Action.NEWTON

    def play(self, seen: Seen) -> Nothing:
        run = seen.run
        if seen.look is not None:
            seen.newton = QuasiNewton(run.best_x, run.best_f, FIRST_SCALE_AFTER_LOOK)
        elif seen.scout is not None:
            seen.newton = QuasiNewton(run.best_x, run.best_f)
        else:
            seen.newton = QuasiNewton(seen.start, seen.value)
        yield from follow(seen, seen.newton, patience=1.0)


class Axes:
    """Search along the coordinates, if the function is separable."""

    name = "coordinates"

    def due(self, seen: Seen) -> bool:
        run, policy = seen.run, seen.run.policy
        return policy.has("coordinates") and not seen.along_axes and run.has_left(policy.coordinates_room)

    def play(self, seen: Seen) -> Nothing:
        yield from search_coordinates(seen.run)


class PatientNewton:
    """Quasi-Newton again where it was slow, if the evolutionary search would be slower still."""

    name = "newton"

    def due(self, seen: Seen) -> bool:
        return seen.reason is Reason.SLOW and seen.run.dimension > CROSS_TERMS_UP_TO and seen.newton_is_best

    def play(self, seen: Seen) -> Nothing:
        assert seen.newton is not None
        yield from follow(seen, seen.newton, seen.run.policy.patience)


class Handover:
    """An evolutionary search with the point and metric of a quasi-Newton that was slow, stuck, or maybe wrong."""

    name = "handover"

    def due(self, seen: Seen) -> bool:
        return seen.reason in (Reason.SLOW, Reason.STUCK, Reason.CONVERGED) and seen.newton_is_best

    def play(self, seen: Seen) -> Nothing:
        run, newton = seen.run, seen.newton
        assert newton is not None
        known = distribution(newton, run.policy)
        if known is None:
            return
        sigma, factor = known
        search = evolution(run, newton.x, sigma, record=run.best_f, factor=factor)
        slow = seen.reason is Reason.SLOW and not run.rich
        doubt = math.inf if seen.reason is not Reason.CONVERGED else run.policy.handover_doubt * run.dimension
        yield from run.spend("handover", evolve(run, search) if slow else polish(run, search, newton, doubt))


class Evolve:
    """The evolutionary search: over the whole cube if there are several minima, else around the best point."""

    name = "evolution"

    def due(self, seen: Seen) -> bool:
        return True

    def play(self, seen: Seen) -> Nothing:
        run, policy = seen.run, seen.run.policy
        search = self._search(seen)
        if policy.has("global") and run.rich and run.has_left(policy.ruggedness_room):
            turns = yield from run.spend("ruggedness", ruggedness(run), lambda turns: f"{turns:.1f} turns per line")
            if turns > policy.ruggedness_above:
                most = min(policy.rugged_share * run.remaining, policy.rugged_most * run.dimension)
                yield from run.spend("evolution", finish(search, run, run.used + most))
                return
        yield from run.spend("evolution", evolve(run, search))

    def _search(self, seen: Seen) -> Evolution:
        run, sigma = seen.run, seen.run.policy.first_step * WIDTH
        if seen.scout is not None and (seen.choice is Action.WIDE or seen.reason in NO_GRADIENT):
            return seen.scout
        if seen.reason in (Reason.RUGGED, Reason.CONVERGED):
            run.forget()  # a minimum among several: look at the whole with fresh eyes
            return evolution(run, seen.start, sigma)
        if seen.look is not None and self._is_near(seen):
            sigma = float(np.clip(seen.look.radius, run.policy.look_narrow * WIDTH, sigma))
        # also after a search with quasi-Newton's metric, which may have been the wrong one
        return evolution(run, run.best_x, sigma, record=run.best_f)

    def _is_near(self, seen: Seen) -> bool:
        """Whether the search stays around where the look arrived."""
        left = seen.reason in (*NO_GRADIENT, Reason.RIPPLED)
        little = seen.run.budget <= seen.run.policy.look_near_up_to * seen.run.dimension
        return seen.choice in (Action.NEAR, Action.LOOK) or (left and little)


def newton_is_due(seen: Seen) -> bool:
    """Whether quasi-Newton is tried at all."""
    return seen.run.policy.has("newton") and is_sound(seen)


def is_sound(seen: Seen) -> bool:
    """Whether a local search from the start makes sense: it has a value, and the function is not rugged there."""
    return seen.reason is not Reason.RUGGED and bool(np.isfinite(seen.value))


def choose(seen: Seen, first: TrustRegion | Evolution | None) -> str:
    """Ask the gate who goes on; its answer in words."""
    assert first is not None
    seen.choice = by_hand(seen.run, first) if seen.gate is None else seen.gate.choose(seen.run, first)
    return f"then {seen.choice}"


def follow(seen: Seen, newton: QuasiNewton, patience: float) -> Nothing:
    """Quasi-Newton to its end, whose reason is noted."""
    seen.reason = Reason.FAILED  # unless it comes to its end
    seen.reason = yield from seen.run.spend("newton", descend(seen.run, newton, patience))
    seen.run.notes.add(str(seen.reason))

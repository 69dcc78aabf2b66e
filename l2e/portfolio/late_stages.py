"""The stages that look for other minima: other starts of quasi-Newton, and populations over the cube.

With much to spend, the first other starts are judged: did they have slopes to follow, and does a quadratic explain the
ranks of the points drawn for them, so that there is a way down that all of the cube shares? Where slopes lead to many
minima and nothing leads from one to another, more starts find more than a population does; where there are hardly any
slopes, none are tried any more; and in between a population has most of what is left.
"""

from collections.abc import Generator

import numpy as np

from l2e.portfolio.lshade import LShade
from l2e.portfolio.probes import pair_interactions
from l2e.portfolio.reasons import NO_GRADIENT, Reason
from l2e.portfolio.run import HALF, WIDTH, Run, finish
from l2e.portfolio.searches import Nothing, evolution, search_elsewhere
from l2e.portfolio.shrinking import Shrinking
from l2e.portfolio.stages import Seen

LEAST_INTERACTION = 1e-6
"""Added to interactions before their logarithm is taken."""


class OtherStarts:
    """At a smooth minimum, and with much to spend at one among many: quasi-Newton from other starts."""

    name = "other starts"

    def due(self, seen: Seen) -> bool:
        run, policy = seen.run, seen.run.policy
        wanted = seen.reason is Reason.CONVERGED or (run.rich and seen.reason is Reason.RUGGED)
        share = policy.other_starts_rich if run.rich else policy.other_starts
        enough = share * run.remaining >= policy.other_starts_least * run.dimension
        return wanted and policy.has("global") and enough

    def play(self, seen: Seen) -> Nothing:
        run, policy = seen.run, seen.run.policy
        if not run.rich:
            limit = run.used + policy.other_starts * run.remaining
            seen.newton = yield from search_elsewhere(run, seen.starts, seen.newton, limit)
            return
        begin, rest = run.used, run.remaining
        limit = begin + policy.other_starts_rich * rest
        seen.newton = yield from search_elsewhere(run, seen.starts, seen.newton, limit, policy.starts_judged)
        yield from look_at_pairs(seen)
        share = starts_deserve(seen)
        seen.newton = yield from search_elsewhere(run, seen.starts, seen.newton, begin + share * rest)


class Cube:
    """One more search over the cube, or a local one when little is left."""

    name = "cube"

    def due(self, seen: Seen) -> bool:
        return True

    def play(self, seen: Seen) -> Nothing:
        run, policy = seen.run, seen.run.policy
        if policy.has("global") and run.rich and run.has_left(policy.population_room):
            yield from self._population(seen)
        elif policy.has("global") and run.remaining <= policy.kept_back * run.dimension:
            search = evolution(run, run.best_x, policy.last_step * WIDTH, record=run.best_f)
            yield from run.spend("around the best", finish(search, run))
        else:
            run.forget()
            anywhere = run.rng.uniform(-HALF, HALF, run.dimension)
            search = evolution(run, anywhere, policy.restart_step * WIDTH, populations=policy.restart_population)
            yield from run.spend("evolution", finish(search, run))

    def _population(self, seen: Seen) -> Nothing:
        run = seen.run
        yield from look_at_pairs(seen)
        if suits_lshade(seen):
            part, expert = "L-SHADE", LShade(run.dimension, run.remaining, run.best_x, run.best_f)
        else:
            part, expert = "shrinking", Shrinking(run.dimension, run.remaining, run.rng)
        yield from run.spend(part, finish(expert, run))


class LastStarts:
    """With much to spend: what a population left goes to other starts again, unless they are in vain."""

    name = "other starts"

    def due(self, seen: Seen) -> bool:
        run, policy = seen.run, seen.run.policy
        tried = seen.reason not in (*NO_GRADIENT, Reason.NOT_TRIED)
        sound = seen.starts.soundness >= policy.starts_unsound
        return tried and sound and policy.has("global") and run.rich

    def play(self, seen: Seen) -> Nothing:
        run = seen.run
        yield from search_elsewhere(run, seen.starts, None, run.budget - run.policy.kept_back * run.dimension)


def starts_deserve(seen: Seen) -> float:
    """The share of the rest that other starts of quasi-Newton deserve, by what those made so far showed."""
    policy = seen.run.policy
    if seen.starts.soundness < policy.starts_unsound:
        return 0.0
    if (
        not seen.weak
        and seen.starts.soundness >= policy.starts_sound
        and seen.starts.structure() < policy.structured_from
    ):
        return policy.other_starts_most
    return policy.other_starts_rich if seen.reason is Reason.CONVERGED else policy.other_starts_rugged


def suits_lshade(seen: Seen) -> bool:
    """Whether differences between points of a population say more than a distribution fitted to them."""
    policy, d = seen.run.policy, seen.run.dimension
    smooth = bool(seen.starts.ends) and seen.starts.soundness >= policy.starts_sound
    if seen.weak or smooth or d <= policy.lshade_up_to:
        return True
    return d <= policy.lshade_in_bowls_up_to and seen.starts.structure() >= policy.bowl_from


def look_at_pairs(seen: Seen) -> Nothing:
    """Tell whether pairs of coordinates hardly interact, unless that is known."""
    if seen.weak is None:
        look = pair_interactions(seen.run)
        seen.weak = yield from seen.run.spend(
            "interactions", _are_weak(seen.run, look), lambda weak: "weak" if weak else "strong"
        )


def _are_weak(run: Run, look: Generator[np.ndarray, np.ndarray, np.ndarray]) -> Generator[np.ndarray, np.ndarray, bool]:
    interactions = yield from look
    return float(np.mean(np.log10(interactions + LEAST_INTERACTION))) < run.policy.weak_interaction

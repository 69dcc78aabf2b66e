"""The searches of which stages are made: experts run until they are done, surpassed, slow or stagnating."""

import math
from collections.abc import Callable, Generator
from typing import TypeAlias

import numpy as np

from l2e.core.cma_defaults import default_population
from l2e.portfolio.coordinates import Coordinates
from l2e.portfolio.evolution import Evolution
from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.parallel import widened
from l2e.portfolio.probes import is_separable
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import Run, finish
from l2e.portfolio.starts import Starts
from l2e.portfolio.surrogate import Surrogate

LEAST_HANDOVER_GAIN = 1e-12
"""Of quasi-Newton's value: a search that takes over has to gain more than a few times this."""

Finished: TypeAlias = Generator[np.ndarray, np.ndarray, Reason]
Nothing: TypeAlias = Generator[np.ndarray, np.ndarray, None]


def take_turns(run: Run, part: str, turn: Callable[[int], Nothing], sample: Callable[[], Nothing]) -> Nothing:
    """Turn after turn until no point is left; a turn that fails is written down, one that asks for nothing is followed
    by random points.

    **Arguments:** `part`: who failed, in the trace; `turn`: a turn by its number; `sample`: asks for random points.
    """
    number = 0
    while not run.exhausted:
        before = run.used
        try:
            yield from turn(number)
        except Exception as error:  # noqa: BLE001 - no value that a function returns may end a search
            run.fail(part, error)
        if run.used == before:
            yield from run.spend("sampling", sample(), lambda nothing: Reason.DONE)
        number += 1


def descend(run: Run, newton: QuasiNewton, patience: float) -> Finished:
    """Quasi-Newton until it stops, meets ripples, or is slow.

    **Arguments:** `patience`: a factor of when it counts as slow.
    """
    minds = run.policy.minds_ripples(run.dimension, run.budget)
    while True:
        reason = yield from newton.step(run)
        if reason is not None:
            return reason
        if minds and newton.rippled(run.policy):
            return Reason.RIPPLED
        if newton.slow(run.policy, patience):
            return Reason.SLOW


def search_coordinates(run: Run, centre: tuple[np.ndarray, float] | None = None) -> Nothing:
    """If the function is separable: all coordinates at once, then quasi-Newton from the combined point.

    **Arguments:** `centre`: a point and its value, around which separability is tested; the best one if left out.
    """
    policy, d = run.policy, run.dimension
    probe = is_separable(run, *((run.best_x, run.best_f) if centre is None else centre))
    if not (yield from run.spend("separability", probe, lambda found: "separable" if found else "not separable")):
        return
    lines = policy.coordinates_rich if run.has_left(policy.coordinates_rich_from) else policy.coordinates
    lines = lines._replace(points=min(lines.points, run.remaining // d - policy.coordinates_reserve))
    if lines.points < lines.grid:
        return
    yield from run.spend("coordinates", finish(Coordinates(run.best_x, run.best_f, lines), run))
    yield from run.spend("newton", finish(QuasiNewton(run.best_x, run.best_f), run))


def search_elsewhere(
    run: Run, starts: Starts, best: QuasiNewton | None, limit: float, most: float = math.inf
) -> Generator[np.ndarray, np.ndarray, QuasiNewton | None]:
    """Quasi-Newton from other starts up to a limit; the search that found the best value, `best` if none is better.

    **Arguments:** `most`: of starts, with those made before.
    """
    while run.used < limit and len(starts.ends) < most:
        start = yield from run.spend("starts", starts.take(run), lambda start: Reason.DONE)
        newton = QuasiNewton(*start)
        starts.ends.append((yield from run.spend("newton", _descend_below(run, newton, limit))))
        if best is None or newton.f < best.f:
            best = newton
    return best


def _descend_below(run: Run, newton: QuasiNewton, limit: float) -> Finished:
    """Quasi-Newton until it stops, the limit is reached, or it will hardly get below the best value."""
    while run.used < limit:
        reason = yield from newton.step(run)
        if reason is not None:
            return reason
        if newton.optimistic_bound(run.policy) > run.best_f:
            return Reason.SURPASSED
    return Reason.LIMIT


def evolution(
    run: Run,
    mean: np.ndarray,
    sigma: float,
    *,
    record: float = math.inf,
    populations: int = 1,
    factor: np.ndarray | None = None,
) -> Evolution:
    """An evolutionary search with its surrogate, as the budget wants it.

    With little to spend its models look near, with more over ripples, with much they are trusted with caution.

    **Arguments:** `mean`, `sigma`: in the working cube; `record`: the value to beat, infinite for a search of its own;
    `populations`: the population over its default; `factor`: the first factor of the covariance.
    """
    policy = run.policy
    reach = policy.near if run.budget <= policy.near_up_to * run.dimension else policy.wide
    margin = policy.trust_margin if run.rich else math.inf
    surrogate = Surrogate(policy, reach, margin) if policy.has("surrogate") else None
    population = widened(populations * default_population(len(mean)), run.workers)
    return Evolution(mean, sigma, population, surrogate, factor, record)


def evolve(run: Run, search: Evolution) -> Finished:
    """The evolutionary search until it is over; with much to spend and much left, also until it stagnates."""
    policy, d = run.policy, run.dimension
    window = policy.stagnation_window_least + policy.stagnation_window * d // search.population
    while True:
        reason = yield from search.step(run)
        if reason is not None:
            return reason
        late = run.used > policy.stagnation_from * run.budget
        much = policy.has("global") and run.rich and late and run.has_left(policy.stagnation_room)
        if much and len(search.bests) > 2 * window and stagnates(run, search, window):
            return Reason.STAGNATES


def polish(run: Run, search: Evolution, newton: QuasiNewton, doubt: float) -> Finished:
    """Go on from where quasi-Newton stopped, as long as it pays.

    **Arguments:** `doubt`: evaluations after which it must have gained far more than quasi-Newton expected, or it ends.
    """
    policy = run.policy
    window = max(policy.handover_window_least, math.ceil(policy.handover_window * run.dimension / search.population))
    expected = newton.expected if np.isfinite(newton.expected) else 0.0
    least = policy.handover_gain * max(expected, LEAST_HANDOVER_GAIN * abs(newton.f))
    while True:
        reason = yield from search.step(run)
        if reason is not None:
            return reason
        if search.used > doubt:
            if newton.f - search.best_f < least:
                return Reason.CONVERGED
            doubt = math.inf
        if len(search.bests) >= 2 * window and stagnates(run, search, window):
            return Reason.STAGNATES


def stagnates(run: Run, search: Evolution, window: int) -> bool:
    """Whether, over a window, the best improved little and the spread of the values did not shrink."""
    ratio = run.policy.stagnation_gain
    gain = min(search.bests[:-window]) - min(search.bests[-window:])
    shrunk = search.spreads[-1] < ratio * search.spreads[-window]
    return gain < ratio * search.spreads[-window] and not shrunk

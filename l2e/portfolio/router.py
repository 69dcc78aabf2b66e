"""Decides which expert spends the next evaluations."""

import dataclasses

import numpy as np

from l2e.core.cma_defaults import default_population
from l2e.portfolio.gate import Chooses
from l2e.portfolio.late_stages import Cube, LastStarts, OtherStarts
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run, Steps
from l2e.portfolio.searches import Nothing
from l2e.portfolio.stages import (
    Axes,
    Evolve,
    FirstAxes,
    FirstLine,
    FirstPoint,
    Handover,
    Look,
    LookOn,
    Newton,
    PatientNewton,
    Scout,
    Seen,
    Stage,
)
from l2e.portfolio.starts import Starts

STAGES: tuple[Stage, ...] = (
    FirstPoint(),
    FirstLine(),
    FirstAxes(),
    Look(),
    Scout(),
    Newton(),
    LookOn(),
    Axes(),
    PatientNewton(),
    OtherStarts(),
    Handover(),
    Evolve(),
    Cube(),
    LastStarts(),
)
"""The order of a search; each stage knows when it is due."""

LAST: Stage = Cube()
"""Repeated until the budget is used."""


@dataclasses.dataclass(frozen=True)
class Router:
    """Runs the stages of one search in order; `search` is the generator that does it.

    **Arguments:** `gate`: says who goes on after the first evaluations; None for a rule made by hand.
    """

    gate: Chooses | None = None

    def search(self, run: Run, start: np.ndarray | None = None) -> Steps:
        """Spend the whole budget, whatever the values; it never ends by itself and never raises.

        **Arguments:** `start`: one point or several, of which the best is taken; the best known one, or the middle of
        the cube, if there is none.
        """
        yield from self.plan(self.begin(run, start))

    def begin(self, run: Run, start: np.ndarray | None) -> Seen:
        """What is known before the first stage; `start` as for `search`."""
        if start is None:
            return Seen(run, run.best_x, self.gate, Starts(run.dimension), run.best_f)
        return Seen(run, start, self.gate, Starts(run.dimension))

    def plan(self, seen: Seen, left_out: tuple[type, ...] = ()) -> Nothing:
        """The stages in order, then the last one again and again.

        **Arguments:** `left_out`: stages of these kinds are not played.
        """
        run = seen.run
        for stage in STAGES:
            if not isinstance(stage, left_out):
                yield from guarded(stage, seen)
        while True:
            before = run.used
            yield from guarded(LAST, seen)
            if run.used == before:
                yield from run.spend("sampling", sample(run))


def guarded(stage: Stage, seen: Seen) -> Nothing:
    """Run a stage if it is due; if one of its experts fails, that is written down and the next stage has its turn."""
    try:
        if stage.due(seen):
            yield from stage.play(seen)
    except Exception as error:  # noqa: BLE001 - no value that a function returns may end a search
        seen.run.fail(stage.name, error)


def sample(run: Run) -> Steps:
    """A population of uniform random points: what is left when all else fails."""
    points = run.rng.uniform(-HALF, HALF, (default_population(run.dimension), run.dimension))
    yield from run.evaluate(points)
    return Reason.DONE

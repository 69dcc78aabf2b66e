"""Descent on a grid: steps along stepped coordinates and options of categories, quasi-Newton along the others."""

import numpy as np

from l2e.portfolio.mixed.run import MixedRun, Slice
from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import Steps
from l2e.portfolio.searches import Finished, Nothing

ROUNDS = 20
"""Of sweeps and descents, at most."""

FIRST_REACH = 4
"""The first sweep begins with steps of this share of the places of a coordinate."""

NEWTON_STEPS = 60
"""Of one descent, at most."""


class Settle:
    """Alternates sweeps over all steps and options with quasi-Newton along the continuous coordinates.

    **Arguments:** `x`, `f`: a snapped point and its value; `wide`: whether the first sweep takes long steps.
    """

    def __init__(self, x: np.ndarray, f: float, wide: bool = False):
        self.x, self.f = x.copy(), f
        self._wide = wide
        self._newton: QuasiNewton | None = None
        self._smooth = True

    def go(self, run: MixedRun, limit: float) -> Finished:
        """Until neither finds anything better, or the run has used so much."""
        for round_ in range(ROUNDS):
            before = self.f
            yield from self._sweep(run, limit, self._wide and round_ == 0)
            moved = self.f < before
            if round_ > 0 and not moved:
                return Reason.CONVERGED
            below = yield from self._descend(run, limit)
            if run.used >= limit:
                return Reason.LIMIT
            if not below and not moved:
                return Reason.CONVERGED
        return Reason.LIMIT

    def _descend(self, run: MixedRun, limit: float) -> Steps:
        """Quasi-Newton with all else fixed; it keeps its metric from one time to the next. Whether it gained."""
        columns = run.grid.continuous
        if not len(columns) or not self._smooth or not np.isfinite(self.f):
            return None
        part = Slice(run, columns, self.x)
        newton = QuasiNewton(self.x[columns], self.f)
        newton.adopt(self._newton)
        reason = None
        for _ in range(NEWTON_STEPS):
            reason = yield from newton.step(part)  # pyright: ignore[reportArgumentType]  # has all a step uses
            if reason is not None or run.used >= limit:
                break
        self._smooth = reason not in (Reason.NOISY, Reason.FLAT, Reason.JUMPS, Reason.NO_VALUES)
        if not self._smooth:
            run.notes.add(str(reason))
        gained = newton.f < self.f
        if gained:
            self.x, self.f, self._newton = part.whole(newton.x)[0], newton.f, newton
        return Reason.DONE if gained else None

    def _sweep(self, run: MixedRun, limit: float, wide: bool) -> Nothing:
        """One look along each stepped coordinate and each category, in random order."""
        grid = run.grid
        stepped = len(grid.stepped)
        for turn in run.rng.permutation(stepped + len(grid.groups)):
            if run.used >= limit:
                return
            if turn < stepped:
                count = int(grid.counts[turn])
                yield from self._line(run, int(turn), max(1, count // FIRST_REACH) if wide else 1, limit)
            else:
                yield from self._options(run, int(turn) - stepped)

    def _line(self, run: MixedRun, coordinate: int, reach: int, limit: float) -> Nothing:
        """Steps up and down, doubled while they pay, then halved down to one."""
        grow = reach == 1
        while reach >= 1 and run.used < limit:
            others = run.grid.neighbours(self.x, coordinate, reach)
            better = len(others) > 0 and (yield from self._try(run, others))
            if better and grow:
                reach *= 2
            elif better:
                continue
            else:
                grow = False
                reach //= 2

    def _options(self, run: MixedRun, group: int) -> Nothing:
        count = len(run.grid.groups[group])
        others = np.repeat(self.x[None], count, axis=0)
        run.grid.choose(others, group, np.arange(count))
        yield from self._try(run, others)

    def _try(self, run: MixedRun, points: np.ndarray) -> Steps:
        values = yield from run.evaluate(points)
        best = int(np.argmin(values))
        if not values[best] < self.f:
            return None
        self.x, self.f = run.grid.snap(points[best : best + 1])[0], float(values[best])
        return Reason.DONE

"""Quasi-Newton steps x - P^-1 grad f with gradients by finite differences: the numerical guidance at inference.

The paper's guidance path exists in training only, where the gradient comes from a proxy. Here P is the Hessian of
`l2e.portfolio.secants`. The expert knows its limits: it stops where differences are noise, where the function is flat,
where the surroundings of its minimum do not rise as its model says, and where it is slow.
"""

import itertools
from collections.abc import Generator

import numpy as np

from l2e.portfolio.line_search import (
    ARMIJO,
    LONGER,
    SENSELESS,
    TRIALS,
    Found,
    Line,
    Search,
    search_with_workers,
    shortened,
    unsmooth,
    vertex_of,
)
from l2e.portfolio.policy import Policy
from l2e.portfolio.progress import Progress
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, Batches, Run, Steps
from l2e.portfolio.secants import Curvature, Pair

STEP = 1.5e-8
"""Of forward differences, relative to coordinates beyond 1: about the root of the rounding error."""

CENTRAL = 300.0
"""Central differences have steps this many times longer: about its cube root."""

FIRST_SCALE = 300.0
"""The first inverse curvature is this many times what the first step says, so that early steps are long."""

FIRST_SCALE_AFTER_LOOK = 30.0
"""The same after a look: with so little to spend, few trials may be refused."""

FIRST_SCALE_WITH_WORKERS = 5.0
"""The same with several workers, where a refused trial costs a gradient."""

SCALES = (1e-12, 1e12)
"""The range of the first inverse curvature."""

REFINED = ((0.1, 0.7), (1.4, 4.0))
"""Of the first step, the vertex is tried as well if it lies this far along the step, shorter or longer."""

LEAST_DECREMENT = 1e-15
"""Expected gains below this share of the value, or of the same number, are none."""

MANY_FLAT = 0.5
"""The function is flat if more than this share of the differences is exactly zero."""

SLOPES = (1e-140, 1e140)
"""Gradients of a length outside of these are scaled before they are squared."""

SHORT_STEP = 1e-4
"""Shorter steps say nothing of ripples: where they are made, slopes are those of rounding."""

RECENT_GAINS = 4
"""Gains that are compared with as many before them to tell whether it is slow."""

LARGEST_RISE, LEAST_RISE = 10.0, 1e-300
"""Rises over modelled ones count up to this; modelled ones are at least this."""

AWAY = 2
"""Points that are looked at around a minimum."""


def star(x: np.ndarray, longer: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The points of forward differences at `x`, one per coordinate, their steps as numbers really differ, and as meant.

    **Arguments:** `longer`: a factor of the steps.
    """
    h = STEP * np.maximum(1.0, np.abs(x)) * longer
    forward = np.where(x + h <= HALF, h, -h)
    points = x + np.diag(forward)
    return points, np.diagonal(points) - x, forward


class QuasiNewton:
    """Box-constrained quasi-Newton from a point whose value is known; call `step` until it returns a reason.

    Reasons: `CONVERGED` (to a smooth minimum), `RUGGED` (to one among many), `STUCK`, `NO_DESCENT`, `NOISY`, `JUMPS`,
    `FLAT`, `NO_VALUES`.

    **Arguments:** `x`, `f`: the point and its value; `first_scale`: the first inverse curvature of a serial search over
    what its first step says.
    """

    def __init__(self, x: np.ndarray, f: float, first_scale: float = FIRST_SCALE):
        self.x, self.f = x.copy(), f
        self.f_first = f
        self.used = 0
        self.progress = Progress(x)
        self.gains: list[float] = []
        self.gradient: np.ndarray | None = None
        self.expected = np.inf
        """The gain that its model expects of the next step."""
        self._first_scale = first_scale
        self._curvature: Curvature | None = None
        self._former: Curvature | None = None
        self._central = False
        self._probed = False
        self._was_reset = False
        self._steepest = 0.0
        self._place = 1.0  # where the last line search ended

    def optimistic_bound(self, policy: Policy) -> float:
        """The value below which it will hardly get: what is left to gain is a few times the last and the next gain."""
        if len(self.gains) < policy.bound_from:
            return -np.inf
        return self.f - policy.bound_gains * max(self.gains[-1], self.expected)

    def adopt(self, former: "QuasiNewton | None") -> None:
        """Begin with the metric that another search in the same coordinates ended with."""
        if former is not None:
            self._curvature = former.curvature

    @property
    def curvature(self) -> Curvature | None:
        """Its model of the Hessian: after a reset the former one, until the new one has seen D steps."""
        known = self._curvature
        if self._former is not None and (known is None or len(known.pairs) < len(self.x)):
            return self._former
        return known

    def doubtful(self, policy: Policy) -> bool:
        """Whether its metric predicted the latest gradients badly: at kinks, and where the surface is rough."""
        return self.curvature is not None and self.curvature.error > policy.doubtful_above

    def rippled(self, policy: Policy) -> bool:
        """Whether the slopes at the ends of its first steps do not explain the changes of the value between them."""
        defects = self.progress.defects
        if not 0 < len(defects) <= len(policy.ripples_above):
            return False
        return sum(defects) / len(defects) > policy.ripples_above[len(defects) - 1]

    def slow(self, policy: Policy, patience: float) -> bool:
        """Whether it has used much and still gains steadily, which a search that starts with its metric does better.

        **Arguments:** `patience`: a factor of what counts as much.
        """
        least = policy.slow_from_in_doubt if self.doubtful(policy) else policy.slow_from
        if self.used < patience * least * len(self.x) or len(self.gains) < 2 * RECENT_GAINS:
            return False
        before, latest = self.gains[-2 * RECENT_GAINS : -RECENT_GAINS], self.gains[-RECENT_GAINS:]
        return sum(latest) > policy.slow_gains * sum(before)

    def step(self, run: Run) -> Steps:
        """One gradient, one direction, one line search."""
        before = run.used
        reason = yield from self._step(run)
        self.used += run.used - before
        return reason

    def _step(self, run: Run) -> Steps:
        policy = run.policy
        if self.gradient is None:
            self.gradient = yield from self._differences(run)
        g = self.gradient
        if not np.isfinite(g).all():
            return Reason.NO_VALUES
        if np.mean(g == 0) > MANY_FLAT and not self._at_corner(g):
            vanished = self.gains and np.abs(g).max() < policy.vanished_below * self._steepest
            return Reason.CONVERGED if vanished else Reason.FLAT
        self.progress.sloped(g)
        self._steepest = max(self._steepest, float(np.abs(g).max()))
        if self._curvature is None:
            return (yield from self._first(run, g))
        direction, decrement = self._newton(g, self._curvature.matrix())
        self.expected = decrement
        if not self._probed and self._superlinear(policy, decrement):
            self._probed = True
            if (yield from self._is_rugged(run, g)):
                return Reason.RUGGED
        if decrement <= LEAST_DECREMENT * max(abs(self.f), LEAST_DECREMENT):
            return (yield from self._after_failure(run))
        found = yield from self._search(run, g, direction)
        if isinstance(found, Reason):
            return (yield from self._after_failure(run))
        self._place = found.place
        yield from self._move(run, found.x, found.value)
        return None

    def _superlinear(self, policy: Policy, decrement: float) -> bool:
        """Whether gains fall as at a smooth minimum, and are small; at a kink what is left to gain never gets small."""
        last = [*self.gains[-2:], decrement]
        falling = all(after < policy.superlinear * before for before, after in itertools.pairwise(last))
        return falling and decrement < policy.probe_below * (self.f_first - self.f)

    def _at_corner(self, g: np.ndarray) -> bool:
        return bool(((self.x >= HALF) & (g < 0) | (self.x <= -HALF) & (g > 0)).any())

    def _difference_points(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points one step away along each coordinate, and the steps as the numbers really differ."""
        return star(x, CENTRAL if self._central else 1.0)[:2]

    def _differences(self, run: Run) -> Batches:
        if not self._central:
            points, steps = self._difference_points(self.x)
            values = yield from run.evaluate_aside(points)
            return (values - self.f) / steps
        points, steps, forward = star(self.x, CENTRAL)
        inside = np.abs(self.x - forward) <= HALF
        back = self.x - np.diag(np.where(inside, forward, 0.0))
        values = yield from run.evaluate_aside(np.concatenate([points, back]))
        ahead, behind = np.split(values, 2)
        both = (ahead - behind) / (steps + np.where(inside, np.abs(self.x - np.diagonal(back)) * np.sign(steps), 0.0))
        return np.where(inside, both, (ahead - self.f) / steps)

    def _free(self, g: np.ndarray) -> np.ndarray:
        """Coordinates that are not held at a face by the gradient."""
        return ~(((self.x >= HALF) & (g < 0)) | ((self.x <= -HALF) & (g > 0)))

    def _newton(self, g: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, float]:
        """The direction down and half the decrease that it promises."""
        free = self._free(g)
        direction = np.zeros_like(g)
        if free.any():
            try:
                direction[free] = -np.linalg.solve(hessian[np.ix_(free, free)], g[free])
            except np.linalg.LinAlgError:
                direction[free] = -g[free]
        if not np.isfinite(direction).all() or g @ direction >= 0:
            direction = np.where(free, -g, 0.0)
        return direction, float(-g @ direction) / 2

    def _first(self, run: Run, g: np.ndarray) -> Steps:
        """Along -g by a share of the box, then to the vertex of the parabola: it sets the scale of the curvature."""
        downhill = np.where(self._free(g), -g, 0.0)
        length = np.linalg.norm(downhill)
        if not SLOPES[0] < length < SLOPES[1] and downhill.any():
            downhill = downhill / np.abs(downhill).max()
            length = np.linalg.norm(downhill)
        if length == 0:
            return Reason.CONVERGED
        direction = downhill * (run.policy.first_step * WIDTH / length)
        found = yield from self._search(run, g, direction)
        if isinstance(found, Reason):
            return self._verdict(run.policy) if self.gains else found
        if any(low < found.vertex < high for low, high in REFINED):
            other = np.clip(self.x + found.vertex * found.place * direction, -HALF, HALF)
            second = float((yield from run.evaluate(other))[0])
            if second < found.value:
                found = found._replace(x=other, value=second)
        old_x, old_g = self.x, g
        yield from self._move(run, found.x, found.value)
        assert self.gradient is not None
        s, y = self.x - old_x, self.gradient - old_g
        curvature = s @ y
        longer = self._first_scale if run.workers == 1 else FIRST_SCALE_WITH_WORKERS
        scale = longer * (s @ s) / curvature if curvature > 0 else np.linalg.norm(s) / length
        self._curvature = Curvature(len(s), float(np.clip(scale, *SCALES)))
        self._curvature.learn(Pair(s, y))
        return None

    def _search(self, run: Run, g: np.ndarray, direction: np.ndarray) -> Search:
        """Backtracking along the projected line until a point is accepted."""
        if run.workers > 1:
            begin = 1.0 if self._curvature is None else min(1.0, LONGER * self._place)
            line = Line(self.x, self.f, g, direction, begin)
            return (yield from search_with_workers(run, line, self._difference_points, self._curvature, self.progress))
        place, steep = 1.0, False
        for trial in range(TRIALS):
            self.progress.tried(trial + 1)
            x = np.clip(self.x + place * direction, -HALF, HALF)
            move = x - self.x
            slope = float(g @ move)
            if not move.any():
                return Reason.NO_DESCENT
            value = float((yield from run.evaluate(x))[0])
            change = value - self.f
            if trial == 0:
                steep = abs(change) < SENSELESS * abs(slope)
                if self._curvature is None and abs(change) < run.policy.noise_below * abs(slope):
                    return unsmooth(g)  # a slope this steep over a step this long moved nothing
            vertex = vertex_of(change, slope)
            if change <= ARMIJO * slope and slope < 0:
                return Found(x, value, place, vertex)
            place *= shortened(value, vertex, trial)
        return unsmooth(g) if steep else Reason.NO_DESCENT

    def _move(self, run: Run, x: np.ndarray, f: float) -> Steps:
        old_x, old_g = self.x, self.gradient
        self.gains.append(self.f - f)
        self.progress.gained(self.f - f, self.expected)
        self.x, self.f = x, f
        self.gradient = yield from self._differences(run)
        self.progress.turned(old_g, self.gradient)
        if np.linalg.norm(x - old_x) > SHORT_STEP:
            self.progress.stepped(x - old_x, self.gains[-1], old_g, self.gradient)
        if self._curvature is not None and old_g is not None and np.isfinite(self.gradient).all():
            self._curvature.learn(Pair(x - old_x, self.gradient - old_g))
        return None

    def _after_failure(self, run: Run) -> Steps:
        """No step down: first better differences, then a fresh metric, then the end."""
        if not self._central:
            self._central = True
            self.gradient = yield from self._differences(run)
            return None
        if not self._was_reset:
            self._was_reset, self._former, self._curvature = True, self._curvature, None
            return None
        return self._verdict(run.policy)

    def _verdict(self, policy: Policy) -> Reason:
        """At a minimum the model says that there is nothing to gain that numbers could show; elsewhere it is wrong."""
        least = max(policy.converged_below * abs(self.f), policy.converged_share * (self.f_first - self.f))
        return Reason.CONVERGED if self.expected < least else Reason.STUCK

    def _is_rugged(self, run: Run, g: np.ndarray) -> Generator[np.ndarray, np.ndarray, bool]:
        """Whether the surroundings rise far less than the model of the minimum says."""
        assert self._curvature is not None
        away = run.rng.standard_normal((AWAY, len(self.x)))
        points = np.clip(self.x + away, -HALF, HALF)
        values = yield from run.evaluate(points)
        moves = points - self.x
        hessian = self._curvature.matrix()
        modelled = moves @ g + np.einsum("ki,ij,kj->k", moves, hessian, moves) / 2
        rises = np.maximum(values - self.f, 0) / np.maximum(modelled, LEAST_RISE)
        return bool(np.mean(np.minimum(rises, LARGEST_RISE)) < run.policy.rugged_rise)

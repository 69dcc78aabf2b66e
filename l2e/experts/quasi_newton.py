"""The numerical guidance of the method at inference: x - P^-1 grad f, the gradient by finite differences.

The paper's guidance path exists in training only, where the gradient comes from a proxy. Here P is the Hessian of
`l2e.experts.secants`. The expert knows its limits: it stops where differences are noise, where the function is flat,
where the surroundings of its minimum do not rise as its model says, and where it is slow.
"""

import itertools
from collections.abc import Generator
from typing import TypeAlias

import numpy as np

from l2e.experts.journal import Journal
from l2e.experts.run import HALF, Batches, Run, Steps
from l2e.experts.secants import Curvature, Pair

STEP = 1.5e-8
FIRST_LENGTH = 0.2 * 2 * HALF
FIRST_SCALE = 300.0
NOISE = 1e-4
ARMIJO = 1e-4
TRIALS = 9
RUGGED = 0.2
SUPERLINEAR = 0.3
SLOW_FROM, SLOW_FROM_IN_DOUBT = 100, 60
"""Evaluations per dimension before it may be slow; on kinks, where its metric predicts badly, it is sooner."""

DOUBTFUL_ABOVE = 10.0

Found: TypeAlias = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, float] | None]


class QuasiNewton:
    """Box-constrained quasi-Newton from a point whose value is known; call `step` until it returns a reason.

    Reasons: "converged" (to a smooth minimum), "rugged" (to one among many), "stuck" (no step down although the model
    says so: a kink), "noisy", "flat", "failed".
    """

    def __init__(self, x: np.ndarray, f: float):
        self.x, self.f = x.copy(), f
        self.f_first = f
        self.used = 0
        self.journal = Journal(x)
        self.gains: list[float] = []
        self.gradient: np.ndarray | None = None
        self._curvature: Curvature | None = None
        self._former: Curvature | None = None
        self._central = False
        self._probed = False
        self._resets = 0
        self._steepest = 0.0
        self.expected = np.inf  # what the model says is still to gain
        self.patience = 1.0  # it is slow only after so many times what is usual

    @property
    def hopeless(self) -> float:
        """The value below which it will hardly get: what is left to gain is a few times the last and the next gain."""
        if len(self.gains) < 3:
            return -np.inf
        return self.f - 4 * max(self.gains[-1], self.expected)

    @property
    def curvature(self) -> Curvature | None:
        """What it knows of the Hessian: after a reset the former metric, until the new one has seen D steps."""
        known = self._curvature
        if self._former is not None and (known is None or len(known.pairs) < len(self.x)):
            return self._former
        return known

    @property
    def doubtful(self) -> bool:
        """Whether its metric predicted the latest gradients badly: at kinks, and where the surface is rough."""
        return self.curvature is not None and self.curvature.error > DOUBTFUL_ABOVE

    @property
    def slow(self) -> bool:
        """Whether it has used much and still gains steadily, which a search that starts with its metric does better."""
        least = SLOW_FROM_IN_DOUBT if self.doubtful else SLOW_FROM
        if self.used < self.patience * least * len(self.x) or len(self.gains) < 8:
            return False
        return sum(self.gains[-4:]) > 0.2 * sum(self.gains[-8:-4])

    def step(self, run: Run) -> Steps:
        """One gradient, one direction, one line search."""
        before = run.used
        reason = yield from self._step(run)
        self.used += run.used - before
        return reason

    def _step(self, run: Run) -> Steps:
        if self.gradient is None:
            self.gradient = yield from self._differences(run)
        g = self.gradient
        if not np.isfinite(g).all():
            return "failed"
        if np.mean(g == 0) > 0.5 and not self._at_corner(g):
            return "converged" if self.gains and np.abs(g).max() < 1e-6 * self._steepest else "flat"
        self.journal.sloped(g)
        self._steepest = max(self._steepest, float(np.abs(g).max()))
        if self._curvature is None:
            return (yield from self._first(run, g))
        direction, decrement = self._newton(g, self._curvature.matrix())
        self.expected = decrement
        if not self._probed and self._superlinear(decrement) and decrement < 1e-8 * (self.f_first - self.f):
            self._probed = True
            if (yield from self._is_rugged(run, g)):
                return "rugged"
        if decrement <= 1e-15 * max(abs(self.f), 1e-15):
            return (yield from self._after_failure(run))
        found = yield from self._search(run, g, direction)
        if found is None:
            return (yield from self._after_failure(run))
        yield from self._move(run, *found)
        return None

    def _superlinear(self, decrement: float) -> bool:
        """Whether gains fall as at a smooth minimum; at a kink what is left to gain never gets small."""
        last = [*self.gains[-2:], decrement]
        return all(after < SUPERLINEAR * before for before, after in itertools.pairwise(last))

    def _at_corner(self, g: np.ndarray) -> bool:
        return bool(((self.x >= HALF) & (g < 0) | (self.x <= -HALF) & (g > 0)).any())

    def _differences(self, run: Run) -> Batches:
        h = STEP * np.maximum(1.0, np.abs(self.x)) * (300.0 if self._central else 1.0)
        forward = np.where(self.x + h <= HALF, h, -h)
        points = self.x + np.diag(forward)
        steps = points[np.arange(len(h)), np.arange(len(h))] - self.x  # as the numbers really differ
        if not self._central:
            values = yield from run.evaluate(points, remember=False)
            return (values - self.f) / steps
        inside = np.abs(self.x - forward) <= HALF
        back = self.x - np.diag(np.where(inside, forward, 0.0))
        values = yield from run.evaluate(np.concatenate([points, back]), remember=False)
        ahead, behind = np.split(values, 2)
        both = (ahead - behind) / (steps + np.where(inside, np.abs(self.x - np.diagonal(back)) * np.sign(steps), 0.0))
        return np.where(inside, both, (ahead - self.f) / steps)

    def _free(self, g: np.ndarray) -> np.ndarray:
        """Coordinates that are not held at a face by the gradient."""
        return ~(((self.x >= HALF) & (g < 0)) | ((self.x <= -HALF) & (g > 0)))

    def _newton(self, g: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, float]:
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
        if length == 0:
            return "converged"
        found = yield from self._search(run, g, downhill * (FIRST_LENGTH / length), refine=True)
        if found is None:
            return self._verdict() if self.gains else "noisy"
        old_x, old_g = self.x, g
        yield from self._move(run, *found)
        s, y = self.x - old_x, self.gradient - old_g  # type: ignore[operator]
        curvature = s @ y
        scale = FIRST_SCALE * (s @ s) / curvature if curvature > 0 else np.linalg.norm(s) / length
        self._curvature = Curvature(len(s), float(np.clip(scale, 1e-12, 1e12)))
        self._curvature.learn(Pair(s, y))
        return None

    def _search(self, run: Run, g: np.ndarray, direction: np.ndarray, refine: bool = False) -> Found:
        """Backtracking along the projected line; the accepted point and its value, or None."""
        t, best = 1.0, None
        for trial in range(TRIALS):
            self.journal.tried(trial + 1)
            x = np.clip(self.x + t * direction, -HALF, HALF)
            move = x - self.x
            slope = float(g @ move)
            if not move.any():
                return None
            value = float((yield from run.evaluate(x))[0])
            change = value - self.f
            if trial == 0 and self._curvature is None and abs(change) < NOISE * abs(slope):
                return None  # a slope this steep over a step this long moved nothing: the differences were noise
            vertex = -slope / (2 * (change - slope)) if change > slope else np.inf
            if change <= ARMIJO * slope and slope < 0:
                best = (x, value)
                if refine and (0.1 < vertex < 0.7 or 1.4 < vertex < 4.0):
                    other = np.clip(self.x + vertex * t * direction, -HALF, HALF)
                    second = float((yield from run.evaluate(other))[0])
                    if second < value:
                        best = (other, second)
                return best
            t *= float(np.clip(vertex, 0.05 if trial else 0.01, 0.5)) if np.isfinite(value) else 0.2
        return best

    def _move(self, run: Run, x: np.ndarray, f: float) -> Steps:
        old_x, old_g = self.x, self.gradient
        self.gains.append(self.f - f)
        self.journal.gained(self.f - f, self.expected)
        self.x, self.f = x, f
        self.gradient = yield from self._differences(run)
        self.journal.turned(old_g, self.gradient)
        if self._curvature is not None and old_g is not None and np.isfinite(self.gradient).all():
            self._curvature.learn(Pair(x - old_x, self.gradient - old_g))
        return None

    def _after_failure(self, run: Run) -> Steps:
        """No step down: first better differences, then a fresh metric, then the end."""
        if not self._central:
            self._central = True
            self.gradient = yield from self._differences(run)
            return None
        if self._resets == 0:
            self._resets, self._former, self._curvature = 1, self._curvature, None
            return None
        return self._verdict()

    def _verdict(self) -> str:
        """At a minimum the model says that there is nothing to gain that numbers could show; elsewhere it is wrong."""
        return "converged" if self.expected < max(1e-10 * abs(self.f), 1e-14 * (self.f_first - self.f)) else "stuck"

    def _is_rugged(self, run: Run, g: np.ndarray) -> Batches:
        """Whether the surroundings rise far less than the model of the minimum says."""
        away = run.rng.standard_normal((2, len(self.x)))
        points = np.clip(self.x + away, -HALF, HALF)
        values = yield from run.evaluate(points)
        moves = points - self.x
        hessian = self._curvature.matrix()  # type: ignore[union-attr]
        modelled = moves @ g + 0.5 * np.einsum("ki,ij,kj->k", moves, hessian, moves)
        rises = np.maximum(values - self.f, 0) / np.maximum(modelled, 1e-300)
        return np.asarray(np.mean(np.minimum(rises, 10.0)) < RUGGED)

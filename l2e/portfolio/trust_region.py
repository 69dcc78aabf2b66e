"""A trust-region search on quadratics through few points that lie far apart: the look with which a search begins.

M. J. D. Powell, "The NEWUOA software for unconstrained optimization without derivatives", 2006: a quadratic through up
to 2 D + 1 points whose Hessian changes as little as it can, a radius for steps, and a resolution `rho` that falls only
when the points around are near enough to say that nothing is to be gained at it. Its points are up to a fifth of the
cube apart, not a hundred-millionth as those of finite differences: each of them may be a better point.
"""

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from l2e.portfolio.quadratic import minimiser_within
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, Run, Steps
from l2e.portfolio.second_model import SecondModel

FAR = 2.0
"""A point farther away than this many radii is replaced by a nearer one before rho falls."""

SHORT = 0.5
"""A step below this share of rho is not evaluated."""

SHORT_IF_SURE = 1e-3
"""The same where the second model is nearly exact."""

POOR, GOOD = 0.1, 0.7
"""Gains over predicted ones: below the first the radius shrinks, above the second it may grow."""

SHRINK, GROW, CLOSE = 0.5, 2.0, 1.5
"""The radius shrinks and grows by these factors, and is rho if it is below this many times rho."""

SHARPER = 0.25
"""rho falls by this factor."""

SHARPENINGS = 20
"""As often rho may fall without an evaluation."""

NEAR = 0.1
"""A point that replaces a far one is this share of its distance away, or half a radius if that is less."""

NEARNESS = 4
"""The power of the distance with which far points are the first to be dropped."""

RIDGE = 1e-10
"""Added to the squared products of points, so that equations can be solved where points lie badly."""

FACES = 4
"""Rounds in which coordinates that meet a face of the cube are held."""


class Fit(NamedTuple):
    """The equations of a quadratic through the points: their inverse, the points around `base` in units of `scale`."""

    inverse: np.ndarray
    points: np.ndarray
    scale: float
    base: np.ndarray

    def shares(self, x: np.ndarray) -> np.ndarray:
        """The Lagrange polynomials of the points at `x`: by how much the model there follows each value."""
        u = (x - self.base) / self.scale
        count = len(self.points)
        return np.concatenate([0.5 * (self.points @ u) ** 2, [1.0], u]) @ self.inverse[:, :count]

    def shares_of(self, one: int, points: np.ndarray) -> np.ndarray:
        """The Lagrange polynomial of one point at several, shape (m, d) -> (m,)."""
        u = (points - self.base) / self.scale
        column, count = self.inverse[:, one], len(self.points)
        return 0.5 * (u @ self.points.T) ** 2 @ column[:count] + column[count] + u @ column[count + 1 :]


class TrustRegion:
    """Steps from a point whose value is known; call `step` until it returns a reason.

    **Arguments:** `x`, `f`: the point and its value; `rho`: the first distance between points, in the working cube;
    `least`: the distance at which it ends.
    """

    def __init__(self, x: np.ndarray, f: float, rho: float, least: float):
        d = len(x)
        self.x, self.f = x.copy(), f
        self.first_x, self.f_first, self.first = x.copy(), f, rho
        self.rho = self.radius = rho
        self.least = least
        self.points, self.values = x[None].copy(), np.asarray([f])
        self.gradient, self.hessian = np.zeros(d), np.zeros((d, d))
        self.ratios: list[float] = []
        """Of each step, its gain over the predicted one."""
        self.predicted = 0.0
        """The gain that the latest model promised."""
        self.second = SecondModel()
        self._axes = 0  # coordinates that were looked along
        self._fitted: Fit | None = None

    def adopt(self, x: np.ndarray, f: float) -> None:
        """Go on from a better point that another search found."""
        if f < self.f:
            self._take(x, f, int(np.argmax(np.linalg.norm(self.points - x, axis=1))))

    def step(self, run: Run) -> Steps:
        """One or two points, or the end."""
        if self._axes < len(self.x):
            return (yield from self._look_along(run))
        for _ in range(SHARPENINGS):
            if self.rho < self.least:
                return Reason.CONVERGED
            fit = self._fit()
            self.second.update(run, self.x, self.radius)
            s, promised = self._next_step()
            length = math.sqrt(float(s @ s))
            self.predicted = promised[int(self.second.is_followed)]
            short = SHORT_IF_SURE if self.second.is_sure else SHORT
            if length >= short * self.rho and self.predicted > 0:
                return (yield from self._try(run, fit, s, length, promised))
            far = self._farthest()
            if far is not None:
                return (yield from self._replace(run, far))
            self._sharpen()
        return Reason.CONVERGED

    def _next_step(self) -> tuple[np.ndarray, tuple[float, float]]:
        """The step of the model that is followed, and what both models promise of it."""
        second = self.second
        slope = (self.gradient, self.hessian)
        if second.is_followed and second.local is not None:
            slope = second.local.slope(self.x)
        s = self._minimiser(*slope)
        return s, (-float(self.gradient @ s + s @ self.hessian @ s / 2), second.gain(self.x, s))

    def _look_along(self, run: Run) -> Steps:
        """Two points along the next coordinate from the best one so far: on both sides, or both on the better one."""
        i, base, value = self._axes, self.x.copy(), self.f
        self._axes += 1
        ways = [way for way in (-self.rho, self.rho) if abs(base[i] + way) <= HALF]
        if not ways:
            return None
        way = ways[int(run.rng.integers(len(ways)))]
        first = yield from self._at(run, base, i, way)
        if first < value and abs(base[i] + 2 * way) <= HALF:
            yield from self._at(run, base, i, 2 * way)
        elif -way in ways:
            yield from self._at(run, base, i, -way)
        return None

    def _at(self, run: Run, base: np.ndarray, i: int, way: float) -> Generator[np.ndarray, np.ndarray, float]:
        x = base.copy()
        x[i] += way
        value = float((yield from run.evaluate(x))[0])
        if math.isfinite(value):
            self._take(x, value, None)
        return value

    def _try(self, run: Run, fit: Fit, s: np.ndarray, length: float, promised: tuple[float, float]) -> Steps:
        """Evaluate a step, and let radius and rho follow from what it gained."""
        x, before = np.clip(self.x + s, -HALF, HALF), self.f
        value = float((yield from run.evaluate(x))[0])
        if not math.isfinite(value):
            self.ratios.append(-1.0)
            self.radius *= SHRINK
            if self.radius < self.rho:
                self._sharpen()
            return None
        ratio = (before - value) / self.predicted
        self.ratios.append(ratio)
        self.second.judge(promised, before - value)
        self._take(x, value, self._least_useful(fit, x, value))
        if ratio < POOR:
            self.radius = min(SHRINK * self.radius, length)
        elif ratio < GOOD:
            self.radius = max(SHRINK * self.radius, length)
        else:
            self.radius = max(self.radius, min(GROW * length, GROW * self.radius))
        if self.radius < CLOSE * self.rho:
            self.radius = self.rho
        if ratio >= POOR:
            return None
        far = self._farthest()
        if far is not None:
            return (yield from self._replace(run, far))
        if max(length, self.radius) <= self.rho and ratio <= 0:
            self._sharpen()
        return None

    def _replace(self, run: Run, far: int) -> Steps:
        """A point nearby for one that is far, where it decides most of the model."""
        fit = self._fit()
        count = len(fit.points)
        column = fit.inverse[:, far]
        slope = column[count + 1 :]
        axes = np.linalg.eigh((fit.points.T * column[:count]) @ fit.points)[1]
        ways = axes.T[[0, -1]]
        steepness = math.sqrt(float(slope @ slope))
        if steepness > 0:
            ways = np.concatenate([ways, [slope / steepness]])
        apart = self.points[far] - self.x
        length = max(min(NEAR * math.sqrt(float(apart @ apart)), SHRINK * self.radius), self.rho)
        around = (self.x + length * np.concatenate([ways, -ways])).clip(-HALF, HALF)
        x = around[int(np.argmax(np.abs(fit.shares_of(far, around))))]
        value = float((yield from run.evaluate(x))[0])
        if math.isfinite(value):
            self._take(x, value, far)
        else:
            self.radius *= SHRINK
            self.rho *= SHRINK
        return None

    def _take(self, x: np.ndarray, value: float, instead: int | None) -> None:
        """Keep a point, in place of another one if there are enough."""
        if instead is None or len(self.points) < 2 * len(x) + 1:
            self.points, self.values = np.vstack([self.points, x]), np.append(self.values, value)
        else:
            self.points[instead], self.values[instead] = x, value
        if value < self.f:
            self.x, self.f = x.copy(), value
        self._fitted = None

    def _least_useful(self, fit: Fit, x: np.ndarray, value: float) -> int:
        """The point that a new one makes superfluous: it is far away, or lies in the same direction."""
        best = x if value < self.f else self.x
        distance = _lengths(self.points - best) / max(SHRINK * self.radius, self.rho)
        merit = np.abs(fit.shares(x)) * np.maximum(1.0, distance) ** NEARNESS
        if value >= self.f:
            merit[int(np.argmin(self.values))] = 0.0
        return int(np.argmax(merit))

    def _farthest(self) -> int | None:
        distance = _lengths(self.points - self.x)
        worst = int(np.argmax(distance))
        return worst if distance[worst] > FAR * max(self.radius, self.rho) else None

    def _sharpen(self) -> None:
        former = self.rho
        self.rho *= SHARPER
        self.radius = max(SHRINK * former, self.rho)

    def _fit(self) -> Fit:
        """Bring gradient and Hessian up to date: through all points, with the least change of the Hessian."""
        if self._fitted is not None:
            return self._fitted
        (n, d), scale = self.points.shape, self.radius
        s = (self.points - self.x) / scale
        equations = np.zeros((n + d + 1, n + d + 1))
        equations[:n, :n] = 0.5 * (s @ s.T) ** 2
        equations.flat[: n * (n + d + 2) : n + d + 2] += RIDGE
        equations[:n, n] = equations[n, :n] = 1
        equations[:n, n + 1 :], equations[n + 1 :, :n] = s, s.T
        try:
            inverse = np.linalg.inv(equations)
        except np.linalg.LinAlgError:
            inverse = np.linalg.pinv(equations)
        left = self.values - self.f - 0.5 * ((s @ (self.hessian * scale**2)) * s).sum(axis=1)
        solved = inverse[:, :n] @ left
        self.gradient = solved[n + 1 :] / scale
        self.hessian = self.hessian + (s.T * solved[:n]) @ s / scale**2
        self._fitted = Fit(inverse, s, scale, self.x.copy())
        return self._fitted

    def _minimiser(self, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        """The step to a minimiser of a model within the radius; coordinates that meet a face stay there."""
        lower, upper = -HALF - self.x, HALF - self.x
        if lower.max() < 0 < upper.min():  # not on a face, and mostly the step stays off them
            step = minimiser_within(gradient, *np.linalg.eigh(hessian), self.radius)
            if (step <= upper).all() and (step >= lower).all():
                return step
        s = np.zeros_like(self.x)
        free = ~(((upper <= 0) & (gradient < 0)) | ((lower >= 0) & (gradient > 0)))
        room = self.radius
        for _ in range(FACES):
            if not free.any() or room <= 0:
                break
            slope = (gradient + hessian @ s)[free]
            step = minimiser_within(slope, *np.linalg.eigh(hessian[np.ix_(free, free)]), room)
            ahead = np.where(step > 0, (upper - s)[free], (lower - s)[free])
            share = np.divide(ahead, step, out=np.full_like(step, np.inf), where=step != 0)
            least = float(min(1.0, share.min()))
            s[free] = s[free] + least * step
            if least >= 1.0:
                break
            met = np.flatnonzero(free)[share <= least]
            s[met] = np.where(step[share <= least] > 0, upper[met], lower[met])
            free[met] = False
            room = math.sqrt(max(self.radius**2 - float(s @ s), 0.0))
        return s


def _lengths(rows: np.ndarray) -> np.ndarray:
    return np.sqrt((rows * rows).sum(axis=1))

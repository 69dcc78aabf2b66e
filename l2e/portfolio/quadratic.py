"""A weighted ridge quadratic in the whitened frame of a search distribution, the power of f chosen by leave-one-out."""

import functools
import math
from typing import NamedTuple

import numpy as np

from l2e.portfolio.policy import CROSS_TERMS_UP_TO, Reach

POWERS = np.asarray([1.0, 0.5, 0.25])
"""Powers of f that are fitted; the one that predicts left-out points best is used."""

FREE_RIDGE, DIAGONAL_RIDGE, CROSS_RIDGE = 1e-10, 1e-7, 1e-6
"""Ridges of the slope and the isotropic curvature, of curvature along the axes, and of cross terms."""

LEAST_RIDGE = 1e-13
"""Added to all of them."""

RADIUS = 1.82
"""The radius of the trust region over the root of the dimension."""

FAR = 1e8
"""Points whose squared distance per dimension is beyond this are not fitted: there, rounding is all."""

RANK_FALL = 0.61
"""The weight of the worst point is less by this than that of the best."""

LEAST_LEFT_OUT = 1e-6
"""A point's own influence is at least this far from 1, so that left-out errors stay finite."""

MORE_POINTS = 2
"""Points beyond the dimension that every fit has."""

POINTS_PER_TERM = 1.5
"""A fit to uncertain numbers has cross terms only with this many points per coefficient."""

LEAST = 1e-300
"""Divisors are at least this."""

MULTIPLIER_STEPS, BRACKET, CLOSE, OFF_THE_POLE = 60, 1e-12, 1e-10, 1e-12
"""The search for the multiplier of a trust region: its steps, the relative bracket and the relative error of the radius
at which it ends, and how far it keeps from the smallest eigenvalue."""

SIZES = (1e-100, 1e100)
"""Quadratics of a size outside of these are scaled before they are squared."""


class Quadratic(NamedTuple):
    """f(u) ~ (c + b.u + u'Hu/2)^(1/q) + f_best near u = 0."""

    constant: float
    linear: np.ndarray
    hessian: np.ndarray
    power: float
    floor: float
    full: bool  # with cross terms
    minimiser: np.ndarray  # in the trust region
    fitted: np.ndarray  # predictions of the points used, on the scale of the fit
    values: np.ndarray
    age: np.ndarray
    squares: np.ndarray  # eigenvalues of the Hessian, from the least
    axes: np.ndarray  # and its eigenvectors
    solution: np.ndarray  # from weighted targets to coefficients
    target: np.ndarray  # the weighted targets, on the scale of the fit
    errors: np.ndarray  # how far each is missed by a fit without it

    def another(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope and Hessian of a fit to targets moved by their errors (a wild bootstrap): it could be true as well."""
        moved = self.solution @ (self.target + signs * self.errors)
        return _unpack(moved, len(self.linear), self.full)[1:]

    def predict(self, u: np.ndarray) -> np.ndarray:
        """On the scale of the fit; only the order means something."""
        return self.constant + u @ self.linear + 0.5 * ((u @ self.hessian) * u).sum(axis=1)

    def value(self, u: np.ndarray) -> np.ndarray:
        """On the scale of f."""
        return self.floor + np.maximum(self.predict(u), 0) ** (1 / self.power)


def terms_of(dimension: int) -> int:
    """How many coefficients a fit in this dimension has."""
    d = dimension
    return (d + 1) * (d + 2) // 2 if d <= CROSS_TERMS_UP_TO else 2 * d + 1


def fit_quadratic(u: np.ndarray, values: np.ndarray, age: np.ndarray, reach: Reach) -> Quadratic | None:
    """Fit to the nearest points; None where there are too few, all are alike, or numbers do not hold the fit.

    **Arguments:** `u`: points in the whitened frame; `values`: finite; `age`: of the points, handed through; `reach`:
    how far to look.
    """
    d = u.shape[1]
    terms = terms_of(d)
    distance = (u**2).sum(axis=1)
    nearest = np.argsort(distance)[: int(reach.points * terms) + d + MORE_POINTS]
    nearest = nearest[distance[nearest] < FAR * d]
    u, values, age, distance = u[nearest], values[nearest], age[nearest], distance[nearest]
    n = len(values)
    cross = d <= CROSS_TERMS_UP_TO and n >= terms  # with fewer, cross terms would explain anything
    if n <= d + MORE_POINTS:
        return None
    floor = float(values.min())
    span = float(values.max()) - floor
    if not span > 0:
        return None
    rank = np.empty(n)
    rank[np.argsort(values)] = np.arange(n)
    weights = (1 - RANK_FALL * rank / n) / (1 + distance / (reach.width * d)) ** 2
    roots = np.sqrt(weights)[:, None]
    scaled = _design(u, cross) * roots
    try:
        solution, hat = _factor(scaled, _ridges(d, cross))
    except np.linalg.LinAlgError:
        return None
    y = ((values - floor) / span)[:, None] ** POWERS
    target = y * roots
    coefficients = solution @ target
    residual = target - scaled @ coefficients
    errors = residual / np.maximum(1 - hat, LEAST_LEFT_OUT)[:, None]
    missed = (errors**2).sum(axis=0)
    spread = weights @ (y - weights @ y / weights.sum()) ** 2
    best = int(np.argmin(missed / np.maximum(spread, LEAST)))
    power = float(POWERS[best])
    size = span**power
    fitted = (y - residual / roots)[:, best] * size
    constant, linear, hessian = _unpack(coefficients[:, best] * size, d, cross)
    if not (np.isfinite(fitted).all() and np.isfinite(linear).all() and np.isfinite(hessian).all()):
        return None
    try:
        squares, axes = np.linalg.eigh(hessian)
        minimiser = minimiser_within(linear, squares, axes, RADIUS * math.sqrt(d))
    except (np.linalg.LinAlgError, OverflowError):
        return None
    known = constant, linear, hessian, power, floor, cross, minimiser, fitted, values, age, squares, axes
    return Quadratic(*known, solution, target[:, best] * size, errors[:, best] * size)


def fit_scores(u: np.ndarray, scores: np.ndarray, width: float) -> np.ndarray | None:
    """What a quadratic fitted to uncertain numbers makes of them; None where numbers do not hold the fit.

    **Arguments:** `u`: all points in the whitened frame; `scores`: one number each; `width`: where weights fall off.
    """
    n, d = u.shape
    cross = d <= CROSS_TERMS_UP_TO and n >= POINTS_PER_TERM * terms_of(d)
    roots = 1 / (1 + (u**2).sum(axis=1) / (width * d))
    scaled = _design(u, cross) * roots[:, None]
    try:
        solution, _ = _factor(scaled, _ridges(d, cross))
    except np.linalg.LinAlgError:
        return None
    fitted = scaled @ (solution @ (scores * roots)) / roots
    return fitted if np.isfinite(fitted).all() else None


def _design(u: np.ndarray, cross: bool) -> np.ndarray:
    """Columns 1, u, |u|^2, u_i^2, u_i u_j."""
    n, d = u.shape
    squared = u**2
    columns = [np.ones((n, 1)), u, squared.sum(axis=1, keepdims=True) / d, squared]
    if cross:
        first, second = _pairs(d)
        columns.append(u[:, first] * u[:, second])
    return np.concatenate(columns, axis=1)


@functools.cache
def _ridges(d: int, cross: bool) -> np.ndarray:
    """The ridge of each column: isotropic curvature is free, the rest costs."""
    free = [np.zeros(1), np.full(d, FREE_RIDGE), np.full(1, FREE_RIDGE), np.full(d, DIAGONAL_RIDGE)]
    return np.concatenate([*free, np.full(len(_pairs(d)[0]) if cross else 0, CROSS_RIDGE)])


@functools.cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(d, 1)
    return first, second


def _factor(scaled: np.ndarray, ridge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from targets to coefficients of a ridge regression, and the diagonal of the hat matrix."""
    n, p = scaled.shape
    penalty = (ridge + LEAST_RIDGE) * (float((scaled**2).sum()) / p)
    if n >= p:
        normal = scaled.T @ scaled
        normal.flat[:: p + 1] += penalty
        solve = np.linalg.solve(normal, scaled.T)
    else:
        narrowed = scaled / penalty
        kernel = narrowed @ scaled.T
        kernel.flat[:: n + 1] += 1
        solve = narrowed.T @ np.linalg.inv(kernel)
    hat = (scaled * solve.T).sum(axis=1)
    return solve, np.minimum(np.maximum(hat, 0.0), 1.0)


def _unpack(coefficients: np.ndarray, d: int, cross: bool) -> tuple[float, np.ndarray, np.ndarray]:
    constant, linear, isotropic = float(coefficients[0]), coefficients[1 : d + 1], coefficients[d + 1]
    rest = coefficients[d + 2 :]
    hessian = np.diag(2 * (isotropic / d + rest[:d]))
    if cross:
        first, second = _pairs(d)
        hessian[first, second] = hessian[second, first] = rest[d:]
    return constant, linear, hessian


def minimiser_within(linear: np.ndarray, squares: np.ndarray, axes: np.ndarray, radius: float) -> np.ndarray:
    """The minimiser of b.u + u'Hu/2 in |u| <= radius, from the eigenvalues and eigenvectors of H.

    The multiplier m solves |b / (h + m)| = radius: Newton's method on 1 / |.|, which is nearly linear in m, kept inside
    a bracket (Conn, Gould, Toint: Trust-region methods, 2000, 7.3). Plain numbers: the vectors are short.
    """
    size = max(float(np.abs(linear).max()), abs(float(squares[0])), abs(float(squares[-1])))
    if not SIZES[0] < size < SIZES[1] and size > 0:
        linear, squares = linear / size, squares / size
    b = (axes.T @ linear).tolist()
    h = squares.tolist()
    norm = math.sqrt(math.fsum(v * v for v in b))
    if not norm > 0:
        return np.zeros_like(linear)
    if h[0] > 0 and math.fsum((v / s) ** 2 for v, s in zip(b, h, strict=True)) <= radius * radius:
        return axes @ (-np.asarray(b) / squares)
    low = max(0.0, -h[0] + OFF_THE_POLE * max(abs(h[0]), abs(h[-1]), LEAST))
    high = low + norm / radius + max(abs(h[0]), LEAST)
    m = high
    for _ in range(MULTIPLIER_STEPS):
        total = slope = 0.0
        for v, s in zip(b, h, strict=True):
            gap = max(s + m, LEAST)
            square = (v / gap) ** 2
            total += square
            slope += square / gap
        length = math.sqrt(total)
        if length > radius:
            low = m
        else:
            high = m
        if high - low <= BRACKET * high or abs(length / radius - 1) < CLOSE:
            break
        m = m + (total / slope) * (length / radius - 1) if slope > 0 else low
        if not low < m < high:
            m = (low + high) / 2
    return axes @ (-np.asarray(b) / np.maximum(squares + high, LEAST))

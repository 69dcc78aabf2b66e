"""A weighted ridge quadratic in the whitened frame of a search distribution, the power of f chosen by leave-one-out."""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dtrsm  # pyright: ignore[reportAttributeAccessIssue] - compiled, without types
from scipy.linalg.lapack import dpotrf, dpotrs  # pyright: ignore[reportAttributeAccessIssue]

from l2e.portfolio.policy import CROSS_TERMS_UP_TO, Reach

POWERS = (1.0, 0.5, 0.25)
"""Powers of f that are fitted, each half of the one before; the one that predicts left-out points best is used."""

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


class Ridge(NamedTuple):
    """A ridge regression that is solved but for its targets: by the factor of its normal equations, or a matrix."""

    columns: np.ndarray  # a row for each coefficient
    factor: np.ndarray | None
    solve: np.ndarray | None

    def coefficients(self, targets: np.ndarray) -> np.ndarray:
        """A row of coefficients for each row of targets."""
        if self.solve is not None:
            return targets @ self.solve.T
        found, _ = dpotrs(self.factor, self.columns @ targets.T, lower=0)
        return found.T


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
    ridge: Ridge  # from weighted targets to coefficients
    target: np.ndarray  # the weighted targets, on the scale of the fit
    errors: np.ndarray  # how far each is missed by a fit without it

    def another(self, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slope and Hessian of a fit to targets moved by their errors (a wild bootstrap): it could be true as well."""
        moved = self.ridge.coefficients((self.target + signs * self.errors)[None])
        return _unpack(moved[0], len(self.linear), self.full)[1:]

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
    distance = np.einsum("ki,ki->k", u, u)
    nearest = distance.argsort()[: int(reach.points * terms) + d + MORE_POINTS]
    if not distance[nearest[-1]] < FAR * d:
        nearest = nearest[distance[nearest] < FAR * d]
    u, values, age, distance = u[nearest], values[nearest], age[nearest], distance[nearest]
    n = len(values)
    cross = d <= CROSS_TERMS_UP_TO and n >= terms  # with fewer, cross terms would explain anything
    if n <= d + MORE_POINTS:
        return None
    order = values.argsort()
    floor = float(values[order[0]])
    span = float(values[order[-1]]) - floor
    if not span > 0:
        return None
    weights = np.empty(n)
    weights[order] = _falling(n)
    weights /= (1 + distance / (reach.width * d)) ** 2
    roots = np.sqrt(weights)
    columns = _columns(u.T, roots, cross)
    y = _powers((values - floor) / span)
    target = y * roots
    try:
        ridge, hat = _solved(columns, _ridges(d, cross))
        coefficients = ridge.coefficients(target)
    except np.linalg.LinAlgError:
        return None
    residual = target - coefficients @ columns
    errors = residual / np.maximum(1 - hat, LEAST_LEFT_OUT)
    missed = (errors**2).sum(axis=1)
    best = int((missed / np.maximum(_spread(y, weights), LEAST)).argmin())
    power = POWERS[best]
    size = span**power
    fitted = (y[best] - residual[best] / roots) * size
    constant, linear, hessian = _unpack(coefficients[best] * size, d, cross)
    if not (np.isfinite(fitted).all() and np.isfinite(linear).all() and np.isfinite(hessian).all()):
        return None
    try:
        squares, axes = np.linalg.eigh(hessian)
        minimiser = minimiser_within(linear, squares, axes, RADIUS * math.sqrt(d))
    except (np.linalg.LinAlgError, OverflowError):
        return None
    known = constant, linear, hessian, power, floor, cross, minimiser, fitted, values, age, squares, axes
    return Quadratic(*known, ridge, target[best] * size, errors[best] * size)


def fit_scores(u: np.ndarray, scores: np.ndarray, width: float) -> np.ndarray | None:
    """What a quadratic fitted to uncertain numbers makes of them; None where numbers do not hold the fit.

    **Arguments:** `u`: all points in the whitened frame; `scores`: one number each; `width`: where weights fall off.
    """
    n, d = u.shape
    cross = d <= CROSS_TERMS_UP_TO and n >= POINTS_PER_TERM * terms_of(d)
    roots = 1 / (1 + (u**2).sum(axis=1) / (width * d))
    columns = _columns(u.T, roots, cross)
    try:
        ridge, _ = _solved(columns, _ridges(d, cross))
    except np.linalg.LinAlgError:
        return None
    fitted = (ridge.coefficients((scores * roots)[None]) @ columns)[0] / roots
    return fitted if np.isfinite(fitted).all() else None


def left_unexplained(u: np.ndarray, values: np.ndarray, width: float) -> float:
    """The share of the variance of values that a quadratic fitted to the others leaves of each, of the best power;
    more than 1 if it predicts worse than a constant, 0 where numbers do not hold the fit.

    **Arguments:** `u`: points around 0, in units of how far they are apart; `width`: where weights fall off.
    """
    d = u.shape[1]
    weights = 1 / (1 + (u**2).sum(axis=1) / (width * d)) ** 2
    roots = np.sqrt(weights)
    columns = _columns(u.T, roots, True)
    floor = float(values.min())
    y = _powers((values - floor) / (float(values.max()) - floor))
    try:
        ridge, hat = _solved(columns, _ridges(d, True))
    except np.linalg.LinAlgError:
        return 0.0
    residual = (y * roots - ridge.coefficients(y * roots) @ columns) / np.maximum(1 - hat, LEAST_LEFT_OUT)
    share = float(((residual**2).sum(axis=1) / np.maximum(_spread(y, weights), LEAST)).min())
    return share if math.isfinite(share) else 0.0


def _powers(values: np.ndarray) -> np.ndarray:
    """Values in [0, 1] to each of the powers, a row each."""
    y = np.empty((len(POWERS), len(values)))
    y[0] = values
    for i in range(1, len(POWERS)):
        np.sqrt(y[i - 1], out=y[i])  # each power is half the one before
    return y


def _spread(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted squares of how far each row's values are from their mean."""
    return (y - (y @ weights / weights.sum())[:, None]) ** 2 @ weights


def _columns(u: np.ndarray, roots: np.ndarray, cross: bool) -> np.ndarray:
    """1, u, |u|^2, u_i^2, u_i u_j of points given as columns (d, n), one row each, times the roots of the weights."""
    d, n = u.shape
    u = np.ascontiguousarray(u)
    rows = np.empty((2 * d + 2 + (d * (d - 1) // 2 if cross else 0), n))
    linear, squared = rows[1 : d + 1], rows[d + 2 : 2 * d + 2]
    rows[0] = roots
    np.multiply(u, roots, out=linear)
    np.multiply(u, linear, out=squared)
    rows[d + 1] = squared.sum(axis=0) / d
    if cross:
        first, second = _pairs(d)
        np.multiply(u[first], linear[second], out=rows[2 * d + 2 :])
    return rows


@functools.lru_cache(maxsize=1024)
def _falling(n: int) -> np.ndarray:
    """The weights of ranks."""
    return 1 - RANK_FALL * np.arange(n) / n


@functools.cache
def _ridges(d: int, cross: bool) -> np.ndarray:
    """The ridge of each column: isotropic curvature is free, the rest costs."""
    free = [np.zeros(1), np.full(d, FREE_RIDGE), np.full(1, FREE_RIDGE), np.full(d, DIAGONAL_RIDGE)]
    return np.concatenate([*free, np.full(len(_pairs(d)[0]) if cross else 0, CROSS_RIDGE)])


@functools.cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(d, 1)
    return first, second


def _solved(columns: np.ndarray, ridge: np.ndarray) -> tuple[Ridge, np.ndarray]:
    """A ridge regression, and the diagonal of its hat matrix.

    The normal equations are factored by Cholesky, a third of the work of solving them for every point.

    **Arguments:** `columns`: a row for each coefficient.
    """
    p, n = columns.shape
    penalty = (ridge + LEAST_RIDGE) * (float(np.vdot(columns, columns)) / p)
    if n >= p:
        normal = columns @ columns.T
        normal.flat[:: p + 1] += penalty
        factor, failed = dpotrf(normal.T, lower=0, clean=0)
        if not failed:
            half = dtrsm(1.0, factor, columns.T, side=1, lower=0)  # (n, p), of which the squares sum to the hat
            return Ridge(columns, factor, None), np.minimum(np.einsum("ij,ij->i", half, half), 1.0)
        solve = np.linalg.solve(normal, columns)
    else:
        narrowed = columns / penalty[:, None]
        kernel = columns.T @ narrowed
        kernel.flat[:: n + 1] += 1
        solve = narrowed @ np.linalg.inv(kernel)
    hat = np.einsum("ij,ij->j", columns, solve)
    return Ridge(columns, None, solve), np.minimum(np.maximum(hat, 0.0), 1.0)


def _unpack(coefficients: np.ndarray, d: int, cross: bool) -> tuple[float, np.ndarray, np.ndarray]:
    constant, linear, isotropic = float(coefficients[0]), coefficients[1 : d + 1], coefficients[d + 1]
    rest = coefficients[d + 2 :]
    hessian = np.zeros((d, d))
    if cross:
        hessian[_pairs(d)] = rest[d:]
        hessian += hessian.T
    hessian.flat[:: d + 1] = 2 * (isotropic / d + rest[:d])
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

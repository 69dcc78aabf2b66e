"""A weighted ridge quadratic in the whitened frame of a search distribution, the power of f chosen by leave-one-out."""

import functools
import math
from typing import NamedTuple

import numpy as np

POWERS = np.asarray([1.0, 0.5, 0.25])
DIAGONAL_RIDGE, CROSS_RIDGE = 1e-7, 1e-6
MAX_CROSS_DIMENSION = 24
RADIUS = 1.82
FAR = 1e8


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

    def predict(self, u: np.ndarray) -> np.ndarray:
        """On the scale of the fit; only the order means something."""
        return self.constant + u @ self.linear + 0.5 * ((u @ self.hessian) * u).sum(axis=1)

    def value(self, u: np.ndarray) -> np.ndarray:
        """On the scale of f."""
        return self.floor + np.maximum(self.predict(u), 0) ** (1 / self.power)


def terms_of(dimension: int) -> int:
    """How many coefficients a fit in this dimension has."""
    d = dimension
    return (d + 1) * (d + 2) // 2 if d <= MAX_CROSS_DIMENSION else 2 * d + 1


class Reach(NamedTuple):
    """How far a fit looks: how many of the nearest points per coefficient, and where their weights fall off."""

    points: float
    width: float


NEAR = Reach(1.4, 5.0)
"""Follows the shape of the function where it bends: gets down fast."""

WIDE = Reach(1.84, 13.0)
"""Looks over ripples and noise."""


def fit_quadratic(u: np.ndarray, values: np.ndarray, age: np.ndarray, reach: Reach = WIDE) -> Quadratic | None:
    """Fit to the nearest points; the power of f that predicts left-out points best is used."""
    d = u.shape[1]
    terms = terms_of(d)
    distance = (u**2).sum(axis=1)
    nearest = np.argsort(distance)[: int(reach.points * terms) + d + 2]
    nearest = nearest[distance[nearest] < FAR * d]  # beyond, rounding is all
    u, values, age, distance = u[nearest], values[nearest], age[nearest], distance[nearest]
    n = len(values)
    cross = d <= MAX_CROSS_DIMENSION and n >= terms  # with fewer, cross terms would explain anything
    if n < d + 3:
        return None
    floor = float(values.min())
    span = float(values.max()) - floor
    if not span > 0:
        return None
    rank = np.empty(n)
    rank[np.argsort(values)] = np.arange(n)
    weights = (1 - 0.61 * rank / n) / (1 + distance / (reach.width * d)) ** 2
    roots = np.sqrt(weights)[:, None]
    scaled = _design(u, cross) * roots
    solution, hat = _factor(scaled, _ridges(d, cross))
    y = ((values - floor) / span)[:, None] ** POWERS
    target = y * roots
    coefficients = solution @ target
    residual = target - scaled @ coefficients
    missed = ((residual / np.maximum(1 - hat, 1e-6)[:, None]) ** 2).sum(axis=0)
    spread = weights @ (y - weights @ y / weights.sum()) ** 2
    best = int(np.argmin(missed / np.maximum(spread, 1e-300)))
    power = float(POWERS[best])
    size = span**power
    constant, linear, hessian = _unpack(coefficients[:, best] * size, d, cross)
    fitted = (y - residual / roots)[:, best] * size
    squares, axes = np.linalg.eigh(hessian)
    minimiser = _within(linear, squares, axes, RADIUS * math.sqrt(d))
    return Quadratic(constant, linear, hessian, power, floor, cross, minimiser, fitted, values, age, squares, axes)


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
    free = [np.zeros(1), np.full(d, 1e-10), np.full(1, 1e-10), np.full(d, DIAGONAL_RIDGE)]
    return np.concatenate([*free, np.full(len(_pairs(d)[0]) if cross else 0, CROSS_RIDGE)])


@functools.cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(d, 1)
    return first, second


def _factor(scaled: np.ndarray, ridge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from targets to coefficients of a ridge regression, and the diagonal of the hat matrix."""
    n, p = scaled.shape
    penalty = (ridge + 1e-13) * (float((scaled**2).sum()) / p)
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
    constant, linear = float(coefficients[0]), coefficients[1 : d + 1]
    hessian = np.diag(2 * (coefficients[d + 1] / d + coefficients[d + 2 : 2 * d + 2]))
    if cross:
        first, second = _pairs(d)
        hessian[first, second] = hessian[second, first] = coefficients[2 * d + 2 :]
    return constant, linear, hessian


def _within(linear: np.ndarray, squares: np.ndarray, axes: np.ndarray, radius: float) -> np.ndarray:
    """The minimiser of b.u + u'Hu/2 in |u| <= radius, from the eigenvalues and eigenvectors of H.

    The multiplier m solves |b / (h + m)| = radius: Newton's method on 1 / |.|, which is nearly linear in m, kept inside
    a bracket (Conn, Gould, Toint: Trust-region methods, 2000, 7.3). Plain numbers: the vectors are short.
    """
    b = (axes.T @ linear).tolist()
    h = squares.tolist()
    norm = math.sqrt(math.fsum(v * v for v in b))
    if not norm > 0:
        return np.zeros_like(linear)
    if h[0] > 0 and math.fsum((v / s) ** 2 for v, s in zip(b, h, strict=True)) <= radius * radius:
        return axes @ (-np.asarray(b) / squares)
    low = max(0.0, -h[0] + 1e-12 * max(abs(h[0]), abs(h[-1]), 1e-300))
    high = low + norm / radius + max(abs(h[0]), 1e-300)
    m = high
    for _ in range(60):
        total = slope = 0.0
        for v, s in zip(b, h, strict=True):
            gap = max(s + m, 1e-300)
            square = (v / gap) ** 2
            total += square
            slope += square / gap
        length = math.sqrt(total)
        if length > radius:
            low = m
        else:
            high = m
        if high - low <= 1e-12 * high or abs(length / radius - 1) < 1e-10:
            break
        m = m + (total / slope) * (length / radius - 1) if slope > 0 else low
        if not low < m < high:
            m = (low + high) / 2
    return axes @ (-np.asarray(b) / np.maximum(squares + high, 1e-300))

"""A weighted ridge quadratic in the whitened frame of a search distribution, the power of f chosen by leave-one-out."""

from typing import NamedTuple

import numpy as np

POWERS = (1.0, 0.5, 0.25)
DIAGONAL_RIDGE, CROSS_RIDGE = 1e-7, 1e-6
MAX_CROSS_DIMENSION = 24
RADIUS = 1.82


class Quadratic(NamedTuple):
    """f(u) ~ (c + b.u + u'Hu/2)^(1/q) + f_best near u = 0."""

    constant: float
    linear: np.ndarray
    hessian: np.ndarray
    power: float
    floor: float
    full: bool  # cross terms were fitted from enough points
    minimiser: np.ndarray  # in the trust region
    fitted: np.ndarray  # predictions of the points used, on the scale of the fit
    values: np.ndarray
    age: np.ndarray

    def predict(self, u: np.ndarray) -> np.ndarray:
        """On the scale of the fit; only the order means something."""
        return self.constant + u @ self.linear + 0.5 * np.einsum("ni,ij,nj->n", u, self.hessian, u)

    def value(self, u: np.ndarray) -> np.ndarray:
        """On the scale of f."""
        return self.floor + np.maximum(self.predict(u), 0) ** (1 / self.power)


def terms_of(dimension: int) -> int:
    """How many coefficients a fit in this dimension has."""
    d = dimension
    return (d + 1) * (d + 2) // 2 if d <= MAX_CROSS_DIMENSION else 2 * d + 1


def fit_quadratic(u: np.ndarray, values: np.ndarray, age: np.ndarray) -> Quadratic | None:
    """Fit to the nearest points; the power of f that predicts left-out points best is used."""
    d = u.shape[1]
    cross = d <= MAX_CROSS_DIMENSION
    terms = terms_of(d)
    distance = (u**2).sum(axis=1)
    nearest = np.argsort(distance)[: int(1.84 * terms) + d + 2]
    u, values, age, distance = u[nearest], values[nearest], age[nearest], distance[nearest]
    keep = distance < 1e4 * d  # far points have nothing to say about here
    u, values, age, distance = u[keep], values[keep], age[keep], distance[keep]
    n = len(values)
    if n < d + 3:
        return None
    rank = np.argsort(np.argsort(values))
    weights = (1 - 0.61 * rank / n) / (1 + distance / (13 * d))
    design, ridge, pairs = _design(u, cross)
    scaled = design * np.sqrt(weights)[:, None]
    solution, hat = _factor(scaled, ridge)
    floor = float(values.min())
    best = None
    span = np.ptp(values)
    if not span > 0:
        return None
    for power in POWERS:
        y = ((values - floor) / span) ** power
        target = y * np.sqrt(weights)
        coefficients = solution @ target
        residual = target - scaled @ coefficients
        loo = residual / np.maximum(1 - hat, 1e-6)
        error = float((loo**2).sum() / max(float((weights * (y - np.average(y, weights=weights)) ** 2).sum()), 1e-300))
        if best is None or error < best[0]:
            best = (error, power, coefficients, y - residual / np.sqrt(weights))
    _, power, coefficients, fitted = best  # type: ignore[misc]
    size = span**power
    constant, linear, hessian = _unpack(coefficients, d, pairs)
    constant, linear, hessian, fitted = constant * size, linear * size, hessian * size, fitted * size
    minimiser = _trust_region(linear, hessian, RADIUS * np.sqrt(d))
    full = cross and n >= terms
    return Quadratic(constant, linear, hessian, power, floor, full, minimiser, fitted, values, age)


def _design(u: np.ndarray, cross: bool) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Columns 1, u, |u|^2, u_i^2, u_i u_j, and the ridge of each: isotropic curvature is free, the rest costs."""
    n, d = u.shape
    columns = [np.ones((n, 1)), u, (u**2).sum(axis=1, keepdims=True) / d, u**2]
    ridges = [np.zeros(1), np.full(d, 1e-10), np.full(1, 1e-10), np.full(d, DIAGONAL_RIDGE)]
    pairs = None
    if cross and d > 1:
        pairs = np.triu_indices(d, 1)
        columns.append(u[:, pairs[0]] * u[:, pairs[1]])
        ridges.append(np.full(len(pairs[0]), CROSS_RIDGE))
    return np.concatenate(columns, axis=1), np.concatenate(ridges), pairs


def _factor(scaled: np.ndarray, ridge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from targets to coefficients of a ridge regression, and the diagonal of the hat matrix."""
    n, p = scaled.shape
    size = np.mean(scaled**2) * n
    penalty = (ridge + 1e-13) * size
    if n >= p:
        normal = scaled.T @ scaled + np.diag(penalty)
        solve = np.linalg.solve(normal, scaled.T)
    else:
        narrowed = scaled / penalty
        kernel = narrowed @ scaled.T + np.eye(n)
        solve = narrowed.T @ np.linalg.inv(kernel)
    hat = np.einsum("np,pn->n", scaled, solve)
    return solve, np.clip(hat, 0.0, 1.0)


def _unpack(
    coefficients: np.ndarray, d: int, pairs: tuple[np.ndarray, np.ndarray] | None
) -> tuple[float, np.ndarray, np.ndarray]:
    constant, linear = float(coefficients[0]), coefficients[1 : d + 1]
    hessian = np.diag(2 * (coefficients[d + 1] / d + coefficients[d + 2 : 2 * d + 2]))
    if pairs is not None:
        hessian[pairs] = coefficients[2 * d + 2 :]
        hessian[(pairs[1], pairs[0])] = coefficients[2 * d + 2 :]
    return constant, linear, hessian


def _trust_region(linear: np.ndarray, hessian: np.ndarray, radius: float) -> np.ndarray:
    """argmin b.u + u'Hu/2 within |u| <= radius, by bisection on the multiplier in the eigenbasis."""
    squares, axes = np.linalg.eigh(hessian)
    b = axes.T @ linear
    norm = np.linalg.norm(b)
    if norm == 0:
        return np.zeros_like(linear)

    def point(multiplier: float) -> np.ndarray:
        return -b / np.maximum(squares + multiplier, 1e-300)

    low = max(0.0, -squares[0] + 1e-12 * max(abs(squares[0]), abs(squares[-1]), 1e-300))
    if squares[0] > 0 and np.linalg.norm(point(0.0)) <= radius:
        return axes @ point(0.0)
    high = low + norm / radius + max(abs(squares[0]), 1e-300)
    for _ in range(80):
        middle = (low + high) / 2
        if np.linalg.norm(point(middle)) > radius:
            low = middle
        else:
            high = middle
    return axes @ point(high)

"""Least distances and convex quadratic programs, by non-negative least squares.

C. L. Lawson and R. J. Hanson, "Solving least squares problems", 1974, chapter 23: of all y with G y >= h the shortest
is found by one non-negative least-squares problem; a convex quadratic program is one in other coordinates.
"""

from typing import NamedTuple

import numpy as np

INFEASIBLE = 1e-10
"""Residuals of the least-squares problem below this mean that no point fulfils the inequalities."""

LEAST_SQUARE = 1e-10
"""Eigenvalues of the Hessian are at least this share of the largest."""

ELASTIC = 1e3
"""What one unit of the elastic variable costs, over what the linear part may gain."""


class Step(NamedTuple):
    """The minimiser of a quadratic program, its multipliers, and the share of the violation that stays."""

    d: np.ndarray
    multipliers: np.ndarray
    left: float


def least_distance(rows: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The shortest y with rows . y >= sides, and the multipliers y = rows' m; None if there is none."""
    from scipy.optimize import nnls

    lengths = np.linalg.norm(rows, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    scale = max(float(np.abs(sides / lengths).max(initial=0.0)), 1e-300)
    rows, sides = rows / lengths[:, None], sides / lengths / scale
    matrix = np.concatenate([rows.T, sides[None]])
    goal = np.zeros(len(matrix))
    goal[-1] = 1.0
    try:
        u, _ = nnls(matrix, goal, maxiter=30 * matrix.shape[1])
    except RuntimeError:
        return None
    left = 1 - float(sides @ u)
    if not left > INFEASIBLE:
        return None
    return rows.T @ u / left * scale, u / left * scale / lengths


def project(point: np.ndarray, rows: np.ndarray, limits: np.ndarray, half: float) -> np.ndarray | None:
    """The nearest point with rows . x <= limits in the cube of this half width; None if there is none."""
    if (rows @ point <= limits).all() and (np.abs(point) <= half).all():
        return point
    eye = np.eye(len(point))
    sides = np.concatenate([rows @ point - limits, -half - point, point - half])
    found = least_distance(np.concatenate([-rows, eye, -eye]), sides)
    return None if found is None else np.clip(point + found[0], -half, half)


def quadratic_program(
    hessian: np.ndarray, linear: np.ndarray, rows: np.ndarray, limits: np.ndarray, low: np.ndarray, high: np.ndarray
) -> Step:
    """Minimise linear . d + d'Hd/2 with rows . d <= limits and low <= d <= high, where low <= 0 <= high.

    If that is impossible, an elastic variable relaxes what d = 0 violates, as little as possible.
    """
    step = _solve(hessian, linear, rows, limits, low, high)
    if step is not None:
        return Step(*step, 0.0)
    d = len(linear)
    size = max(float(np.abs(linear) @ (high - low)), float(np.trace(hessian)) / d, 1e-12) * ELASTIC
    wider = np.zeros((d + 1, d + 1))
    wider[:d, :d], wider[d, d] = hessian, size
    violated = np.maximum(-limits, 0.0)
    relaxed = np.concatenate([rows, -violated[:, None]], axis=1)
    step = _solve(wider, np.append(linear, size), relaxed, limits, np.append(low, 0.0), np.append(high, 1.0))
    if step is None:
        return Step(np.zeros(d), np.zeros(len(limits)), 1.0)
    return Step(step[0][:d], step[1], float(step[0][d]))


def _solve(
    hessian: np.ndarray, linear: np.ndarray, rows: np.ndarray, limits: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    squares, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    squares = np.maximum(squares, LEAST_SQUARE * max(float(squares[-1]), 1e-300))
    narrow = axes / np.sqrt(squares)  # d = narrow (y - shift)
    shift = narrow.T @ linear
    eye = np.eye(len(linear))
    inequalities = np.concatenate([-rows, eye, -eye])
    sides = np.concatenate([-limits, low, -high])
    found = least_distance(inequalities @ narrow, sides + inequalities @ narrow @ shift)
    if found is None:
        return None
    d = np.clip(narrow @ (found[0] - shift), low, high)
    return (d, found[1][: len(limits)]) if np.isfinite(d).all() else None

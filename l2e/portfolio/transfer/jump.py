"""The jump: kernel ridge from features of members to their minimisers, judged by leaving members out in closed form."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RIDGES = (0.003, 0.03, 0.3)
WIDTHS = (1.0, 4.0)
"""Of RBF kernels, in median distances of the members."""

LEAST_SQUARE = 1e-12

CONSTANT = 10.0
"""Of the kernels, over their size: the mean is learned nearly without ridge."""


class Jump(NamedTuple):
    """A prediction of the minimiser."""

    error: float
    """Of left-out members, over that of the mean of the others; below 1 it says something."""
    point: np.ndarray
    """Predicted for the new member."""
    misses: np.ndarray
    """Of left-out members, (M, D)."""


def jumps(features: np.ndarray, new: np.ndarray, ends: np.ndarray) -> list[Jump]:
    """Predictions by each kernel with its best ridge, best first.

    **Arguments:** `features`: of the members, (M, p); `new`: of the new one, (p,); `ends`: the members' minimisers.
    """
    m = len(ends)
    middle = ends.mean(axis=0)
    spread = float((((ends - middle) * m / (m - 1)) ** 2).sum())
    if spread < LEAST_SQUARE:
        return []
    scale = features.std(axis=0)
    scale = np.where(scale > 0, scale, 1)
    z, one = (features - features.mean(axis=0)) / scale, (new - features.mean(axis=0)) / scale
    found = [_best(kernel(z, z), kernel(one[None], z)[0], ends, middle, spread) for kernel in _kernels(z)]
    return sorted(found, key=lambda jump: jump.error)


def _kernels(z: np.ndarray) -> list[Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    middle = float(np.median(_squares(z, z)[np.triu_indices(len(z), 1)]))
    kernels: list[Callable[[np.ndarray, np.ndarray], np.ndarray]] = [lambda a, b: a @ b.T / a.shape[1]]
    if middle > 0:
        kernels += [lambda a, b, w=width: np.exp(-_squares(a, b) / (2 * w * w * middle)) for width in WIDTHS]
    return kernels


def _best(kernel: np.ndarray, row: np.ndarray, ends: np.ndarray, middle: np.ndarray, spread: float) -> Jump:
    m, aim = len(ends), ends - middle
    size = max(float(np.trace(kernel)) / m, LEAST_SQUARE)
    best: Jump | None = None
    for ridge in RIDGES:
        inverse = np.linalg.inv(kernel + ridge * size * np.eye(m) + CONSTANT * size)
        solved = inverse @ aim
        misses = solved / np.diagonal(inverse)[:, None]  # y_i less its prediction without i
        error = float((misses**2).sum()) / spread
        if best is None or error < best.error:
            best = Jump(error, middle + (row + CONSTANT * size) @ solved, misses)
    assert best is not None
    return best


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a[:, None] - b) ** 2).sum(axis=2)

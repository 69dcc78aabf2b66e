"""Tuning of a kernel machine: ridge, kernel mixture and length scales by cross-validation on generated data."""

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

ROWS, COLUMNS, FOLDS = 60, 5, 3
RIDGE, SCALE, MIXTURE = (-5.0, 1.0), (-1.5, 1.5), (-3.0, 3.0)
JITTER = 1e-9
KINDS = 4
"""Of members below `OTHERS`; from there on data come from other kinds."""

OTHERS = 1000


class Tuning:
    """A regression task: a drawn function of five columns, noise, three folds."""

    def __init__(self, rng: np.random.Generator, kind: int):
        x = rng.random((ROWS, COLUMNS))
        y = _target(x, kind, rng)
        y = (y - y.mean()) / y.std()
        self._y = y + rng.uniform(0.05, 0.4) * rng.standard_normal(ROWS)
        self._squares = ((x[:, None] - x) ** 2).transpose(2, 0, 1).reshape(COLUMNS, -1)
        self._products = (x - 0.5) @ (x - 0.5).T
        self._fold = np.arange(ROWS) % FOLDS

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """log10 of the mean squared error over the folds."""
        return np.array([self._error(point) for point in points])

    def _error(self, point: np.ndarray) -> float:
        distances = (10.0 ** point[:COLUMNS] @ self._squares).reshape(ROWS, ROWS)
        share = 1 / (1 + np.exp(-point[6]))
        rough = 1 / (1 + np.exp(-point[7]))
        kernel = share * ((1 - rough) * np.exp(-distances) + rough * np.exp(-np.sqrt(distances + 1e-12)))
        kernel += (1 - share) * self._products
        wrong = 0.0
        for fold in range(FOLDS):
            test = self._fold == fold
            train = ~test
            gram = kernel[np.ix_(train, train)]
            gram.flat[:: len(gram) + 1] += 10.0 ** point[5] + JITTER
            mean = self._y[train].mean()
            predicted = kernel[np.ix_(test, train)] @ np.linalg.solve(gram, self._y[train] - mean) + mean
            wrong += float(((predicted - self._y[test]) ** 2).sum())
        return float(np.log10(wrong / ROWS + 1e-12))


def _target(x: np.ndarray, kind: int, rng: np.random.Generator) -> np.ndarray:
    """A function of the columns; each kind uses them in its own way."""
    order = rng.permutation(COLUMNS)
    a, b, c, d, e = x[:, order].T
    strong = rng.uniform(0.5, 1.5, 4)
    kinds = (
        lambda: strong[0] * np.sin(np.pi * a * b) + 2 * strong[1] * (c - 0.5) ** 2 + strong[2] * d + 0.5 * e,
        lambda: strong[0] * a + strong[1] * b - strong[2] * c * d,
        lambda: np.exp(-4 * strong[0] * ((a - 0.4) ** 2 + (b - 0.6) ** 2)) + 0.3 * strong[1] * np.sin(5 * c),
        lambda: np.sin(2 * np.pi * strong[0] * a) + strong[1] * np.abs(b - 0.5),
        lambda: np.arctan((strong[0] * b - 1 / (b * c + 0.3)) / (a + 0.1)),
        lambda: np.sqrt(a**2 + (strong[0] * b * c - 0.2 / (b + 0.2)) ** 2) + 0.2 * e,
        lambda: (a > 0.5) * strong[0] + (b > c) * strong[1] + 0.3 * d,
    )
    return kinds[kind]()


def tuning(seed: int) -> HostFunction:
    """Kernel-ridge tuning in 8-D by three-fold cross-validation: members are data sets.

    Coordinates are log10 of five inverse squared length scales and of the ridge, and two mixtures of kernels. Data
    sets from seed 1000 on are of kinds that do not occur below: a test of transfer to data sets from elsewhere.
    """
    rng = drawn(6, seed)
    kind = int(rng.integers(KINDS)) if seed < OTHERS else KINDS + int(rng.integers(3))
    return member(Tuning(rng, kind), [SCALE] * COLUMNS + [RIDGE, MIXTURE, MIXTURE])

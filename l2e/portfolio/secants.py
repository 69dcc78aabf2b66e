"""A Hessian from all recent secants at once, for the quasi-Newton expert.

BFGS forgets: each update satisfies one secant equation and disturbs the others. Here the symmetric E that best
explains the last pairs, in the metric of the BFGS matrix B (an inverse Hessian), corrects it:

    s~ = B^-1/2 s,  y~ = B^1/2 y,  both over |s~|;  min_E sum_k w_k |E s~_k - (y~_k - s~_k)|^2 + ridge |E|^2
    H = B^-1/2 (I + E) B^-1/2, with |eigenvalues|

whose normal equation A E + E A = R + R' is solved in the eigenbasis of A.
"""

from typing import NamedTuple

import numpy as np

RIDGE = 1e-5
FADING = 0.75
"""Weight of a pair over that of the next one."""

TRUST_FADING = 0.7
"""How much of the smoothed errors stays at each pair."""

LARGEST_ERROR = 1e6
LEAST_COSINE = 1e-10
"""BFGS takes a pair only if s and y make at least this cosine."""

MAX_CONDITION = 1e16
"""Of the BFGS matrix."""

LEAST_SQUARE = 1e-12
"""Eigenvalues of the Hessian are at least this share of the largest."""

LEAST = 1e-300
"""Eigenvalues of the BFGS matrix are at least this."""


class Pair(NamedTuple):
    """A step and the change of the gradient over it."""

    s: np.ndarray
    y: np.ndarray


class Curvature:
    """Two models of the Hessian, BFGS and multi-secant, and which of them predicted the last pairs better.

    **Arguments:** `scale`: the first inverse Hessian is this multiple of the identity.
    """

    def __init__(self, dimension: int, scale: float):
        self.inverse = scale * np.eye(dimension)
        self.hessian = np.eye(dimension) / scale
        self.pairs: list[Pair] = []
        self._errors = np.zeros(2)  # of BFGS, of the multi-secant model

    def learn(self, pair: Pair) -> None:
        """Take in the pair of the last step; one that numbers cannot hold is left out."""
        try:
            bfgs = np.linalg.solve(self.inverse, pair.s)
        except np.linalg.LinAlgError:
            return
        size = pair.s @ bfgs
        if not (0 < size < np.inf and np.isfinite(pair.y).all()):
            return
        misses = np.stack([pair.y - bfgs, pair.y - self.hessian @ pair.s])
        errors = np.einsum("ki,ij,kj->k", misses, self.inverse, misses) / size
        errors = np.where(np.isnan(errors), LARGEST_ERROR, np.minimum(errors, LARGEST_ERROR))
        self._errors = TRUST_FADING * self._errors + (1 - TRUST_FADING) * errors
        self._update_bfgs(pair)
        self.pairs = [*self.pairs, pair][-2 * len(pair.s) :]
        hessian = self._explain()
        if hessian is not None:
            self.hessian = hessian

    @property
    def error(self) -> float:
        """How badly the better of the two predicted the latest changes of the gradient: 0 is exact, 1 is no use."""
        return float(self._errors.min())

    def matrix(self) -> np.ndarray:
        """The Hessian to step with."""
        if self._errors[1] <= self._errors[0]:
            return self.hessian
        try:
            return np.linalg.inv(self.inverse)
        except np.linalg.LinAlgError:
            return self.hessian

    def _update_bfgs(self, pair: Pair) -> None:
        s, y = pair
        curvature = s @ y
        if not curvature > LEAST_COSINE * np.linalg.norm(s) * np.linalg.norm(y):
            return
        left = np.eye(len(s)) - np.outer(s, y) / curvature
        updated = left @ self.inverse @ left.T + np.outer(s, s) / curvature
        if not np.isfinite(updated).all():
            return
        squares = np.linalg.eigvalsh(updated)
        if squares[0] > 0 and squares[-1] < MAX_CONDITION * squares[0]:
            self.inverse = (updated + updated.T) / 2

    def _explain(self) -> np.ndarray | None:
        """The multi-secant Hessian, or None where numbers do not hold it."""
        squares, axes = np.linalg.eigh(self.inverse)
        squares = np.maximum(squares, LEAST)
        root = (axes * np.sqrt(squares)) @ axes.T
        inverse_root = (axes / np.sqrt(squares)) @ axes.T
        s = np.stack([pair.s for pair in self.pairs]) @ inverse_root
        y = np.stack([pair.y for pair in self.pairs]) @ root
        sizes = np.linalg.norm(s, axis=1, keepdims=True)
        s, y = s / sizes, y / sizes
        weights = FADING ** np.arange(len(s) - 1, -1, -1)[:, None]
        gram = (weights * s).T @ s
        if not np.isfinite(gram).all():
            return None
        spread, basis = np.linalg.eigh(gram)
        residual = basis.T @ ((weights * (y - s)).T @ s) @ basis
        correction = basis @ ((residual + residual.T) / (2 * RIDGE + spread[:, None] + spread)) @ basis.T
        hessian = inverse_root @ (np.eye(len(squares)) + correction) @ inverse_root
        if not np.isfinite(hessian).all():
            return None
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        values = np.maximum(np.abs(values), LEAST_SQUARE * np.abs(values).max())
        return (vectors * values) @ vectors.T

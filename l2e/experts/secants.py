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
TRUST_FADING = 0.7


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
        """Take in the pair of the last step."""
        size = pair.s @ np.linalg.solve(self.inverse, pair.s)
        if not (size > 0 and np.isfinite(pair.y).all()):
            return
        bfgs = np.linalg.solve(self.inverse, pair.s)
        misses = np.stack([pair.y - bfgs, pair.y - self.hessian @ pair.s])
        errors = np.einsum("ki,ij,kj->k", misses, self.inverse, misses) / size
        self._errors = TRUST_FADING * self._errors + (1 - TRUST_FADING) * np.minimum(errors, 1e6)
        self._update_bfgs(pair)
        self.pairs = [*self.pairs, pair][-2 * len(pair.s) :]
        self.hessian = self._explain()

    @property
    def error(self) -> float:
        """How badly the better of the two predicted the latest changes of the gradient: 0 is exact, 1 is no use."""
        return float(self._errors.min())

    def matrix(self) -> np.ndarray:
        """The Hessian to step with."""
        if self._errors[1] <= self._errors[0]:
            return self.hessian
        return np.linalg.inv(self.inverse)

    def _update_bfgs(self, pair: Pair) -> None:
        s, y = pair
        curvature = s @ y
        if curvature <= 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            return
        left = np.eye(len(s)) - np.outer(s, y) / curvature
        updated = left @ self.inverse @ left.T + np.outer(s, s) / curvature
        squares = np.linalg.eigvalsh(updated)
        if np.isfinite(updated).all() and squares[0] > 0 and squares[-1] < 1e16 * squares[0]:
            self.inverse = (updated + updated.T) / 2

    def _explain(self) -> np.ndarray:
        squares, axes = np.linalg.eigh(self.inverse)
        squares = np.maximum(squares, 1e-300)
        root = (axes * np.sqrt(squares)) @ axes.T
        inverse_root = (axes / np.sqrt(squares)) @ axes.T
        s = np.stack([pair.s for pair in self.pairs]) @ inverse_root
        y = np.stack([pair.y for pair in self.pairs]) @ root
        sizes = np.linalg.norm(s, axis=1, keepdims=True)
        s, y = s / sizes, y / sizes
        weights = FADING ** np.arange(len(s) - 1, -1, -1)[:, None]
        spread, basis = np.linalg.eigh((weights * s).T @ s)
        residual = basis.T @ ((weights * (y - s)).T @ s) @ basis
        correction = basis @ ((residual + residual.T) / (2 * RIDGE + spread[:, None] + spread)) @ basis.T
        hessian = inverse_root @ (np.eye(len(squares)) + correction) @ inverse_root
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        values = np.maximum(np.abs(values), 1e-12 * np.abs(values).max())
        return (vectors * values) @ vectors.T

"""The curvature that members of a family share: BFGS replayed over their gradients, if it helps another one."""

from collections.abc import Sequence

import numpy as np

from l2e.portfolio.secants import Pair

LEAST_SQUARE = 1e-6
"""Eigenvalues of the metric are at least this share of the largest."""

ERRORS = 2.0
"""The metric is kept if it improves left-out steps by this many standard errors."""


def replayed(pairs: Sequence[Pair]) -> np.ndarray | None:
    """The Hessian that BFGS has after these pairs, of trace one; None without pairs."""
    if not pairs:
        return None
    first = pairs[0]
    hessian = np.eye(len(first.s)) * (first.y @ first.y) / (first.s @ first.y)
    for s, y in pairs:
        along = hessian @ s
        hessian = hessian - np.outer(along, along) / (s @ along) + np.outer(y, y) / (s @ y)
    return hessian / np.trace(hessian) if np.isfinite(hessian).all() and np.trace(hessian) > 0 else None


def shared(members: Sequence[Sequence[Pair]]) -> np.ndarray | None:
    """The mean metric of members, or None where it would not help a left-out one.

    **Arguments:** `members`: the secants of each.
    """
    known = [(hessian, pairs) for pairs in members if (hessian := replayed(pairs)) is not None]
    if len(known) < 3:
        return None
    total = np.sum([hessian for hessian, _ in known], axis=0)
    gains = [_gain(_floored((total - hessian) / (len(known) - 1)), pairs) for hessian, pairs in known]
    error = float(np.std(gains, ddof=1)) / np.sqrt(len(gains))
    return _floored(total / len(known)) if np.mean(gains) > ERRORS * error else None


def _gain(metric: np.ndarray, pairs: Sequence[Pair]) -> float:
    """How much nearer its preconditioned changes of the gradient are to the steps, as mean cosine."""
    s, y = np.stack([pair.s for pair in pairs]), np.stack([pair.y for pair in pairs])
    turned = np.linalg.solve(metric, y.T).T
    return float(np.mean(_cosines(turned, s) - _cosines(y, s)))


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def _floored(metric: np.ndarray) -> np.ndarray:
    squares, axes = np.linalg.eigh(metric)
    return (axes * np.maximum(squares, LEAST_SQUARE * squares[-1])) @ axes.T

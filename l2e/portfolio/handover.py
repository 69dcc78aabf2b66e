"""Quasi-Newton's point and metric as the first distribution of an evolutionary search.

With the Hessian H = V diag(h) V' of `l2e.portfolio.secants`, samples x + V diag(a) z with a_i = sqrt(2 g / (D h_i))
rise by g in the mean, where g is the mean of the last gains. Where H predicted the last gradients badly (kinks, a
surface too rough for it) only the root of its axis ratios is believed, and the samples are wider.
"""

import numpy as np

from l2e.portfolio.newton import QuasiNewton
from l2e.portfolio.policy import Policy

LEAST_SQUARE = 1e-12
"""Eigenvalues of the Hessian below this share of the largest are raised to it."""

LEAST_GAIN_OF_VALUE, LEAST_GAIN = 1e-13, 1e-300
"""Samples are meant to rise at least by this share of the value, and by this."""


def distribution(newton: QuasiNewton, policy: Policy) -> tuple[float, np.ndarray] | None:
    """Step and factor for a search from `newton.x`, or None if it learned nothing."""
    curvature = newton.curvature
    if curvature is None or not newton.gains:
        return None
    matrix = curvature.matrix()
    if not np.isfinite(matrix).all():
        return None
    squares, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    squares = np.maximum(squares, LEAST_SQUARE * squares[-1])
    latest = newton.gains[-policy.handover_gains :]
    gain = max(float(np.mean(latest)), LEAST_GAIN_OF_VALUE * abs(newton.f), LEAST_GAIN)
    lengths = np.sqrt(2 * gain / (len(squares) * squares))
    if newton.doubtful(policy):
        middle = np.exp(np.log(lengths).mean())
        lengths = policy.handover_widening * np.sqrt(middle * lengths)
    lengths = np.minimum(lengths, policy.handover_longest)
    sigma = float(np.exp(np.log(lengths).mean()))
    factor = (axes * (lengths / sigma)) @ axes.T
    return (sigma, factor) if sigma > 0 and np.isfinite(factor).all() else None

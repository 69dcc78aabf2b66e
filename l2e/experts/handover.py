"""What quasi-Newton knows when it yields, as the first distribution of an evolutionary search: its point and metric.

With the Hessian H = V diag(h) V' of `l2e.experts.secants`, samples x + V diag(a) z with a_i = sqrt(2 g / (D h_i))
rise by g in the mean, where g is the mean of the last gains. Where H predicted the last gradients badly (kinks, a
surface too rough for it) only the root of its axis ratios is believed, and the samples are wider.
"""

import numpy as np

from l2e.experts.quasi_newton import QuasiNewton

GAINS = 3
LONGEST = 1.0
DOUBTFUL_WIDTH = 10.0


def distribution(newton: QuasiNewton) -> tuple[float, np.ndarray] | None:
    """Step and factor for a search from `newton.x`, or None if it learned nothing."""
    curvature = newton.curvature
    if curvature is None or not newton.gains:
        return None
    matrix = curvature.matrix()
    if not np.isfinite(matrix).all():
        return None
    squares, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    squares = np.maximum(squares, 1e-12 * squares[-1])
    gain = max(float(np.mean(newton.gains[-GAINS:])), 1e-13 * abs(newton.f), 1e-300)
    lengths = np.sqrt(2 * gain / (len(squares) * squares))
    if newton.doubtful:
        middle = np.exp(np.log(lengths).mean())
        lengths = DOUBTFUL_WIDTH * np.sqrt(middle * lengths)
    lengths = np.minimum(lengths, LONGEST)
    sigma = float(np.exp(np.log(lengths).mean()))
    return sigma, (axes * (lengths / sigma)) @ axes.T

"""Minimise a plain Python function of a numpy vector within a counted budget."""

import numpy as np

import l2e


def rosenbrock(x: np.ndarray) -> float:
    """A curved valley with its minimum, 0, at (1, ..., 1)."""
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


result = l2e.minimize(
    rosenbrock,
    bounds=[(-5, 5)] * 6,  # one (low, high) pair per coordinate; never left
    budget=1200,  # evaluations, never exceeded; here 200 per dimension
    rng=0,  # the same seed gives the same result
    target=1e-10,  # optional: stop at the first value at or below it
)

print(f"f = {result.fun:.2e} after {result.nfev} evaluations ({result.message})")
print(f"x = {result.x.round(4)}")
print(f"confidence {result.confidence}, warnings: {result.warnings or 'none'}")
for evaluations in (50, 100, 200, 400):
    found = result.history.fun[result.history.nfev <= evaluations].min()
    print(f"best after {evaluations:4d} evaluations: {found:.2e}")

"""Minimise a plain Python function, with a target, a callback and a checkpoint."""

import tempfile
from pathlib import Path

import numpy as np

import l2e


def rosenbrock(x: np.ndarray) -> float:
    """A curved valley with its minimum 0 at (1, ..., 1)."""
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def report(intermediate_result) -> None:
    if intermediate_result.nit % 100 == 0:
        print(f"{intermediate_result.nfev:6d} evaluations, best {intermediate_result.fun:.3g}")


with tempfile.TemporaryDirectory() as folder:
    result = l2e.minimize(
        rosenbrock,
        bounds=[(-5, 5)] * 6,
        budget=10_000,
        target=1e-10,
        rng=0,
        callback=report,
        checkpoint=Path(folder) / "run.l2e",  # interrupted? the same call goes on
    )
print(result.message, result.x.round(4))

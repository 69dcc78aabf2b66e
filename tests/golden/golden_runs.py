"""Runs whose every asked point is recorded, to the bit: what a change of structure must not change.

`python tests/golden/golden_runs.py` writes `traces.json` again, for a change of behaviour that is meant and named.
"""

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import l2e

FILE = Path(__file__).parent / "traces.json"
DIMENSION = 5
BUDGETS = (20, 50, 80, 200, 1000)
"""Evaluations per dimension."""

NATIVE_BUDGET = 600
NATIVE = (
    "random-search",
    "de",
    "de-pbest",
    "de-paper",
    "pso",
    "pso-paper",
    "sahlpso",
    "lshade",
    "cmaes",
    "cmaes-ipop",
    "cmaes-bipop",
    "sep-cmaes",
    "lm-ma-es",
)
SHIFT = np.asarray([1.3, -0.7, 2.1, -1.9, 0.4])
TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((DIMENSION, DIMENSION)))[0]


def bowl(x: np.ndarray) -> float:
    return float(((x - SHIFT) ** 2).sum())


def ellipsoid(x: np.ndarray) -> float:
    return float((10.0 ** (6 * np.arange(DIMENSION) / (DIMENSION - 1)) * (TURN @ (x - SHIFT)) ** 2).sum())


def valley(x: np.ndarray) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def waves(x: np.ndarray) -> float:
    y = x - SHIFT
    return float((y**2 - 10 * np.cos(2 * np.pi * y) + 10).sum())


def turned_waves(x: np.ndarray) -> float:
    y = TURN @ (x - SHIFT)
    return float((y**2 - 10 * np.cos(2 * np.pi * y) + 10).sum())


def steps(x: np.ndarray) -> float:
    return float(np.round(10 * np.abs(TURN @ (x - SHIFT))).sum() / 10)


FUNCTIONS: tuple[Callable[[np.ndarray], float], ...] = (bowl, ellipsoid, valley, waves, turned_waves, steps)


def names() -> list[str]:
    """All recorded runs."""
    default = [f"default:{function.__name__}:{budget}" for function in FUNCTIONS for budget in BUDGETS]
    return default + [f"{method}:valley:{NATIVE_BUDGET}" for method in NATIVE]


def play(name: str) -> dict[str, object]:
    """Run once more: how many evaluations, the best value, and a digest of all points asked and values told."""
    method, function, budget = name.split(":")
    chosen = next(f for f in FUNCTIONS if f.__name__ == function)
    digest = hashlib.sha256()

    def watched(x: np.ndarray) -> float:
        value = chosen(x)
        digest.update(x.tobytes() + np.float64(value).tobytes())
        return value

    fields = {"noisy": False} if method == "default" else {"method": method}  # no point twice to look for noise
    evaluations = int(budget) * DIMENSION if method == "default" else int(budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = l2e.minimize(watched, bounds=[(-5, 5)] * DIMENSION, budget=evaluations, rng=7, **fields)
    return {"nfev": int(result.nfev), "fun": float(result.fun).hex(), "digest": digest.hexdigest()}


def kernel() -> str:
    """A digest of this machine's linear algebra on fixed matrices; traces hold to the bit only where it is equal."""
    rng = np.random.default_rng(0)
    digest = hashlib.sha256()
    for size in (5, 6, 21, 40):
        matrix = rng.standard_normal((size, size))
        parts = (matrix @ matrix.T, *np.linalg.eigh(matrix @ matrix.T), np.linalg.solve(matrix, matrix[0]))
        for part in (*parts, np.exp(matrix), np.cos(matrix)):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def main() -> None:
    """Record all runs."""
    traces = {}
    for name in names():
        traces[name] = play(name)
        sys.stdout.write(f"{name} {traces[name]['fun']}\n")
    FILE.write_text(json.dumps({"kernel": kernel(), "runs": traces}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""What one whole-number coordinate of twelve costs the default method.

    python benchmarks/one_rounded.py --out benchmarks/recorded/one-rounded.jsonl

Four functions in 12-D whose minimum has a whole number in its first coordinate: searched as they are, with that
coordinate said to be an integer (`integrality`), and with a function that rounds it and says nothing. A line of the
file is one run: the gap that is left. Gaps below 1e-8 count as 1e-8 in the factors, which compare medians over three
seeds.
"""

import argparse
import functools
from pathlib import Path
from typing import Any

import numpy as np
from appended import all_runs

import l2e

D = 12
TURN = np.linalg.qr(np.random.default_rng(3).standard_normal((D, D)))[0]
AXES = 10.0 ** np.linspace(0, 3, D)
FUNCTIONS = {
    "sphere": lambda y: (y**2).sum(),
    "ellipsoid 1e3": lambda y: (AXES * y**2).sum(),
    "rotated ellipsoid 1e3": lambda y: (AXES * (TURN @ y) ** 2).sum(),
    "Rosenbrock": lambda y: (100 * ((y + 1)[1:] - (y + 1)[:-1] ** 2) ** 2 + y[:-1] ** 2).sum(),
}
WAYS = ("continuous", "integrality", "rounded, not told")
KEYS = ("function", "way", "per_dimension", "seed")
FLOOR = 1e-8


def one_run(function: str, way: str, per_dimension: int, seed: int) -> dict[str, Any]:
    """The gap that a search leaves."""
    best = np.random.default_rng([5, seed]).uniform(-3, 3, D)
    best[0] = round(best[0])

    def f(x: np.ndarray) -> float:
        x = x.copy()
        if way == WAYS[2]:
            x[0] = round(x[0])
        return float(FUNCTIONS[function](x - best))

    whole = [i == 0 for i in range(D)] if way == WAYS[1] else None
    result = l2e.minimize(f, bounds=[(-5, 5)] * D, integrality=whole, budget=per_dimension * D, rng=seed)
    where = {"function": function, "way": way, "per_dimension": per_dimension, "seed": seed}
    return {**where, "gap": float(f"{result.fun:.4g}")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    wanted = (
        ((function, way, k, seed), functools.partial(one_run, function, way, k, seed))
        for k in (50, 200)
        for function in FUNCTIONS
        for way in WAYS
        for seed in range(3)
    )
    runs = all_runs(parser.parse_args().out, KEYS, wanted)
    for k in (50, 200):
        for function in FUNCTIONS:
            here = [run for run in runs if (run["function"], run["per_dimension"]) == (function, k)]
            gaps = {way: float(np.median([run["gap"] for run in here if run["way"] == way])) for way in WAYS}
            least = max(gaps[WAYS[0]], FLOOR)
            factors = ", ".join(f"{way} {gap:.2g} (factor {max(gap, FLOOR) / least:.3g})" for way, gap in gaps.items())
            print(f"{function:22} {k:4} per dimension: {factors}")


if __name__ == "__main__":
    main()

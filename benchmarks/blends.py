"""The default method and its rivals on fresh blends: landscapes of several characters at once, with one known minimum.

    python benchmarks/blends.py --out benchmarks/recorded/blends.jsonl
    python benchmarks/blends.py --out benchmarks/recorded/blends.jsonl --table

All begin at the centre of the box. A number is the share of the 51 targets f* + 10^[2..-8] reached within the told
budget. The seeds of these blends were used for no choice and no training. A run that is in the file is not done again.
"""

import argparse
import functools
from pathlib import Path
from typing import Any

import numpy as np
from appended import all_runs
from beside import cell

import l2e
from l2e.problems.blends import BLENDS, draw_blend
from l2e.report.targets import TARGETS

KEYS = ("method", "kind", "dimension", "number", "budget")
METHODS = ("auto", "lq-cmaes", "pycma-bipop", "scipy-cobyqa", "scipy-slsqp")
BUDGETS = (10, 20, 50)
DIMENSIONS = (3, 5, 10)
EACH = 6
SEEDS = 53_000
"""Seeds begin here. (Records of before began at 31,000, with 200·d as well.)"""


def share(method: str, kind: str, dimension: int, number: int, budget: int) -> float:
    rng = np.random.default_rng((SEEDS, BLENDS.index(kind), dimension, number))
    blend = draw_blend(rng, kind, dimension)
    bounds = [(-5, 5)] * dimension

    def f(x: np.ndarray) -> float:
        return float(blend.values(np, x[None])[0])

    start = np.zeros(dimension)
    result = l2e.minimize(f, start, bounds=bounds, budget=budget * dimension, method=method, rng=number)
    return float((result.fun - blend.optimum.f <= TARGETS).mean())


def one_run(method: str, kind: str, dimension: int, number: int, budget: int) -> dict[str, Any]:
    found = dict(zip(KEYS, (method, kind, dimension, number, budget), strict=True))
    return {**found, "share": round(share(method, kind, dimension, number, budget), 4)}


def measure(path: Path) -> None:
    wanted = (
        (values := (method, kind, dimension, number, budget), functools.partial(one_run, *values))
        for budget in BUDGETS
        for method in METHODS
        for kind in BLENDS
        for dimension in DIMENSIONS
        for number in range(EACH)
    )
    all_runs(path, KEYS, wanted)


def problem(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in KEYS[1:])


def table(path: Path) -> str:
    rows = all_runs(path, KEYS, ())
    lines = ["| | " + " | ".join(f"{b}·d" for b in BUDGETS) + " |", "|---" * (len(BUDGETS) + 1) + "|"]
    ours = {problem(row): row["share"] for row in rows if row["method"] == "auto"}
    for method in METHODS:
        cells = []
        for budget in BUDGETS:
            here = [row for row in rows if row["method"] == method and row["budget"] == budget]
            if not here:
                cells.append("-")
                continue
            same = None if method == "auto" else [ours[problem(row)] for row in here]
            cells.append(cell([row["share"] for row in here], same))
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="only print what is recorded")
    chosen = parser.parse_args()
    if not chosen.table:
        measure(chosen.out)
    print("In brackets: how far auto is ahead, paired.")
    print(table(chosen.out))

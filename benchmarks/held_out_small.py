"""The default method, COBYQA and SLSQP with few evaluations on the BBOB functions that chose and trained nothing.

    python benchmarks/held_out_small.py --out benchmarks/recorded/held-out-small.jsonl
    python benchmarks/held_out_small.py --out benchmarks/recorded/held-out-small.jsonl --table

All begin at the centre of the box. A number is the share of the 51 targets f* + 10^[2..-8] reached. The default method
is told its budget and run once for each; the rivals know no budget, so one run of each is read at all of them. A run
that is in the file is not done again. In 20-D, where COBYQA is slow, rivals stop at 20·d.
"""

import argparse
import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
from appended import all_runs
from beside import cell

import l2e
from l2e.meta.episodes import in_rows
from l2e.problems import bbob
from l2e.report.targets import TARGETS

KEYS = ("method", "function", "dimension", "instance", "told")
RIVALS = ("scipy-cobyqa", "scipy-slsqp")
FUNCTIONS = (4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18, 19, 20, 22, 23, 24)
DIMENSIONS = (3, 5, 10, 20)
INSTANCES = (2, 3)
BUDGETS = (10, 20, 50)
LONGEST = {20: 20}
"""The budget up to which rivals are run, where it is not the largest."""


def one_run(method: str, function: int, dimension: int, instance: int, told: int) -> dict[str, Any]:
    problem = bbob(function=function, instance=instance, dimension=dimension)
    gaps: list[float] = []

    def f(x: np.ndarray) -> float:
        value = float(in_rows(problem, x[None])[0])
        gaps.append(min(value - problem.optimum.f, gaps[-1] if gaps else math.inf))
        return value

    bounds, start = [(-5, 5)] * dimension, np.zeros(dimension)
    l2e.minimize(f, start, bounds=bounds, budget=told * dimension, method=method, rng=instance)
    read = [budget for budget in BUDGETS if budget <= told] if method in RIVALS else [told]
    shares = {
        str(budget): round(float((gaps[min(budget * dimension, len(gaps)) - 1] <= TARGETS).mean()), 4)
        for budget in read
    }
    return {**dict(zip(KEYS, (method, function, dimension, instance, told), strict=True)), "shares": shares}


def measure(path: Path, methods: list[str]) -> None:
    wanted = (
        (values := (method, function, dimension, instance, told), functools.partial(one_run, *values))
        for dimension in DIMENSIONS
        for method in methods
        for told in (BUDGETS if method == "auto" else (LONGEST.get(dimension, BUDGETS[-1]),))
        for instance in INSTANCES
        for function in FUNCTIONS
    )
    all_runs(path, KEYS, wanted)


def table(path: Path) -> str:
    """The means of all, and in brackets how far the default method is ahead of a rival, paired."""
    shares: dict[tuple[str, int, int], dict[tuple[int, int], float]] = {}
    for row in all_runs(path, KEYS, ()):
        for budget, share in row["shares"].items():
            here = shares.setdefault((row["method"], row["dimension"], int(budget)), {})
            here[row["function"], row["instance"]] = share
    names = ("auto", *RIVALS)
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for budget in BUDGETS:
        for dimension in DIMENSIONS:
            ours, cells = shares.get(("auto", dimension, budget), {}), []
            for name in names:
                theirs = shares.get((name, dimension, budget), {})
                both = sorted(ours.keys() & theirs.keys())
                if not both:
                    cells.append("-")
                    continue
                same = None if name == "auto" else [ours[problem] for problem in both]
                cells.append(cell([theirs[problem] for problem in both], same))
            lines.append(f"| {budget}·d, {dimension}-D | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", default=["auto", *RIVALS], choices=["auto", *RIVALS])
    parser.add_argument("--table", action="store_true", help="only print what is recorded")
    chosen = parser.parse_args()
    if not chosen.table:
        measure(chosen.out, chosen.methods)
    print("In brackets: how far auto is ahead, paired.")
    print(table(chosen.out))

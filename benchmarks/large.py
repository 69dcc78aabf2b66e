"""BBOB beyond 100 dimensions: the default method beside methods of linear cost, at some evaluations per dimension.

    python benchmarks/large.py run --out large.jsonl --dimensions 160 --instance 4 --multiples 20 100
    python benchmarks/large.py table --out large.jsonl

The rivals are not told the budget, so they run once, as long as the longest, and are read where shorter ones end;
`auto` runs once for each. Runs that the file holds are not repeated. The table shows, for each number of evaluations
per dimension, the share of 51 targets from 10^2 to 10^-8 that were reached, averaged over functions, and on how many
functions `auto` is ahead, equal (within 1e-8 or 1 percent) and behind.
"""

import argparse
import collections
import json
import time
from pathlib import Path

import numpy as np

import l2e
from l2e.report.targets import TARGETS

TRAINING = (1, 2, 3, 5, 15, 16, 17, 21)
HELD_OUT = tuple(f for f in range(1, 25) if f not in TRAINING)
RIVALS = ("sep-cmaes", "lm-ma-es", "scipy-lbfgsb")


def main() -> None:
    arguments = _parse()
    if arguments.command == "table":
        _table(_read(arguments.out))
        return
    functions = HELD_OUT if arguments.functions == "held-out" else TRAINING
    for dimension in arguments.dimensions:
        for function in functions:
            for method in ("auto", *RIVALS):
                _measure(arguments, function, dimension, method)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--out", type=Path, required=True, help="file of the results, one JSON object per line")
    parser.add_argument("--functions", choices=("held-out", "training"), default="held-out")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[160])
    parser.add_argument("--instance", type=int, default=4)
    parser.add_argument("--multiples", type=int, nargs="+", default=[20, 100], help="evaluations per dimension")
    return parser.parse_args()


def _measure(arguments: argparse.Namespace, function: int, dimension: int, method: str) -> None:
    """Run what the file does not hold yet, and append it."""
    known = {(r["function"], r["dimension"], r["instance"], r["method"], r["multiple"]) for r in _read(arguments.out)}
    missing = [m for m in arguments.multiples if (function, dimension, arguments.instance, method, m) not in known]
    for group in [[m] for m in missing] if method == "auto" else [missing] if missing else []:
        begin = time.process_time()
        gaps = _gaps(function, dimension, arguments.instance, method, group)
        for multiple, gap in zip(group, gaps, strict=True):
            row = {"function": function, "dimension": dimension, "instance": arguments.instance, "method": method}
            row |= {"multiple": multiple, "gap": gap, "cpu": round(time.process_time() - begin, 1)}
            with arguments.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"f{function} {dimension}-D {method} {multiple}: {gap:.3g}", flush=True)


def _gaps(function: int, dimension: int, instance: int, method: str, multiples: list[int]) -> list[float]:
    """How far above the minimum one run is after so many evaluations per dimension."""
    problem = l2e.problems.bbob(function=function, dimension=dimension, instance=instance)
    seen: list[np.ndarray] = []

    def values(points: np.ndarray) -> np.ndarray:
        seen.append(np.asarray(problem(points)))
        return seen[-1]

    budget = max(multiples) * dimension
    l2e.minimize(values, bounds=[(-5, 5)] * dimension, method=method, budget=budget, rng=1, vectorized=True)
    best = np.minimum.accumulate(np.concatenate(seen)) - problem.optimum.f
    return [float(best[min(m * dimension, len(best)) - 1]) for m in multiples]


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _table(rows: list[dict]) -> None:
    gaps: dict = collections.defaultdict(dict)
    for row in rows:
        gaps[row["dimension"], row["multiple"], row["method"]][row["function"], row["instance"]] = row["gap"]
    print("| dimension | evaluations per dimension | functions | auto |", " | ".join(RIVALS), "|")
    print("|---|---|---|---|" + "---|" * len(RIVALS))
    for dimension, multiple in sorted({key[:2] for key in gaps}):
        ours = gaps[dimension, multiple, "auto"]
        shared = sorted(set(ours).intersection(*(gaps[dimension, multiple, rival] for rival in RIVALS)))
        cells = [f"{dimension} | {multiple} | {len(shared)} | {_share([ours[key] for key in shared]):.3f}"]
        for rival in RIVALS:
            theirs = gaps[dimension, multiple, rival]
            pairs = [(ours[key], theirs[key]) for key in shared]
            equal = [abs(a - b) <= max(1e-8, 0.01 * max(a, b)) for a, b in pairs]
            ahead = sum(a < b for (a, b), same in zip(pairs, equal, strict=True) if not same)
            counts = f"{ahead} / {sum(equal)} / {len(pairs) - ahead - sum(equal)}"
            cells.append(f"{_share([theirs[key] for key in shared]):.3f} ({counts})")
        print("|", " | ".join(cells), "|")


def _share(gaps: list[float]) -> float:
    return float(np.mean([np.mean(gap <= TARGETS) for gap in gaps]))


if __name__ == "__main__":
    main()

"""What training gained: the default method with and without its trained gate, paired, on BBOB or fresh blends.

    python tools/trained_minus_untrained.py runs/l2e-gate/best.safetensors --functions 4 6 7 8 --budgets 20 50
    python tools/trained_minus_untrained.py runs/l2e-gate/best.safetensors --blends 12 --budgets 20 50

Both runs have the same start (the centre) and the same random numbers on each problem. A number is the share of the 51
targets f* + 10^[2..-8] reached within the told budget; errors are standard errors of the mean difference over problems.
"""

import argparse
import functools
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from l2e.meta.episodes import in_rows, spend
from l2e.portfolio.router import Router
from l2e.portfolio.run import Run
from l2e.portfolio.weights import load_gate
from l2e.problems import bbob
from l2e.problems.blends import BLENDS, Blend, draw_blend
from l2e.report.targets import TARGETS

HELD_OUT = (4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18, 19, 20, 22, 23, 24)


def share(problem: Any, router: Router, budget: int, seed: int) -> float:
    """The share of targets that one run reaches."""
    run = Run(problem.dimension, budget, np.random.default_rng(seed))
    search = router.search(run, np.zeros(problem.dimension))
    with np.errstate(all="ignore"):
        on_host = (
            functools.partial(problem.values, np) if isinstance(problem, Blend) else functools.partial(in_rows, problem)
        )
        best = spend(search, on_host, budget)
    return float((best - problem.optimum.f <= TARGETS).mean())


FRESH = 20_000
"""Seeds of blends begin here; no training and no choice has seen them."""


def problems_of(arguments: argparse.Namespace, dimension: int) -> Iterator[tuple[str, int, Any]]:
    """Names, instances and problems: BBOB functions, or so many blends of each kind."""
    if arguments.blends:
        for place, kind in enumerate(BLENDS):
            for number in range(arguments.blends):
                rng = np.random.default_rng((FRESH, place, dimension, number))
                yield kind, number, draw_blend(rng, kind, dimension)
        return
    for function in arguments.functions:
        for instance in arguments.instances:
            yield f"f{function}", instance, bbob(function=function, instance=instance, dimension=dimension)


def measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One row per problem and budget."""
    routers = (Router(), Router(gate=load_gate(arguments.weights)))
    rows = []
    for per_dimension in arguments.budgets:
        for dimension in arguments.dimensions:
            for name, instance, problem in problems_of(arguments, dimension):
                for seed in range(arguments.seeds):
                    number = 1000 * instance + seed
                    scores = [share(problem, router, per_dimension * dimension, number) for router in routers]
                    rows.append(
                        {
                            "function": name,
                            "instance": instance,
                            "dimension": dimension,
                            "budget": per_dimension,
                            "seed": seed,
                            "untrained": scores[0],
                            "trained": scores[1],
                        }
                    )
            print(_line(_of(rows, dimension, per_dimension), f"{dimension}-D, {per_dimension} D"), flush=True)
    return rows


def table(rows: list[dict[str, Any]], title: str) -> str:
    """The rows as Markdown: by budget and dimension, then by function."""
    lines = [
        f"# {title}",
        "",
        "| | untrained | trained | difference | standard error | problems |",
        "|---|---|---|---|---|---|",
    ]
    budgets, dimensions = sorted({r["budget"] for r in rows}), sorted({r["dimension"] for r in rows})
    for budget in budgets:
        for dimension in (*dimensions, None):
            here = _of(rows, dimension, budget)
            if here:
                lines.append(_line(here, f"{'all' if dimension is None else f'{dimension}-D'}, {budget} D"))
    lines += [
        "",
        "Difference by function:",
        "",
        "| |" + "".join(f" {b} D |" for b in budgets),
        "|---|" + "---|" * len(budgets),
    ]
    for function in dict.fromkeys(r["function"] for r in rows):
        cells = [difference([r for r in rows if r["function"] == function and r["budget"] == b]) for b in budgets]
        lines.append(f"| {function} |" + "".join(f" {mean:+.3f} ± {error:.3f} |" for mean, error in cells))
    return "\n".join(lines) + "\n"


def _of(rows: list[dict[str, Any]], dimension: int | None, budget: int) -> list[dict[str, Any]]:
    return [r for r in rows if r["budget"] == budget and dimension in (None, r["dimension"])]


def difference(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The mean of trained minus untrained, and its standard error."""
    gains = np.asarray([r["trained"] - r["untrained"] for r in rows])
    return float(gains.mean()), float(gains.std(ddof=1) / math.sqrt(len(gains))) if len(gains) > 1 else math.nan


def _line(rows: list[dict[str, Any]], name: str) -> str:
    before, after = (np.mean([r[key] for r in rows]) for key in ("untrained", "trained"))
    mean, error = difference(rows)
    return f"| {name} | {before:.4f} | {after:.4f} | {mean:+.4f} | {error:.4f} | {len(rows)} |"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--functions", type=int, nargs="+", default=list(HELD_OUT))
    parser.add_argument("--blends", type=int, default=0, help="so many fresh blends of each kind instead of functions")
    parser.add_argument("--instances", type=int, nargs="+", default=[4, 5, 6])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--budgets", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--title", default="Trained minus untrained weights of the default method")
    parser.add_argument("--out", type=Path, help="file name without suffix for .md and .json")
    arguments = parser.parse_args()
    began = time.process_time()
    rows = measure(arguments)
    print(f"{time.process_time() - began:.0f} CPU-seconds")
    text = table(rows, arguments.title)
    print(text)
    if arguments.out:
        arguments.out.with_suffix(".md").write_text(text)
        arguments.out.with_suffix(".json").write_text(json.dumps(rows))


if __name__ == "__main__":
    main()

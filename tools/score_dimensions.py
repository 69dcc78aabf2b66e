"""Score a model for any dimension, beside the weights its training began with, in several dimensions.

    python tools/score_dimensions.py l2e-any --dimensions 5 10 30 100 --out score.json
    python tools/score_dimensions.py l2e-any --suite lsgo --dimensions 1000 --functions 1 2 --out lsgo.json

The suite `paper-bbob` has the 16 test functions of the paper, none of which was trained or selected on. Written are the
final gaps f - f* of each run, and per dimension the mean of log10 of them, floored at 1e-8, and its difference to the
first weights with the standard error over functions.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from l2e.api import models, problem_catalog
from l2e.bench.run_here import run_here, specs_of
from l2e.core.problem import GAP_FLOOR
from l2e.problems import PAPER_TEST


def main() -> None:
    """Run both and write what came out."""
    arguments = _parse()
    ways = {
        "trained": models.load(arguments.model, arguments.budget),
        "untrained": models.untrained(arguments.model, arguments.budget),
    }
    facts: dict[str, Any] = {
        "model": models.card(arguments.model).name,
        "suite": arguments.suite,
        "budget": arguments.budget,
        "seeds": arguments.seeds,
        "dimensions": {},
    }
    for dimension in arguments.dimensions:
        gaps = {way: _gaps(solver, way, dimension, arguments) for way, solver in ways.items()}
        facts["dimensions"][str(dimension)] = summary = _summary(gaps)
        trained, untrained = (summary[way]["geometric_mean"] for way in ("trained", "untrained"))
        change = f"{summary['decades']:+.2f} +- {summary['error']:.2f} decades"
        print(f"{dimension}-D: geometric mean of the mean gaps {trained:.4g}, untrained {untrained:.4g}, {change}")
        arguments.out.write_text(json.dumps(facts, indent=1) + "\n")


def _gaps(solver: Any, way: str, dimension: int, arguments: argparse.Namespace) -> dict[str, list[float]]:
    names = {f"f{f}": f"{arguments.suite}:f{f}:d{dimension}" for f in arguments.functions}
    found: dict[str, list[float]] = {}
    for function, name in names.items():
        optimum: Any = getattr(problem_catalog.problem(name), "optimum", None)
        specs = specs_of(solver, way, [name], range(arguments.seeds), arguments.budget)
        records = run_here(solver, specs, tuple(names.values()))
        found[function] = [max(min(record.fun) - optimum.f, 0.0) for record in records]
    return found


def _summary(gaps: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    means = {way: np.asarray([np.mean(row) for row in rows.values()]) for way, rows in gaps.items()}
    logs = {way: np.log10(np.maximum(row, GAP_FLOOR)) for way, row in means.items()}
    difference = logs["trained"] - logs["untrained"]
    error = float(difference.std(ddof=1) / math.sqrt(difference.size)) if difference.size > 1 else math.nan
    rows = {way: {"geometric_mean": float(10 ** logs[way].mean()), "gaps": gaps[way]} for way in gaps}
    return {"decades": float(difference.mean()), "error": error, **rows}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a shipped model, a training's folder or a weights file")
    parser.add_argument("--suite", default="paper-bbob")
    parser.add_argument("--functions", type=int, nargs="+", default=list(PAPER_TEST))
    parser.add_argument("--dimensions", type=int, nargs="+", default=[5, 10, 30, 100])
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()

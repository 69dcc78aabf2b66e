"""What comparisons on COCO's suites share: counted runs, recorded one per line, and the table of their scores."""

import argparse
import contextlib
import functools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cocoex
import numpy as np
from appended import all_runs

Objective = Callable[[Any], float]
Search = Callable[[Objective, Any, int, int], None]
"""Minimises an objective, given the problem, the budget and a seed, until it is stopped."""

KEYS = ("method", "function", "instance", "dimension", "per_dimension")


class Spent(BaseException):
    """The budget is used; not an `Exception`, so that nobody takes it for a failed evaluation."""


def counted(problem: Any, budget: int, optimum: float, found: list[float]) -> Objective:
    """The problem as a function that stops at its budget; the gap of the best allowed point is kept in `found`."""
    used = 0

    def f(x: Any) -> float:
        nonlocal used
        if used >= budget:
            raise Spent
        used += 1
        x = np.array(x, dtype=float)
        value = float(problem(x))
        if not problem.number_of_constraints or (problem.constraint(x) <= 0).all():
            found[0] = min(found[0], value - optimum)
        return value

    return f


def optimum_of(problem: Any) -> float:
    """COCO writes the best point into a file of the working folder."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            problem._best_parameter("print")
            best = np.loadtxt(next(Path(folder).iterdir()))
        finally:
            os.chdir(here)
    return float(problem(np.atleast_1d(best)[: problem.dimension]))


def one_run(name: str, search: Search, problem: Any, per_dimension: int) -> dict[str, Any]:
    """The gap after the budget."""
    found = [np.inf]
    f = counted(problem, per_dimension * problem.dimension, optimum_of(problem), found)
    with warnings.catch_warnings(), contextlib.suppress(Spent):
        warnings.simplefilter("ignore")
        search(f, problem, per_dimension * problem.dimension, problem.id_instance)
    where = {"function": problem.id_function, "instance": problem.id_instance, "dimension": problem.dimension}
    return {"method": name, **where, "per_dimension": per_dimension, "gap": float(f"{max(found[0], 0):.4g}")}


def share(runs: list[dict[str, Any]], targets: np.ndarray) -> float:
    """Of the targets that were reached."""
    return float(np.mean([np.mean(run["gap"] <= targets) for run in runs]))


def table(runs: list[dict[str, Any]], targets: np.ndarray) -> None:
    """Shares by dimension and budget; each method is compared with l2e on the problems that both have."""
    for d, k in sorted({(run["dimension"], run["per_dimension"]) for run in runs}):
        here = [run for run in runs if (run["dimension"], run["per_dimension"]) == (d, k)]
        ours = {(run["function"], run["instance"]): run for run in here if run["method"] == "l2e"}
        for method in dict.fromkeys(run["method"] for run in here):
            theirs = [run for run in here if run["method"] == method and (run["function"], run["instance"]) in ours]
            both = [ours[run["function"], run["instance"]] for run in theirs]
            if both:
                same = f"l2e on the same {share(both, targets):.3f}  ({len(both)} runs)"
                print(f"{d:3}-D {k:4} per dimension {method:12} {share(theirs, targets):.3f}  {same}")


def options(methods: Iterable[str], functions: list[int], per_dimension: list[int], text: str) -> argparse.Namespace:
    """The command line of a comparison."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(methods), choices=list(methods))
    parser.add_argument("--functions", nargs="+", type=int, default=functions)
    parser.add_argument("--instances", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--dimensions", nargs="+", type=int, default=[5, 10])
    parser.add_argument("--per-dimension", nargs="+", type=int, default=per_dimension)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def compare(suite: str, methods: dict[str, Search], functions: list[int], targets: np.ndarray, text: str) -> None:
    """The command line: run what is not in the file yet, and print the table."""
    args = options(methods, functions, [50, 200], text)
    numbers = {
        "dimensions": args.dimensions,
        "function_indices": args.functions,
        "instance_indices": args.instances,
    }
    choice = " ".join(f"{name}: {','.join(map(str, chosen))}" for name, chosen in numbers.items())
    wanted = (
        (
            (method, problem.id_function, problem.id_instance, problem.dimension, k),
            functools.partial(one_run, method, methods[method], problem, k),
        )
        for k in args.per_dimension
        for method in args.methods
        for problem in cocoex.Suite(suite, "", choice)
    )
    table(all_runs(args.out, KEYS, wanted), targets)

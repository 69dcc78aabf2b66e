"""A method on the paper's test functions: the gaps it leaves, metered, and their geometric mean."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from l2e import catalog
from l2e._minimize import minimize
from l2e._version import __version__
from l2e.bench.compiled import run_batch
from l2e.bench.methods import build, runs_compiled
from l2e.catalog import Searcher
from l2e.checkpoint import write_whole
from l2e.optimizer import AbstractOptimizer
from l2e.problems import PAPER_TEST, PAPER_TRAIN, paper_bbob
from l2e.problems.bbob_suite import NAMES
from l2e.report.records import GAP_FLOOR


@dataclass(frozen=True)
class Score:
    """Final gaps f - f*, one row per function and one column per seed."""

    method: str
    dimension: int
    budget: int
    functions: tuple[int, ...]
    gaps: np.ndarray

    @property
    def geometric_mean(self) -> float:
        """Over functions, of the mean gap over seeds, floored at 1e-8."""
        return float(np.exp(np.log(np.maximum(self.gaps.mean(axis=1), GAP_FLOOR)).mean()))

    @property
    def facts(self) -> dict[str, Any]:
        """All gaps, and what they are of, in the types of JSON."""
        return {
            "method": self.method,
            "suite": f"paper-bbob-{self.dimension}d",
            "budget": self.budget,
            "seeds": self.gaps.shape[1],
            "version": __version__,
            "geometric_mean": self.geometric_mean,
            "gaps": {f"f{f}": row.tolist() for f, row in zip(self.functions, self.gaps, strict=True)},
        }

    def save(self, path: Path) -> None:
        """Write the facts as JSON."""
        write_whole(path, json.dumps(self.facts, indent=1).encode())


def score(
    method: Any, dimension: int, budget: int, seeds: int, train: bool, console: Console, name: str | None = None
) -> Score:
    """Run the method on each function with seeds 0, 1, ...; `train` takes the paper's training functions instead.

    **Arguments:** `method`: as in `minimize`, a name or an optimizer; `name`: what to call it.
    """
    name = str(method) if name is None else name
    functions = PAPER_TRAIN if train else PAPER_TEST
    problems = tuple(f"paper-bbob:f{function}:d{dimension}" for function in functions)
    searcher = build(method, dimension, budget) if isinstance(method, str) else method
    gaps = np.empty((len(functions), seeds))
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=gaps.size)
        for row, (function, problem) in enumerate(zip(functions, problems, strict=True)):
            best = np.asarray([_best(searcher, problem, problems, seed, budget) for seed in range(seeds)])
            gaps[row] = np.maximum(best - paper_bbob(function=function, dimension=dimension).optimum.f, 0.0)
            progress.update(task, advance=seeds, description=f"{name} f{function}")
    return Score(name, dimension, budget, functions, gaps)


def _best(searcher: Searcher, problem: str, problems: tuple[str, ...], seed: int, budget: int) -> float:
    """The best value of one run, inside a compiled program where that is cheaper; the run is the same either way."""
    if isinstance(searcher, AbstractOptimizer) and runs_compiled(searcher):
        batch = run_batch(searcher, [(problem, seed)], problems, budget)
        return float(batch.values[0, : batch.used[0]].min())
    return float(minimize(catalog.problem(problem), method=searcher, budget=budget, rng=seed).fun)


def table(result: Score) -> Table:
    """Mean, std and median per function, and the geometric mean below."""
    title = f"{result.method}: f - f* on the paper's BBOB-{result.dimension}D, {result.budget} evaluations"
    shown = Table(title=title, caption=f"geometric mean of the means, floored at 1e-8: {result.geometric_mean:.4g}")
    for heading in ("function", "mean", "std", "median"):
        shown.add_column(heading, justify="left" if heading == "function" else "right")
    for function, row in zip(result.functions, result.gaps, strict=True):
        numbers = (f"{value:.3g}" for value in (row.mean(), row.std(), np.median(row)))
        shown.add_row(f"f{function} {NAMES[function - 1]}", *numbers)
    return shown

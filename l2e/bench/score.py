"""A method on the paper's test functions: the gaps it leaves, metered, and their geometric mean."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from l2e._version import __version__
from l2e.bench.methods import build
from l2e.bench.record import RunRecord
from l2e.bench.run_here import run_here, specs_of
from l2e.core.checkpoint import write_whole
from l2e.core.problem import GAP_FLOOR
from l2e.problems import PAPER_TEST, PAPER_TRAIN, paper_bbob
from l2e.problems._bbob.suite import NAMES


@dataclass(frozen=True)
class Score:
    """Final gaps f - f*, one row per function and one column per seed, and the records of the runs."""

    method: str
    dimension: int
    budget: int
    functions: tuple[int, ...]
    gaps: np.ndarray
    records: tuple[RunRecord, ...] = ()

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
    method: Any,
    dimension: int,
    budget: int,
    seeds: int,
    train: bool,
    console: Console,
    name: str | None = None,
    known: Mapping[str, RunRecord] = MappingProxyType({}),
) -> Score:
    """Run the method on each function with seeds 0, 1, ...; `train` takes the paper's training functions instead.

    **Arguments:** `method`: as in `minimize`, a name or an optimizer; `name`: what to call it; `known`: records by
    key, whose runs are not repeated.
    """
    name = str(method) if name is None else name
    functions = PAPER_TRAIN if train else PAPER_TEST
    problems = tuple(f"paper-bbob:f{function}:d{dimension}" for function in functions)
    searcher = build(method, dimension, budget) if isinstance(method, str) else method
    gaps = np.empty((len(functions), seeds))
    records: list[RunRecord] = []
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=gaps.size)
        for row, (function, problem) in enumerate(zip(functions, problems, strict=True)):
            specs = specs_of(searcher, name, [problem], range(seeds), budget)
            done = {spec.key: known[spec.key] for spec in specs if spec.key in known}
            done |= {
                record.key: record for record in run_here(searcher, [s for s in specs if s.key not in done], problems)
            }
            best = np.asarray([min(done[spec.key].fun, default=np.inf) for spec in specs])
            gaps[row] = np.maximum(best - paper_bbob(function=function, dimension=dimension).optimum.f, 0.0)
            records += [done[spec.key] for spec in specs]
            progress.update(task, advance=seeds, description=f"{name} f{function}")
    return Score(name, dimension, budget, functions, gaps, tuple(records))


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

"""What the missing runs of an experiment will cost at least: some evaluations are timed, the rest is arithmetic."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from l2e.bench.record import RunSpec
from l2e.bench.suite import build_problem, parts, suite_of
from l2e.core.problem import AbstractProblem

POINTS = 20
"""Evaluated at once, to be timed."""


@dataclass(frozen=True)
class Quote:
    """Of all missing runs on problems of one suite and dimension.

    **Fields:** `runs`, `evaluations`: how many, the whole budgets; `first_seconds`: until the first values are there,
    compilation included; `seconds`: CPU time of one evaluation among others in a batch.
    """

    suite: str
    dimension: int
    runs: int
    evaluations: int
    first_seconds: float
    seconds: float

    @property
    def hours(self) -> float:
        """CPU time of all evaluations; what methods do between them comes on top."""
        return self.evaluations * self.seconds / 3600


def quote(missing: Iterable[RunSpec]) -> list[Quote]:
    """Time some evaluations of a problem of each suite and dimension."""
    groups: dict[tuple[str, int], list[RunSpec]] = {}
    for spec in missing:
        groups.setdefault((suite_of(spec.problem), parts(spec.problem)["dimension"]), []).append(spec)
    found = []
    for (suite, dimension), specs in groups.items():
        first, each = _timed(build_problem(specs[0].problem))
        found.append(Quote(suite, dimension, len(specs), sum(spec.budget for spec in specs), first, each))
    return found


def quote_table(quotes: list[Quote]) -> Table:
    """The quotes and their sum."""
    table = Table(box=None, pad_edge=False)
    for heading in (
        "suite",
        "dimension",
        "runs",
        "evaluations",
        "first values after",
        "CPU s / evaluation",
        "CPU hours",
    ):
        table.add_column(heading, justify="left" if heading == "suite" else "right")
    for one in quotes:
        sizes = (str(one.dimension), f"{one.runs:,}", f"{one.evaluations:,}")
        table.add_row(one.suite, *sizes, f"{one.first_seconds:.1f} s", f"{one.seconds:.2g}", f"{one.hours:.2g}")
    runs, evaluations = sum(one.runs for one in quotes), sum(one.evaluations for one in quotes)
    table.add_row("all", "", f"{runs:,}", f"{evaluations:,}", "", "", f"{sum(one.hours for one in quotes):.2g}")
    return table


def _timed(problem: AbstractProblem) -> tuple[float, float]:
    points = problem.space.from_unit(np.random.default_rng(0).random((POINTS, problem.dimension)))
    began = time.perf_counter()
    problem(points)
    first, cpu = time.perf_counter() - began, time.process_time()
    problem(points)
    return first, (time.process_time() - cpu) / POINTS

"""A table of medians, one row per problem."""

from dataclasses import dataclass

import numpy as np

from l2e.report.records import GAP_FLOOR, Run


@dataclass(frozen=True)
class Row:
    """Medians over the runs on one problem, by method that has runs; `best` are the methods no other is below."""

    problem: str
    gap: dict[str, float]
    nfev: dict[str, float]
    best: frozenset[str]


def summarize(runs: list[Run], methods: list[str]) -> list[Row]:
    """One row per problem, in the order in which they were run."""
    rows = []
    for problem in dict.fromkeys(run.problem for run in runs):
        chosen = {method: [run for run in runs if (run.problem, run.method) == (problem, method)] for method in methods}
        present = {method: group for method, group in chosen.items() if group}
        gap = {method: float(np.median([run.final for run in group])) for method, group in present.items()}
        nfev = {method: float(np.median([run.nfev for run in group])) for method, group in present.items()}
        floored = {method: max(value, GAP_FLOOR) for method, value in gap.items()}
        lowest = min(floored.values())
        rows.append(Row(problem, gap, nfev, frozenset(m for m, value in floored.items() if value <= lowest)))
    return rows


def cells(row: Row, methods: list[str]) -> list[tuple[str, str, bool]]:
    """For each method the median gap and evaluations as text, and whether it is among the best."""
    return [
        (number(row.gap[method]), f"{row.nfev[method]:.0f}", method in row.best)
        if method in row.gap
        else ("", "", False)
        for method in methods
    ]


def number(value: float) -> str:
    """A gap as people read it: three digits, "solved" below the floor."""
    return "solved" if value <= GAP_FLOOR else f"{value:.3g}"

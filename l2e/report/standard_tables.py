"""Which tables a report has."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from l2e.core.problem import GAP_FLOOR
from l2e.report import statistics
from l2e.report.ablation_table import ablation_tables
from l2e.report.collection import Results
from l2e.report.published import published
from l2e.report.records import Run
from l2e.report.tables import Cell, Line, Table, marked, p_text
from l2e.report.targets import reached, shown_budgets

GAPS = "f - f* at the end of the budget; at or below 1e-8 counts as solved."


def all_tables(results: Results, with_published: bool) -> list[Table]:
    """The tables of a report, in the order in which they are shown."""
    tables = [ranking(results), *ablation_tables(results)]
    tables += [shares(results), means(results, with_published), medians(results)]
    if len(results.complete) > 1:
        tables.append(against_reference(results))
    return [*tables, cpu_times(results)]


def means(results: Results, with_published: bool) -> Table:
    """Mean and standard deviation per problem and method, and the published ones behind them if wanted."""
    beside = published(results.published) if with_published and results.published else {}
    lines = []
    for problem in results.ordered:
        measured = _row(results, problem, _mean_text, np.mean)
        function = _function(problem)
        grey = [_published_cell(rows.get(function)) for rows in beside.values()]
        lines.append(Line(problem, (*measured, *grey), results.problems[problem].group))
    heads = (*results.methods, *(f"{method} (published)" for method in beside))
    note = f"{GAPS} Mean and standard deviation over runs. Best bold, second best marked."
    if beside:
        note += " Columns marked as published are the paper's printed numbers, not measured here."
    return Table("mean", "Mean gap", note, "problem", heads, tuple(lines), columns_are_methods=True)


def medians(results: Results) -> Table:
    """Median per problem and method."""
    lines = [
        Line(
            problem, tuple(_row(results, problem, lambda g: gap_text(float(np.median(g))), np.median)), group=run.group
        )
        for problem, run in ((problem, results.problems[problem]) for problem in results.ordered)
    ]
    note = f"{GAPS} Median over runs. Best bold, second best marked."
    return Table("median", "Median gap", note, "problem", results.methods, tuple(lines), columns_are_methods=True)


def ranking(results: Results) -> Table:
    """One line per method: mean rank, problems won, geometric mean, targets, failures."""
    matrix = median_matrix(results)
    ranks = statistics.ranks_of(matrix).mean(axis=0) if results.complete else []
    by_method = dict(zip(results.complete, ranks, strict=True))
    lines = []
    for method in sorted(results.methods, key=lambda m: by_method.get(m, math.inf)):
        runs = [run for run in results.runs if run.method == method]
        keys = tuple(run.key for run in runs)
        present = [problem for problem in results.ordered if (problem, method) in results.cells]
        gaps = [results.gaps(problem, method) for problem in present]
        solved = float(np.mean(np.concatenate(gaps) == 0))
        average = statistics.geometric_mean([float(gap.mean()) for gap in gaps])
        share = end_share(runs)
        rank = by_method.get(method)
        best = sum(_is_best(matrix[row], column) for row in range(len(matrix)) for column in _column(results, method))
        failed = sum(run.error is not None for run in runs)
        cells = (
            Cell("-" if rank is None else f"{rank:.2f}", rank, keys=results.keys(results.ordered, results.complete)),
            Cell(str(best), best, keys=results.keys(results.ordered, results.complete)),
            Cell(f"{average:.3g}", average, keys=keys),
            Cell(f"{share:.3f}", share, keys=keys),
            Cell(f"{solved:.0%}", solved, keys=keys),
            Cell(str(len(runs)), len(runs), keys=keys),
            Cell(str(failed), failed, keys=keys),
        )
        lines.append(Line(method, cells, method=method))
    test = statistics.friedman(matrix) if results.complete else None
    note = (
        "Ranks of median gaps over problems. Geometric mean of mean gaps, floored at 1e-8. Targets: share of "
        "f* + 10², ..., f* + 10⁻⁸ reached. Methods that have not been run on all problems yet have no rank."
    )
    if test is not None:
        note += f" Friedman: chi2 = {test.statistic:.2f}, p = {p_text(test.p)}; "
        note += f"critical difference of ranks {test.critical_difference:.2f}."
    heads = ("mean rank", "problems won", "geometric mean", "targets", "runs solved", "runs", "failed")
    return Table("ranking", "Ranking", note, "method", heads, tuple(lines))


def against_reference(results: Results) -> Table:
    """The reference against each other method that ran on all problems."""
    reference = results.reference if results.reference in results.complete else results.complete[0]
    others = [method for method in results.complete if method != reference]
    ours = [results.gaps(problem, reference) for problem in results.ordered]
    compared = {m: statistics.compare(ours, [results.gaps(problem, m) for problem in results.ordered]) for m in others}
    adjusted = statistics.holm([comparison.p for comparison in compared.values()])
    lines = []
    for (method, found), p in zip(compared.items(), adjusted, strict=True):
        keys = results.keys(results.ordered, (reference, method))
        score = f"{found.wins} / {found.ties} / {found.losses}"
        cells = [Cell(score, float(found.wins - found.losses), keys=keys), Cell(p_text(found.p), found.p, keys=keys)]
        cells += [Cell(p_text(p), p, "best" if p < statistics.ALPHA else "", keys)]
        cells += [Cell(f"{value:.2f}", value, keys=keys) for value in (found.effect, found.superiority)]
        lines.append(Line(method, tuple(cells), method=method, against=reference))
    note = (
        f"{reference} against each method. Won, tied, lost problems: rank-sum test over runs, 5 percent. p: Wilcoxon "
        "signed-rank over problems, on log medians; Holm: corrected for the number of methods (bold below 0.05). "
        "Effect: rank-biserial, from -1 (worse on all problems) to 1 (better on all). A: chance that a run is better."
    )
    heads = ("won / tied / lost", "p", "p (Holm)", "effect", "A")
    return Table("reference", f"{reference} against the others", note, "method", heads, tuple(lines))


def shares(results: Results) -> Table:
    """The share of targets reached within b times d evaluations, by dimension and group of functions."""
    lines, shown = [], set()
    dimensions = sorted({run.dimension for run in results.runs})
    for dimension in dimensions:
        here = [run for run in results.runs if run.dimension == dimension]
        groups = list(dict.fromkeys(run.group for run in here))
        for group in ["all", *groups] if len(groups) > 1 else ["all"]:
            members = [run for run in here if group in ("all", run.group)]
            for budget in shown_budgets(here):
                shown.add(budget)
                chosen = [[run for run in members if run.method == method] for method in results.methods]
                values = [float(reached(runs, np.asarray([float(budget)]))[0]) for runs in chosen]
                texts = ["" if math.isnan(value) else f"{value:.3f}" for value in values]
                keys = [tuple(run.key for run in runs) for runs in chosen]
                label, of_group = f"{dimension}-D, {group}, {budget}·d", "" if group == "all" else group
                lines.append(Line(label, tuple(marked(texts, values, keys, largest=True)), of_group))
    *fewer, most = map(str, sorted(shown))
    multiples = f"{', '.join(fewer)} or {most}" if fewer else most
    note = (
        f"Share of the 51 targets f* + 10², ..., f* + 10⁻⁸, over all runs, that are reached within {multiples} "
        "evaluations per dimension, by group of functions. Larger is better."
    )
    return Table("shares", "Targets reached", note, "where", results.methods, tuple(lines), columns_are_methods=True)


def overview(contests: list[Results]) -> Table:
    """The share of targets at the end of the budget, one line per contest and dimension."""
    methods = tuple(dict.fromkeys(method for results in contests for method in results.methods))
    lines = []
    for results in contests:
        for dimension in sorted({run.dimension for run in results.runs}):
            chosen = [[run for run in results.runs if (run.method, run.dimension) == (m, dimension)] for m in methods]
            lines.append(_share_line(f"{results.name}, {dimension}-D", chosen))
    note = (
        "Share of the 51 targets f* + 10², ..., f* + 10⁻⁸, over all runs, that are reached at the end of the budget. "
        "Larger is better; the best is bold. A method without a number has no runs there."
    )
    return Table("overview", "All contests", note, "contest", methods, tuple(lines), columns_are_methods=True)


def by_group(results: Results) -> Table:
    """The share of targets at the end of the budget, by dimension and group of functions."""
    lines = []
    for dimension in sorted({run.dimension for run in results.runs}):
        here = [run for run in results.runs if run.dimension == dimension]
        for group in ("all", *dict.fromkeys(run.group for run in here)):
            chosen = [[run for run in here if run.method == m and group in ("all", run.group)] for m in results.methods]
            lines.append(_share_line(f"{dimension}-D, {group}", chosen))
    note = "Share of targets reached at the end of the budget. Larger is better; best bold, second best in italics."
    return Table("groups", "By group", note, "problems", results.methods, tuple(lines), columns_are_methods=True)


def _share_line(label: str, runs: list[list[Run]]) -> Line:
    """One cell per method: the share of targets that its runs reach at the end of the budget."""
    values = [end_share(of_method) for of_method in runs]
    texts = ["" if math.isnan(value) else f"{value:.3f}" for value in values]
    keys = [tuple(run.key for run in of_method) for of_method in runs]
    return Line(label, tuple(marked(texts, values, keys, largest=True)))


def end_share(runs: list[Run]) -> float:
    """The share of targets reached at the end of the budget; NaN without runs."""
    return float(reached(runs, np.asarray([max((run.budget / run.dimension for run in runs), default=1.0)]))[0])


def cpu_times(results: Results) -> Table:
    """What runs cost, the objective included."""
    lines = []
    for method in results.methods:
        runs = [run for run in results.runs if run.method == method]
        keys = tuple(run.key for run in runs)
        seconds = float(np.median([run.seconds for run in runs]))
        each = float(np.median([1e6 * run.seconds / max(run.nfev, 1) for run in runs]))
        used = float(np.mean([run.nfev for run in runs]))
        cells = (Cell(f"{seconds:.3g}", seconds, keys=keys), Cell(f"{each:.3g}", each, keys=keys))
        lines.append(Line(method, (*cells, Cell(f"{used:.0f}", used, keys=keys)), method=method))
    note = "Medians over runs, the objective included; compilation is left out for native methods without restarts."
    heads = ("CPU s per run", "CPU µs per evaluation", "mean evaluations used")
    return Table("cpu", "CPU time", note, "method", heads, tuple(lines))


def median_matrix(results: Results) -> np.ndarray:
    """Median gaps, one row per problem and one column per complete method."""
    return np.asarray(
        [[np.median(results.gaps(problem, m)) for m in results.complete] for problem in results.ordered]
    ).reshape(len(results.ordered), len(results.complete))


def gap_text(value: float) -> str:
    """A gap as people read it."""
    return "solved" if value <= GAP_FLOOR else "failed" if math.isinf(value) else f"{value:.3g}"


def _row(
    results: Results, problem: str, text: Callable[[np.ndarray], str], of: Callable[[np.ndarray], Any]
) -> list[Cell]:
    gaps = [results.gaps(problem, method) for method in results.methods]
    texts = [text(values) if len(values) else "" for values in gaps]
    numbers = [float(of(values)) if len(values) else math.nan for values in gaps]
    return marked(texts, numbers, [results.keys((problem,), (method,)) for method in results.methods])


def _mean_text(gaps: np.ndarray) -> str:
    mean = float(gaps.mean())
    if mean <= GAP_FLOOR or math.isinf(mean):
        return gap_text(mean)
    return f"{mean:.3g} ± {gaps.std():.2g}"


def _published_cell(numbers: tuple[float, float] | None) -> Cell:
    if numbers is None:
        return Cell("", None, "grey")
    return Cell(f"{numbers[0]:.3g} ± {numbers[1]:.2g}", numbers[0], "grey")


def _function(problem: str) -> int:
    head = problem.split()[0].removeprefix("f")
    return int(head) if head.isdigit() else 0


def _column(results: Results, method: str) -> list[int]:
    return [results.complete.index(method)] if method in results.complete else []


def _is_best(row: np.ndarray, column: int) -> bool:
    return bool(row[column] == row.min())

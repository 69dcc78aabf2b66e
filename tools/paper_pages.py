"""The pages about the protocol of the L2E paper."""

import dataclasses
from collections.abc import Iterable

from recorded import BIPOP, Recorded, capital, commands, page, section

from l2e.report import statistics
from l2e.report.ablation_table import ablation_tables
from l2e.report.collection import Results
from l2e.report.published import published
from l2e.report.standard_tables import against_reference, medians, ranking
from l2e.report.tables import Cell, Line, Table, p_text

PRINTED = {
    "PSO": "pso-paper",
    "DE": "de-paper",
    "SAHLPSO": "sahlpso",
    "LES": "evosax-les",
    "LGA": "evosax-lga",
    "B2OPT": "b2opt",
    "GLHF": "glhf",
    "RNNOPT": "rnnopt",
    "DEDQN": "dedqn",
    "L2E": "l2e-base-{size}",
    "L2E-Mamba": "l2e-mamba-{size}",
}
"""Methods of the paper's tables, and those of ours that are nearest to them; `size` is the dimension, as in 10d."""


PAIRS_NOTE = """\
Geometric means of mean gaps, floored at 1e-8. Won, tied, lost functions: rank-sum test over runs, 5 percent. p and
effect (rank-biserial): Wilcoxon signed-rank over functions, on log medians.
"""
PRINTED_NOTE = """\
Geometric means over functions of the mean gaps. Printed numbers are the paper's, not measured here. How they were made
is not known in all cases: its LES row contains the functions' offsets, its RNNOPT row stands for 100 evaluations, and
its DEDQN row for about 100 trial points.
"""


def paper(recorded: Recorded, size: str, evaluations: str, other: str) -> str:
    """The paper's protocol in one dimension, and a second contest on the same functions."""
    store = f"paper-bbob-{size}"
    results, second = recorded.contest(store, "protocol"), recorded.contest(store, other)
    title = second.title.partition(": ")[2]
    return page(
        f"# The protocol of the L2E paper, {size.removesuffix('d')}-D",
        f"The paper's 16 test functions with its instances, {evaluations} counted evaluations, ten seeds"
        f"{_fewer(results)}.",
        commands(store),
        section(ranking(results)),
        f"![Medians over evaluations, function by function]({store}-convergence.png)",
        f"![Final gaps, function by function]({store}-boxes.png)",
        section(against_reference(results)),
        section(_sideways(medians(results))),
        *_pairs(results, (("cmaes", "pycma"), ("cmaes-bipop", BIPOP))),
        *_printed(results, f"bbob-{size}"),
        f"## {capital(title)}",
        section(ranking(second), level=3),
        *(section(table, level=3) for table in ablation_tables(second)),
    )


def _fewer(results: Results) -> str:
    """Which methods have fewer than ten seeds."""
    seeds = {m: min(len(results.gaps(problem, m)) for problem in results.ordered) for m in results.methods}
    return "".join(f"; `{method}` has {count}" for method, count in seeds.items() if count < 10)


def _sideways(table: Table) -> Table:
    """A table of methods by problems with the methods as rows."""
    heads = tuple(line.label.split()[0] for line in table.lines)
    rows = [tuple(line.cells[place] for line in table.lines) for place in range(len(table.heads))]
    lines = tuple(Line(method, cells) for method, cells in zip(table.heads, rows, strict=True))
    return dataclasses.replace(table, corner="method", heads=heads, lines=lines)


def _pairs(results: Results, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Our own implementations against those of others."""
    lines = []
    for ours, theirs in pairs:
        gaps = [[results.gaps(problem, method) for problem in results.ordered] for method in (ours, theirs)]
        found = statistics.compare(*gaps)
        means = [statistics.geometric_mean([float(gap.mean()) for gap in of_method]) for of_method in gaps]
        cells = (Cell(f"{means[0]:.3g}"), Cell(f"{means[1]:.3g}"))
        score = Cell(f"{found.wins} / {found.ties} / {found.losses}")
        lines.append(
            Line(f"{ours} against {theirs}", (*cells, score, Cell(p_text(found.p)), Cell(f"{found.effect:.2f}")))
        )
    heads = ("ours", "theirs", "won / tied / lost", "p", "effect")
    return [section(Table("pairs", "Our CMA-ES against pycma's", PAIRS_NOTE, "", heads, tuple(lines)))]


def _printed(results: Results, suite: str) -> list[str]:
    """The paper's printed numbers beside ours."""
    lines = []
    for name, rows in published(suite).items():
        printed = Cell(f"{statistics.geometric_mean([mean for mean, _ in rows.values()]):.3g}", None, "grey")
        ours = PRINTED.get(name, "").format(size=suite.removeprefix("bbob-"))
        present = ours in results.methods
        gaps = [float(results.gaps(problem, ours).mean()) for problem in results.ordered] if present else []
        measured = f"{statistics.geometric_mean(gaps):.3g}" if gaps else ""
        lines.append(Line(name, (printed, Cell(measured), Cell(ours if gaps else ""))))
    heads = ("printed", "measured here", "method here")
    return [section(Table("printed", "The paper's printed numbers", PRINTED_NOTE, "method", heads, tuple(lines)))]

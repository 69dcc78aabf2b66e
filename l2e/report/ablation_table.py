"""The ablation table: what a method loses, by group of problems, when something is taken out of it."""

import math
from collections.abc import Sequence

import numpy as np

from l2e.report import statistics
from l2e.report.collection import Results
from l2e.report.records import Run
from l2e.report.tables import Cell, Line, Table, p_text
from l2e.report.targets import reached

HEADS = (
    "log10 gap",
    "gap difference",
    "targets",
    "targets difference",
    "full won / tied / lost",
    "p",
    "p (Holm)",
    "effect",
    "A",
)


def ablation_tables(results: Results) -> list[Table]:
    """The table, if the experiment names a complete method and it and at least one variant ran on all problems."""
    if results.ablation is None or results.ablation.full not in results.complete:
        return []
    full = results.ablation.full
    named = results.ablation.variants or {method: method for method in results.methods if method != full}
    variants = {label: method for label, method in named.items() if method in results.complete}
    if not variants:
        return []
    lines = [line for place in _places(results) for line in _lines(results, full, variants, *place)]
    note = (
        f"{full} is complete, the others are compared to it. log10 gap: mean over problems of the logarithm of the "
        "median gap, floored at 1e-8; targets: share of f* + 10², ..., f* + 10⁻⁸ reached. A positive gap difference "
        "and a negative targets difference mean that it is worse without. Won, tied, lost problems: rank-sum test over "
        "runs, 5 percent (three runs each are always a tie). p: Wilcoxon signed-rank over problems, on log medians; "
        "Holm: corrected for the number of variants (bold below 0.05). Effect: rank-biserial, 1 when the complete "
        "method is better on all problems. A: chance that a run of the complete method is better. Five problems or "
        "fewer cannot be significant."
    )
    return [Table("ablation", "Ablation", note, "where", HEADS, tuple(lines))]


def _places(results: Results) -> list[tuple[str, tuple[str, ...], str]]:
    """Name, problems and group: all, each dimension and each group, where there are several."""
    facts = {problem: results.problems[problem] for problem in results.ordered}
    places = [("all", results.ordered, "")]
    dimensions = sorted({run.dimension for run in facts.values()})
    groups = list(dict.fromkeys(run.group for run in facts.values()))
    if len(dimensions) > 1:
        places += [(f"{d}-D", tuple(p for p, run in facts.items() if run.dimension == d), "") for d in dimensions]
    if len(groups) > 1:
        places += [(group, tuple(p for p, run in facts.items() if run.group == group), group) for group in groups]
    return places


def _lines(
    results: Results, full: str, variants: dict[str, str], place: str, problems: Sequence[str], group: str
) -> list[Line]:
    """The complete method, then each variant."""
    ours = [results.gaps(problem, full) for problem in problems]
    gap, share = _gap(ours), _share(_runs(results, problems, full))
    keys = results.keys(problems, (full,))
    alone = (_gap_cell(gap, keys), Cell(""), Cell(f"{share:.3f}", share, keys=keys), *[Cell("")] * 6)
    lines = [Line(f"{place}: {full}", alone, group, full)]
    theirs = {method: [results.gaps(problem, method) for problem in problems] for method in variants.values()}
    compared = {method: statistics.compare(ours, gaps) for method, gaps in theirs.items()}
    adjusted = dict(zip(compared, statistics.holm([found.p for found in compared.values()]), strict=True))
    for label, method in variants.items():
        found, corrected = compared[method], adjusted[method]
        own, both = results.keys(problems, (method,)), results.keys(problems, (full, method))
        difference = float(np.mean([statistics.decades(a, b) for a, b in zip(ours, theirs[method], strict=True)]))
        reaching = _share(_runs(results, problems, method))
        cells = (
            _gap_cell(_gap(theirs[method]), own),
            Cell("failed" if not math.isfinite(difference) else f"{difference:+.2f}", difference, keys=both),
            Cell(f"{reaching:.3f}", reaching, keys=own),
            Cell(f"{reaching - share:+.3f}", reaching - share, keys=both),
            Cell(f"{found.wins} / {found.ties} / {found.losses}", float(found.wins - found.losses), keys=both),
            Cell(p_text(found.p), found.p, keys=both),
            Cell(p_text(corrected), corrected, "best" if corrected < statistics.ALPHA else "", both),
            Cell(f"{found.effect:.2f}", found.effect, keys=both),
            Cell(f"{found.superiority:.2f}", found.superiority, keys=both),
        )
        lines.append(Line(f"{place}: {label}", cells, group, method, full))
    return lines


def _runs(results: Results, problems: Sequence[str], method: str) -> list[Run]:
    return [run for problem in problems for run in results.cells[problem, method]]


def _gap(gaps: list[np.ndarray]) -> float:
    return float(np.mean([statistics.log_median(values) for values in gaps]))


def _gap_cell(gap: float, keys: tuple[str, ...]) -> Cell:
    return Cell("failed" if not math.isfinite(gap) else f"{gap:.2f}", gap, keys=keys)


def _share(runs: list[Run]) -> float:
    """At the end of the budget."""
    return float(reached(runs, np.asarray([max(run.budget / run.dimension for run in runs)]))[0])

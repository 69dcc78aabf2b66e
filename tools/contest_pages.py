"""The pages about contests: the default method against its rivals, its parts, where it loses."""

import numpy as np
from recorded import BIPOP, DEFAULT, Recorded, bold, capital, commands, page, section

from l2e.problems._bbob.suite import GROUPS
from l2e.report.ablation_table import ablation_tables
from l2e.report.collection import Results
from l2e.report.losses import Comparison, comparisons, joined
from l2e.report.standard_tables import against_reference, by_group, overview

FAR = 0.05
"""A problem on which the share of targets is that much lower counts as one that is clearly behind."""
TOGETHER = (5, 10, 20)
"""Dimensions whose mean is compared with BIPOP's."""

FLAGSHIP = """\
# The default method against its rivals, 5 and 10-D

Sixteen BBOB functions on which nothing of the default method was chosen (f1-f3, f5, f15-f17 and f21 were used while it
was built), instances 2 to 6, one run each. `auto` and L-SHADE are told the budget, so each budget is a contest of its
own. lq-CMA-ES was run up to 200·d evaluations; beyond, one run takes many seconds.
"""
DIMENSIONS = """\
# Other dimensions: 2, 3, 20 and 40-D

The functions and instances of [the main contests](flagship.md) in other dimensions, at 2000·d evaluations without
40-D. lq-CMA-ES is left out: an evaluation costs 8 ms in 20-D and 63 ms in 40-D (f8, 50·d).
"""
DISTURBED = """\
# Noise, rounding, plateaus and random starts

The functions of [the main contests](flagship.md), instances 2 to 4. Methods are told the disturbed values, scores are
of the true ones.

- `noise`: f - f* is multiplied by exp(0.01 N(0, 1)) at each evaluation.
- `rounded`: f - f* is rounded to three digits, which makes steps at every scale.
- `plateau`: values are rounded to three places after the point, which makes a plateau around the optimum.
- `random-start`: all methods begin at the same random point of the box.
"""
ABLATION = """\
# What the parts of the default method are worth

One part is left out at a time, on the functions of [the main contests](flagship.md), instances 2 and 3. What the
trained gate is worth has [a page of its own](gate.md).
"""
LOSSES = """\
# Where the default method loses

Shares of targets at the told budget on the held-out BBOB functions of [the main contests](flagship.md), of those [in
other dimensions](dimensions.md) and of [the disturbed ones](disturbed.md). A comparison is one with a rival on a group
of functions in a dimension, with a budget and in a setting.
"""


def flagship(recorded: Recorded) -> str:
    """The main contests."""
    contests = recorded.contests("flagship", "main-")
    return page(
        FLAGSHIP,
        commands("flagship", "--only main-50x"),
        "![Share of targets reached over evaluations, at four told budgets](flagship.png)",
        *_contests(contests),
    )


def dimensions(recorded: Recorded) -> str:
    """The contests in other dimensions."""
    return page(
        DIMENSIONS,
        commands("flagship", "--only dimensions-50x"),
        *_contests(recorded.contests("flagship", "dimensions-")),
    )


def disturbed(recorded: Recorded) -> str:
    """The contests with disturbed values or a random start."""
    return page(
        DISTURBED,
        commands("flagship-disturbed", "--only noise-50x"),
        *_contests(recorded.contests("flagship-disturbed")),
    )


def _contests(contests: list[Results]) -> list[str]:
    """All contests in one table, then each of them by group of functions and against the default method."""
    texts = [section(overview(contests))]
    for results in contests:
        title = results.title.partition(": ")[2]
        texts.append(f"## {capital(title)}")
        texts.append(section(by_group(results), level=3))
        texts.append(section(against_reference(results), level=3))
    return texts


def ablation(recorded: Recorded) -> str:
    """What each part of the default method is worth."""
    texts = []
    for results in recorded.contests("flagship-ablation"):
        texts += [f"## {results.title.partition(': ')[2]}", *(section(t, level=3) for t in ablation_tables(results))]
    return page(
        ABLATION,
        commands("flagship-ablation", "--only 50x"),
        *texts,
    )


def where_it_loses(recorded: Recorded) -> str:
    """Every group of functions on which a rival is ahead, worst first; then BIPOP by group."""
    contests = [(results, "plain") for results in recorded.contests("flagship") if not results.name.startswith("gate")]
    contests += [(results, results.name.rpartition("-")[0]) for results in recorded.contests("flagship-disturbed")]
    cells = [cell for results, setting in contests for cell in comparisons(results, DEFAULT, setting)]
    return page(LOSSES, *losses(cells))


def losses(cells: list[Comparison]) -> list[str]:
    """The paragraphs of that page."""
    lost = sorted((cell for cell in cells if cell.difference < 0), key=lambda cell: cell.difference)
    clearly = sum(cell.is_clear for cell in lost)
    ahead = sum(cell.is_clear and cell.difference > 0 for cell in cells)
    lines = [
        "| difference | | auto | rival | | functions | | evaluations | setting | problems |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_lost(cell) for cell in lost),
    ]
    return [
        f"Of {len(cells)} comparisons `auto` is behind in {len(lost)}, in {clearly} of them by more than two standard "
        f"errors (**bold**), and ahead by more than that in {ahead}. With so many, some are luck.",
        "\n".join(lines),
        f"## Against BIPOP by group, mean of {', '.join(map(str, TOGETHER))}-D",
        "Where a dimension was not measured at a budget, the mean is of the others.",
        "\n".join(_against_bipop([cell for cell in cells if (cell.rival, cell.setting) == (BIPOP, "plain")])),
    ]


def _lost(cell: Comparison) -> str:
    difference = bold(f"{cell.difference:+.3f}", cell.is_clear)
    error = f"± {cell.error:.3f}" if np.isfinite(cell.error) else ""
    return (
        f"| {difference} | {error} | {np.mean(cell.ours):.3f} | {np.mean(cell.theirs):.3f} | {cell.rival} "
        f"| {cell.group} | {cell.dimension}-D | {cell.budget}·d | {cell.setting} | {len(cell.ours)} |"
    )


def _against_bipop(cells: list[Comparison]) -> list[str]:
    lines = [
        f"| evaluations | functions | difference | | dimensions | problems behind by more than {FAR} |",
        "|---|---|---|---|---|---|",
    ]
    for budget in sorted({cell.budget for cell in cells}):
        here = [cell for cell in cells if cell.budget == budget and cell.dimension in TOGETHER]
        for group in (*GROUPS, "all"):
            found = joined(here) if group == "all" else [cell for cell in here if cell.group == group]
            if found:
                difference = np.mean([cell.difference for cell in found])
                error = np.sqrt(np.sum([cell.error**2 for cell in found])) / len(found)
                behind = np.mean(np.concatenate([cell.ours - cell.theirs for cell in found]) < -FAR)
                where = ", ".join(str(d) for d in sorted(cell.dimension for cell in found))
                spread = f"± {error:.3f}" if np.isfinite(error) else ""
                lines.append(f"| {budget}·d | {group} | {difference:+.3f} | {spread} | {where} | {behind:.0%} |")
    return lines

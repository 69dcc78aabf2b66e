"""The pages about the paper's other worlds: terrains, networks in place of functions, robots; and transfer to them."""

import re
from collections.abc import Callable

import numpy as np
from recorded import Recorded, bold, commands, page, section

from l2e.report import statistics
from l2e.report.collection import Results
from l2e.report.tables import Cell, Line, Table, p_text

FIRST = "experiments.first_weights:"
"""How the untrained twins of models are named."""

SUMMARY_NOTE = """\
Ranks of median {what} over problems; problems won, ties included; geometric mean over problems of mean {what}.
"""
TRANSFER_NOTE = """\
Trained on BBOB against the weights that the training began with. Won, tied, lost problems: rank-sum test over runs, 5
percent. p: Wilcoxon signed-rank over problems, on log medians. Ratio: geometric mean over problems of the median cost,
trained over untrained; below 1, training helps.
"""
UAV = """\
A drone over 56 drawn terrains, 30 dimensions ([what it is](../explain/uav.md)). The paper prints costs for terrains of
a file that is not public in a safe format, so that its numbers and these do not compare. Costs, lower is better.
"""
SURROGATE = """\
The paper's 16 test problems, which are true functions, and networks fitted to them ([what it
is](../explain/surrogate-suite.md)). No minimum of a network is known: the lowest prediction itself is shown.
"""
ROBOTS = """\
The 4,328 weights of a policy for Brax's ant ([what it is](../explain/neuroevolution.md)). The cost is minus the mean
reward of ten episodes; an ant that stands still has about -200. The best cost of a run is that of a lucky batch too.
"""
TRANSFER = """\
Models trained on BBOB only, on terrains, networks and the ant, without tuning. Those that work in any number of
dimensions run everywhere; L2E has weights for 10 dimensions, for networks, and for 30, for terrains.
"""


def uav(recorded: Recorded) -> str:
    """Terrains."""
    pictures = (
        "![The best flight of each method over one terrain](uav-flights.png)",
        "![Lowest cost of all methods over the cost of each, by group of terrains](uav-groups.png)",
    )
    return _world(
        recorded,
        "paper-uav",
        "# Path planning over terrains",
        UAV,
        lambda results: summary(results, "costs"),
        *pictures,
    )


def surrogate(recorded: Recorded) -> str:
    """Networks in place of functions."""

    def table(results: Results) -> str:
        return summary(results, "gaps" if results.name == "paper" else "predictions")

    return _world(recorded, "paper-surrogate-10d", "# BBOB-surrogate-10D", SURROGATE, table)


def robots(recorded: Recorded) -> str:
    """Neuroevolution."""
    picture = "![Learning curves and final costs](robots-learning.png)"
    return _world(recorded, "paper-neuroevolution", "# Neuroevolution", ROBOTS, costs, picture)


def _world(
    recorded: Recorded, store: str, title: str, text: str, table: Callable[[Results], str], *pictures: str
) -> str:
    """A page about a store: what it is, what was run, pictures, and a table of each contest."""
    contests = recorded.contests(store)
    return page(title, text + scale(contests), commands(store), *pictures, *(table(results) for results in contests))


def transfer(recorded: Recorded, stores: list[str]) -> str:
    """Models trained on BBOB, elsewhere."""
    parts = []
    for store in stores:
        contests = recorded.contests(store)
        parts += [commands(store), scale(contests), *(twins(results) for results in contests)]
    return page("# From BBOB to other worlds", TRANSFER, *parts)


def scale(contests: list[Results]) -> str:
    """What was run; methods without runs on all problems are not counted."""
    texts = []
    for results in contests:
        seeds = min(len(results.cells[problem, m]) for problem in results.ordered for m in results.complete)
        counts = ((len(results.complete), "method"), (len(results.ordered), "problem"), (seeds, "seed"))
        shown = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)
        texts.append(f"{results.title.partition(': ')[2] or results.title}: {shown}")
    return f"Recorded here: {'; '.join(texts)}. The experiment's file has more, which was left out for want of time."


def summary(results: Results, what: str) -> str:
    """The methods of a contest, best first."""
    methods = results.complete
    medians = np.asarray([[np.median(results.gaps(p, m)) for m in methods] for p in results.ordered])
    ranks = statistics.ranks_of(medians).mean(axis=0)
    won = (medians == medians.min(axis=1, keepdims=True)).sum(axis=0)
    means = [statistics.geometric_mean([float(results.gaps(p, m).mean()) for p in results.ordered]) for m in methods]
    order = sorted(range(len(methods)), key=lambda i: ranks[i])
    lines = tuple(
        Line(methods[i], (Cell(f"{ranks[i]:.2f}"), Cell(str(won[i])), Cell(f"{means[i]:.4g}"))) for i in order
    )
    title = results.title.partition(": ")[2] or results.title
    heads = ("mean rank", "problems won", f"mean of {what}")
    return section(
        Table("summary", title[:1].upper() + title[1:], SUMMARY_NOTE.format(what=what), "method", heads, lines)
    )


def costs(results: Results) -> str:
    """The final costs of a contest on robots, as they are."""
    lines = []
    for method in results.methods:
        ends = sorted(float(run.improved_to[-1]) for run in results.runs if run.method == method)
        shown = ", ".join(f"{end:.1f}" for end in ends)
        lines.append((sum(ends) / len(ends), Line(method, (Cell(f"{sum(ends) / len(ends):.1f}"), Cell(shown)))))
    ordered = tuple(line for _, line in sorted(lines, key=lambda pair: pair[0]))
    title = results.title.partition(": ")[2] or results.title
    return section(Table("costs", title, "Mean and single costs at the end.", "method", ("mean", "runs"), ordered))


def _without_dimension(model: str) -> str:
    """The name of a model as that of its twin has it: `l2e_base` for `l2e-base-30d`."""
    return re.sub(r"-\d+d$", "", model).replace("-", "_")


def twins(results: Results) -> str:
    """Every trained model of a contest against its untrained twin."""
    lines = []
    for twin in (m for m in results.methods if m.startswith(FIRST)):
        model = next(m for m in results.methods if _without_dimension(m) == twin.removeprefix(FIRST))
        gaps = [[results.gaps(problem, method) for problem in results.ordered] for method in (model, twin)]
        found = statistics.compare(*gaps)
        decades = [statistics.log_median(a) - statistics.log_median(b) for a, b in zip(*gaps, strict=True)]
        ratio = 10 ** (sum(decades) / len(decades))
        score = f"{found.wins} / {found.ties} / {found.losses}"
        cells = (Cell(score), Cell(p_text(found.p)), Cell(bold(f"{ratio:.3g}", found.p < 0.05)))
        lines.append(Line(model, cells))
    heads = ("won / tied / lost", "p", "ratio")
    return section(Table("twins", results.title, TRANSFER_NOTE, "model", heads, tuple(lines)))

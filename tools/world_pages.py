"""The pages about the paper's other worlds: terrains, networks in place of functions, robots; and transfer to them."""

import re
from collections.abc import Callable

import numpy as np
from recorded import Recorded, bold, commands, page, section

from l2e.bench.experiment import load_experiment
from l2e.bench.store import read_store
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
The weights of a policy for Brax's ant or humanoid ([what it is](../explain/neuroevolution.md)); f3, f4, f5 are the
depths of the policy. The cost is minus the mean reward of ten episodes; an ant that stands still has about -200. The
best cost of a run is that of lucky episodes too. Deeper policies and the humanoid were only tried, with 60
and 250 evaluations.
"""
LSGO = """\
The 15 functions of CEC'2013 in 1000 dimensions (f13, f14: 905) with the official data ([what it is and what was
chosen how](../explain/lsgo.md)). The optimum is 0 (f14: not known). Values, lower is better; SHADE-ILS and MOS are the
means that were published for 3,000,000 evaluations (Molina et al., 2018), other runs with other seeds.
"""
SHADE_ILS = (
    2.7e-24,
    1.0e3,
    20.1,
    1.48e8,
    1.39e6,
    1.02e6,
    74,
    3.17e11,
    1.64e8,
    9.18e7,
    5.11e5,
    61.8,
    1.0e5,
    5.76e6,
    6.25e5,
)
MOS = (0, 832, 9e-13, 1.74e8, 6.94e6, 1.48e5, 1.62e4, 8.0e12, 3.83e8, 9.02e5, 5.22e7, 247, 3.4e6, 2.56e7, 2.35e6)
"""Published means on f1, f2, ..., f15."""
TRANSFER = """\
Models trained on BBOB only, on terrains, networks and the ant, without tuning. Those that work in any number of
dimensions run everywhere, but for l2e-any on networks; other models of L2E have weights for 10 dimensions, for
networks, and for 30, for terrains. The ant is a try: with 250 evaluations no method is far from standing still, which
is worth about -200, and no training helps.
"""


def uav(recorded: Recorded) -> str:
    """Terrains."""
    pictures = (
        "![The cheapest flights over one terrain, by method](uav-flights.png)",
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


def lsgo(recorded: Recorded) -> str:
    """A thousand variables. The records are read as they are: the problems themselves need the official files."""
    records = read_store(recorded.folder / "paper-lsgo-1000d").records.values()
    ends: dict[tuple[int, bool], dict[str, dict[int, list[float]]]] = {}
    for record in records:
        number = int(record.spec.problem.split(":f")[1].partition(":")[0])
        methods = ends.setdefault((record.spec.budget, record.spec.disturb is not None), {})
        methods.setdefault(record.spec.method, {}).setdefault(number, []).append(float(record.fun[-1]))
    pictures = (
        "With 100,000 evaluations (a box of one run is a line):",
        "![Best value over evaluations](lsgo-convergence.png)",
        "![Share of targets reached over evaluations](lsgo-ecdf.png)",
        "![Values at the end](lsgo-boxes.png)",
    )
    tables = (values(*contest, methods) for contest, methods in sorted(ends.items(), reverse=True))
    return page("# LSGO-1000D", LSGO, commands("paper-lsgo-1000d"), *tables, *pictures)


def values(budget: int, anywhere: bool, ends: dict[str, dict[int, list[float]]]) -> str:
    """Values at the end, means over runs, beside published ones."""
    lines = []
    for number in sorted({number for found in ends.values() for number in found}):
        means = {m: sum(found[number]) / len(found[number]) for m, found in ends.items() if number in found}
        best = min(means.values())
        shown = [
            Cell(bold(f"{means[m]:.3g}", len(means) > 1 and means[m] == best) if m in means else "-") for m in ends
        ]
        published = (Cell(f"{SHADE_ILS[number - 1]:.3g}"), Cell(f"{MOS[number - 1]:.3g}"))
        lines.append(Line(f"f{number}", (*shown, *published)))
    counts = {m: sorted({len(values) for values in found.values()}) for m, found in ends.items()}
    runs = "; ".join(f"{m} {' or '.join(map(str, counts[m]))}" for m in ends)
    note = f"Runs per function: {runs}. Functions that are missing were not run."
    if anywhere:
        note += " Each run begins at a random point of the box, another one for each seed."
    heads = (*ends, "SHADE-ILS, 3e6", "MOS, 3e6")
    title = f"{budget:,} evaluations{', random starts' if anywhere else ''}"
    return section(Table("values", title, note, "function", heads, tuple(lines)))


def _world(
    recorded: Recorded, store: str, title: str, text: str, table: Callable[[Results], str], *pictures: str
) -> str:
    """A page about a store: what it is, what was run, pictures, and a table of each contest."""
    contests = recorded.contests(store)
    said = text + scale(recorded, store)
    return page(title, said, commands(store), *pictures, *(table(results) for results in contests))


def transfer(recorded: Recorded, stores: dict[str, Callable[[Results], str]]) -> str:
    """Models trained on BBOB, elsewhere; each store with the table that its contests have."""
    parts = []
    for store, table in stores.items():
        tables = (table(results) for results in recorded.contests(store))
        parts += [commands(store), scale(recorded, store), *tables]
    return page("# From BBOB to other worlds", TRANSFER, *parts)


def scale(recorded: Recorded, store: str) -> str:
    """What was run, and whether that is all of the experiment; methods without runs on all problems are not counted."""
    texts, found = [], {}
    for results in recorded.contests(store):
        runs = {m: min(len(results.cells[problem, m]) for problem in results.ordered) for m in results.complete}
        seeds = max(runs.values())
        counts = ((len(runs), "method"), (len(results.ordered), "problem"), (seeds, "seed"))
        shown = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)
        fewer = ", ".join(f"{method}: {count}" for method, count in runs.items() if count < seeds)
        texts.append(f"{results.title.partition(': ')[2] or results.title}: {shown}" + (f" ({fewer})" if fewer else ""))
        found[results.name] = (set(runs), min(runs.values()))
    planned = load_experiment(recorded.folder.parent / "experiments" / f"{store}.toml").contests()
    whole = all(
        contest.name in found
        and set(contest.methods) <= found[contest.name][0]
        and len(contest.seeds) <= found[contest.name][1]
        for contest in planned
    )
    rest = (
        "That is the whole experiment."
        if whole
        else "The experiment's file has more, which was left out for want of time."
    )
    return f"Recorded here: {'; '.join(texts)}. {rest}"


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
    """The final costs of a contest on robots, as they are, one column for each problem."""
    lines = []
    for method in results.methods:
        runs = [[float(run.improved_to[-1]) for run in results.cells.get((p, method), [])] for p in results.ordered]
        if not any(runs):
            continue
        cells = [Cell(", ".join(f"{end:.1f}" for end in sorted(ends)) or "-") for ends in runs]
        every = [end for ends in runs for end in ends]
        mean = sum(every) / len(every)
        lines.append((mean, Line(method, (Cell(f"{mean:.1f}"), *cells))))
    ordered = tuple(line for _, line in sorted(lines, key=lambda pair: pair[0]))
    title = results.title.partition(": ")[2] or results.title
    heads = ("mean", *(problem.partition(":d")[0] for problem in results.ordered))
    return section(Table("costs", title, "Mean and single costs at the end.", "method", heads, ordered))


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

"""Render the recorded results as pages of the documentation, the README's table, and the headline figure.

    python tools/results_pages.py            # write what has changed
    python tools/results_pages.py --check    # write nothing; exit code 1 if a page is not what would be written
    python tools/results_pages.py --figure   # also draw docs/results/flagship.png

Every number on the pages is computed from the records in `results/` and from the cards of the shipped models.
"""

import argparse
from pathlib import Path

from contest_pages import ablation, dimensions, disturbed, flagship, where_it_loses
from family_pages import families
from paper_pages import paper
from recorded import BIPOP, DEFAULT, Recorded, bold, page
from training_pages import confidence, gate, models
from world_pages import costs, lsgo, robots, surrogate, transfer, twins, uav

from l2e.bench.store import read_store
from l2e.report.figures import draw_budgets
from l2e.report.standard_tables import end_share

SHOWN = {
    DEFAULT: "auto",
    "lq-cmaes": "lq-CMA-ES",
    "scipy-slsqp": "SLSQP, restarted",
    BIPOP: "pycma BIPOP",
    "minion-lshade": "L-SHADE",
}
"""The methods of the README's table and of the headline figure, and what they are called there."""
TELLING = ((5, 50), (10, 50), (10, 200), (20, 200), (2, 1000), (10, 1000))
"""The rows of the README's table: dimension and evaluations per dimension."""
FIGURE = ("main-50x", "main-200x", "main-1000x", "main-2000x")
MARKS = ("<!-- table:flagship -->\n", "<!-- /table:flagship -->")
HEADER = "<!-- Written by tools/results_pages.py from the records in results/; edit the tool, not this page. -->\n"
INDEX = """\
# Results

Everything here is computed from recorded runs, which are in the repository (`results/`): one record for each run, with
its trace, its CPU time and the versions it was made with. *d* is the dimension; 50·d evaluations are 50 for each
dimension.

![Share of targets reached over evaluations, at four told budgets](flagship.png)

Share of the targets f* + 10², ..., f* + 10⁻⁸ reached on 16 BBOB functions on which nothing of the default method was
chosen, five instances:
"""
STORES = """\
# Recorded results

Each folder is a store: `records.jsonl.gz` has a line for every run, its trace thinned to the targets and to 30 points
on a log axis, and `experiment.json` says what was run. They are rendered as pages in `docs/results`.
"""


def all_pages(root: Path) -> dict[Path, str]:
    """The text of every page, by its path below the repository."""
    recorded = Recorded(root / "results")
    pages = {
        "flagship": flagship(recorded),
        "dimensions": dimensions(recorded),
        "disturbed": disturbed(recorded),
        "ablation": ablation(recorded),
        "where-it-loses": where_it_loses(recorded),
        "confidence": confidence(recorded),
        "gate": gate(recorded),
        "models": models(recorded, root),
        "families": families(root),
        "paper-bbob-10d": paper(recorded, "10d", "20,000", "restarts"),
        "paper-bbob-30d": paper(recorded, "30d", "50,000", "first-weights"),
        "paper-uav": uav(recorded),
        "paper-surrogate-10d": surrogate(recorded),
        "paper-neuroevolution": robots(recorded),
        "paper-lsgo-1000d": lsgo(recorded),
        "transfer": transfer(
            recorded, {"transfer-uav": twins, "transfer-surrogate": twins, "transfer-neuroevolution": costs}
        ),
    }
    table = readme_table(recorded)
    pages = {"index": index(pages, table), **pages}
    texts = {Path("docs/results") / f"{name}.md": HEADER + "\n" + text for name, text in pages.items()}
    texts[Path("results/README.md")] = store_index(root)
    readme = (root / "README.md").read_text(encoding="utf-8")
    return {**texts, Path("README.md"): with_table(readme, table)}


def index(pages: dict[str, str], table: str) -> str:
    """The page that names the others."""
    titles = {name: text.splitlines()[0].removeprefix("# ") for name, text in pages.items()}
    links = "\n".join(f"- [{title}]({name}.md)" for name, title in titles.items())
    return page(
        INDEX,
        table,
        links,
    )


def readme_table(recorded: Recorded) -> str:
    """The share of targets of a few methods, in the most telling dimensions and budgets."""
    lines = ["| | " + " | ".join(SHOWN.values()) + " |", "|---|" + "---|" * len(SHOWN)]
    for place, (dimension, budget) in enumerate(TELLING):
        kind = "main" if dimension in (5, 10) else "dimensions"
        results = recorded.contest("flagship", f"{kind}-{budget}x")
        runs = {m: [run for run in results.runs if (run.method, run.dimension) == (m, dimension)] for m in SHOWN}
        shares = {method: end_share(found) for method, found in runs.items() if found}
        best = max(shares.values())
        cells = [bold(f"{shares[m]:.3f}", shares[m] == best) if m in shares else "-" for m in SHOWN]
        where = f"{dimension}-D, {budget}·d" + (" evaluations" if place == 0 else "")
        lines.append(f"| {where} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_table(text: str, table: str) -> str:
    """A document with the table between its two marks; one without marks stays as it is."""
    if MARKS[0] not in text:
        return text
    before, rest = text.split(MARKS[0])
    return before + MARKS[0] + table + MARKS[1] + rest.split(MARKS[1])[1]


def store_index(root: Path) -> str:
    """The index of the recorded stores."""
    lines = ["| folder | records | made by |", "|---|---|---|"]
    for folder in sorted(path.parent for path in (root / "results").glob("*/records.jsonl.gz")):
        verb = "ablate" if folder.name.startswith("ablation-") else "bench"
        command = f"l2e {verb} experiments/{folder.name}.toml --out runs/{folder.name}"
        lines.append(f"| `{folder.name}` | {len(read_store(folder).records)} | `{command}` |")
    return HEADER + page(
        STORES,
        "\n".join(lines),
        "`gate` and `envelope.json` are what `tools/trained_minus_untrained.py` and `tools/measure_envelope.py` wrote, "
        "`families` what `tools/measure_families.py` and `tools/measure_family_rivals.py` did, `l2e-paper` what "
        "`l2e train` and `tools/guide_at_test.py` wrote of the models trained by the paper's recipe, `l2e-training` "
        "what `l2e train`, `tools/first_weights_held_out.py`, `tools/score_dimensions.py` and "
        "`tools/training_trends.py` wrote of those trained by ours, "
        "`diagnose` what `l2e diagnose MODEL --samples 5` wrote of shipped models. "
        "`arms.json` and `metrics.jsonl` beside an ablation are written by `tools/ablation_seeds.py`, "
        "`guide-left-on.json` by `tools/guide_at_test.py`.",
        "To look at one with figures and tables for every problem, to add a method, to keep what was added:",
        "```\nl2e report results/paper-bbob-10d --out report/paper-bbob-10d\n"
        "l2e bench experiments/paper-bbob-10d.toml --out runs/paper-bbob-10d --methods my_module:my_method\n"
        "l2e export runs/paper-bbob-10d results/paper-bbob-10d/records.jsonl.gz\n```",
    )


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the repository")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if something would change")
    parser.add_argument("--figure", action="store_true", help="also draw docs/results/flagship.png")
    arguments = parser.parse_args()
    changed = []
    for path, text in all_pages(arguments.root).items():
        target = arguments.root / path
        if target.is_file() and target.read_text(encoding="utf-8") == text:
            continue
        changed.append(path)
        if not arguments.check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    for path in changed:
        print(f"{'differs' if arguments.check else 'written'}: {path}")
    if arguments.figure:
        recorded = Recorded(arguments.root / "results")
        contests = [recorded.contest("flagship", name) for name in FIGURE]
        draw_budgets(contests, SHOWN, arguments.root / "docs" / "results" / "flagship.png")
    if arguments.check and changed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

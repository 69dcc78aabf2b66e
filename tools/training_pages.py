"""The pages about what was learned or measured beside contests: the gate, the models, the confidence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from arm_pages import any_dimension, arms
from recorded import Recorded, page, section

from l2e.report import statistics
from l2e.report.ablation import load_ablation
from l2e.report.ablation import markdown as ablation_markdown
from l2e.report.ablation_table import ablation_tables

CONFIDENCE = """\
# What `result.confidence` is measured on

`auto` and BIPOP-CMA-ES on random landscapes in 5 and 10-D. A run is not behind if its share of targets is at most 0.05
below BIPOP's. The confidence is (k + 1) / (n + 2) for k of n landscapes on which it is not behind. The last two columns
are mean shares of targets.
"""
GATE = """\
# What the trained gate is worth

A number is the share of the 51 targets reached within the told budget, with and without the gate, from the same start
and with the same random numbers. The gate is asked with up to 100 evaluations per dimension, in up to 24
dimensions.
"""
MODELS = """\
# Shipped models, and the paper's ablations run again

Trained on the eight training functions of the L2E paper and scored on its sixteen test functions: the geometric mean
over functions of the mean gap, with 20,000 evaluations in 10-D and 50,000 in 30-D. Held out: the mean log10 gap at the
end of an episode on fresh instances of the training functions, or on the validation instances where the card has
nothing else.
"""


def confidence(recorded: Recorded) -> str:
    """What `result.confidence` is read from."""
    lines = [
        "| situation | evaluations | landscapes | not behind | confidence | auto | cmaes-bipop |",
        "|---|---|---|---|---|---|---|",
    ]
    for situation, budgets in recorded.values("envelope.json")["summary"].items():
        for budget, row in budgets.items():
            lines.append(
                f"| {situation} | {budget}·d | {row['landscapes']} | {row['not_behind']} | {row['confidence']:.3f} "
                f"| {row['auto']:.3f} | {row['cmaes-bipop']:.3f} |"
            )
    return page(
        CONFIDENCE,
        "```\npython tools/measure_envelope.py --out results/envelope.json\n```",
        "\n".join(lines),
    )


def gate(recorded: Recorded) -> str:
    """What training the gate gained."""
    command = "python tools/trained_minus_untrained.py runs/l2e-gate/best.safetensors --budgets 10 20 30 50 100"
    return page(
        GATE,
        "```\nl2e train experiments/train/l2e-gate.toml --out runs/l2e-gate\n"
        f"{command} --dimensions 5 10 --out results/gate/held-out\n"
        f"{command} --dimensions 3 5 10 20 --blends 12 --out results/gate/fresh-blends\n```",
        "## BBOB functions, none of which it was trained on",
        *_gains(recorded.values("gate/held-out.json")),
        "## Fresh blends, of the kinds it was trained on",
        *_gains(recorded.values("gate/fresh-blends.json")),
    )


def _gains(rows: list[dict[str, Any]]) -> list[str]:
    """By budget and dimension, then by function."""
    lines = ["| | untrained | trained | difference | | problems |", "|---|---|---|---|---|---|"]
    budgets, dimensions = ([*sorted({row[name] for row in rows})] for name in ("budget", "dimension"))
    for budget in budgets:
        for dimension in (*dimensions, None):
            here = [row for row in rows if row["budget"] == budget and dimension in (None, row["dimension"])]
            means = [np.mean([row[name] for row in here]) for name in ("untrained", "trained")]
            mean, error = _gain(here)
            where = f"{'all' if dimension is None else f'{dimension}-D'}, {budget}·d"
            lines.append(f"| {where} | {means[0]:.3f} | {means[1]:.3f} | {mean:+.3f} | ± {error:.3f} | {len(here)} |")
    heads = "".join(f" {budget}·d |" for budget in budgets)
    of_functions = [f"| difference by function |{heads}", "|---|" + "---|" * len(budgets)]
    for function in dict.fromkeys(row["function"] for row in rows):
        cells = [_gain([row for row in rows if (row["function"], row["budget"]) == (function, b)]) for b in budgets]
        of_functions.append(f"| {function} |" + "".join(f" {mean:+.3f} ± {error:.3f} |" for mean, error in cells))
    return ["\n".join(lines), "\n".join(of_functions)]


def _gain(rows: list[dict[str, Any]]) -> tuple[float, float]:
    return statistics.mean_and_error([row["trained"] - row["untrained"] for row in rows])


def models(recorded: Recorded, root: Path) -> str:
    """The cards of the shipped models, and the paper's ablations run again."""
    cards = {p.name.removesuffix(".card.json"): p for p in sorted((root / "l2e" / "weights").glob("*.card.json"))}
    texts = []
    for name in ("ablation-components", "ablation-sharing"):
        path = root / "experiments" / f"{name}.toml"
        shown = path.relative_to(root)
        text = ablation_markdown(load_ablation(path), recorded.values(f"{name}/ablation.json")["rows"], shown)
        texts.append(text.strip().replace("# ", "## ", 1))
        (results,) = recorded.contests(name)
        texts += [section(table, level=3) for table in ablation_tables(results)]
    return page(
        MODELS,
        "\n".join(_cards({name: json.loads(path.read_text()) for name, path in cards.items()})),
        *any_dimension(recorded),
        *arms(recorded),
        *texts,
    )


def _cards(cards: dict[str, dict[str, Any]]) -> list[str]:
    lines = [
        "| model | training | held out | untrained | score | untrained | without its random term |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, card in cards.items():
        if "score" not in card:
            continue  # weights of the default method, which have a page of their own
        learned, first = card["validation"], card.get("validation_untrained")
        if "held_out" in card:
            learned, first = (card["held_out"][kind]["mean"] for kind in ("trained", "untrained"))
        peers = {kind: peer["geometric_mean"] for kind, peer in card["peers"].items()}
        cells = [
            f"step {card['step']} of {card['steps']}, {card['hours']:.2f} h",
            f"{learned:.2f}",
            "" if first is None else f"{first:.2f}",
            f"{card['score']['geometric_mean']:.3g}",
            *(
                f"{peers[kind]:.3g}" if kind in peers else ""
                for kind in ("untrained", "trained, without its random term")
            ),
        ]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines

"""Sections of the models' page: ablations over several trainings, and models that were scored in several dimensions."""

import math
from typing import Any

from recorded import Recorded

ARMS = {
    "ablation-guidance": ("Guidance in training", "off"),
    "ablation-sharing-seeds": ("Shared, continued and unshared weights", "shared longer"),
}
"""The recorded ablations over seeds: a heading, and the arm that others are compared with."""

ARMS_NOTE = """\
Trainings are the unit: a number is the mean over the 16 test functions of log10 of the mean gap, then over the seeds of
the training, ± the standard error over them. The difference is paired by seed, p is of a t-test over seeds. Last half:
change of the mean log10 gap of a run from half of its budget to the end.
"""
LEAK_NOTE = """\
A control for a leak, not a score: the same models with the guide left on at test time, kappa = 0.1, where they use
gradients of the test function that are not counted. Decades are log10 of the mean gap without the guide minus with it,
by function, mean ± standard error over the seeds of the training.
"""
DIMENSIONS_NOTE = """\
Geometric means of the mean gap. Change: mean of log10 trained minus untrained, ± standard error over functions.
"""


def arms(recorded: Recorded) -> list[str]:
    """A section for each ablation over seeds that is recorded."""
    texts = []
    for name, (heading, against) in ARMS.items():
        if (recorded.folder / name / "arms.json").is_file():
            texts += [f"## {heading}: several trainings", _command(name, against), ARMS_NOTE, _arms(recorded, name)]
        if (recorded.folder / name / "guide-left-on.json").is_file():
            texts += [LEAK_NOTE, _leak(recorded.values(f"{name}/guide-left-on.json"))]
    return texts


def _command(name: str, against: str) -> str:
    return (
        f"```\nl2e ablate experiments/{name}.toml --out runs/{name}\n"
        f'python tools/ablation_seeds.py runs/{name} --out results/{name} --against "{against}"\n```'
    )


def _arms(recorded: Recorded, name: str) -> str:
    facts = recorded.values(f"{name}/arms.json")
    lines = [
        "| arm | trainings | validation: untrained, trained | log10 gap | difference | p | last half |",
        "|---|---|---|---|---|---|---|",
    ]
    for arm, row in facts["arms"].items():
        own = [facts["validation"][f"{arm} {seed}"] for seed in row["seeds"]]
        first, best = (sum(values[place] for values in own) / len(own) for place in (0, 1))
        mean, error, p = row["differences"].get(row["against"], (math.nan, math.nan, math.nan))
        difference = "" if math.isnan(mean) else f"{_plus_minus(mean, error, sign='+')} to {row['against']}"
        lines.append(
            f"| {arm} | {len(own)} | {first:.2f}, {best:.2f} | {_plus_minus(row['mean'], row['error'])} "
            f"| {difference} | {'' if math.isnan(p) else f'{p:.2g}'} | {_plus_minus(*row['last_half'], sign='+')} |"
        )
    return "\n".join(lines)


def _plus_minus(mean: float, error: float, sign: str = "") -> str:
    return f"{mean:{sign}.3f}" + ("" if math.isnan(error) else f" ± {error:.3f}")


def _leak(models: list[dict[str, Any]]) -> str:
    """Decades that the guide gives at test time, by arm and function."""
    functions = list(models[0]["gaps"])
    lines = ["| trained with guidance | " + " | ".join(functions) + " |", "|---|" + "---|" * len(functions)]
    for arm in dict.fromkeys(model["model"].rpartition("-")[0] for model in models):
        own = [model["gaps"] for model in models if model["model"].rpartition("-")[0] == arm]
        cells = []
        for function in functions:
            decades = [math.log10(_mean(gaps[function]["off"]) / _mean(gaps[function]["on"])) for gaps in own]
            mean = sum(decades) / len(decades)
            spread = math.sqrt(sum((value - mean) ** 2 for value in decades) / max(len(decades) - 1, 1))
            cells.append(f"{mean:.2f} ± {spread / math.sqrt(len(decades)):.2f}")
        lines.append(f"| {arm} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean(gaps: list[float]) -> float:
    return max(sum(gaps) / len(gaps), 1e-8)


def any_dimension(recorded: Recorded) -> list[str]:
    """Models that were scored in several dimensions, by `tools/score_dimensions.py`."""
    lines = [
        "| model | suite | dimension | evaluations | seeds | trained | untrained | change in decades |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for path in sorted((recorded.folder / "l2e-training").glob("*.score.json")):
        facts = recorded.values(path.relative_to(recorded.folder).as_posix())
        for dimension, row in facts["dimensions"].items():
            means = " | ".join(f"{row[way]['geometric_mean']:.3g}" for way in ("trained", "untrained"))
            lines.append(
                f"| `{facts['model']}` | {facts['suite']} | {dimension} | {facts['budget']} | {facts['seeds']} "
                f"| {means} | {_plus_minus(row['decades'], row['error'], sign='+')} |"
            )
    return ["## Scored in several dimensions", DIMENSIONS_NOTE, "\n".join(lines)]

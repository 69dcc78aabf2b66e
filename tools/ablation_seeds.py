"""Arms of an ablation whose variants are named "arm seed": statistics with trainings as the unit, and a figure.

    python tools/ablation_seeds.py runs/ablation-guidance --out results/ablation-guidance --against off

Reads `ablation.json` and the metrics of the trainings. A training's number is the mean over test functions of log10 of
the mean gap; an arm's error is the standard error over its trainings, and a difference is paired by seed. Written are
`arms.json`, `arms.png` and, by variant, the metrics.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from l2e.core.problem import GAP_FLOOR


def main() -> None:
    """Read, compute, write, draw."""
    arguments = _parse()
    rows = json.loads((arguments.folder / "ablation.json").read_text())["rows"]
    functions = list(rows[0]["means"])
    logs: dict[str, dict[str, np.ndarray]] = {}
    for row in rows:
        arm, _, seed = row["name"].rpartition(" ")
        means = np.asarray([row["means"][function] for function in functions])
        logs.setdefault(arm, {})[seed] = np.log10(np.maximum(means, GAP_FLOOR))
    first = logs[arguments.against]
    facts = {
        "unit": "trainings; mean over test functions of log10 of the mean gap",
        "against": arguments.against,
        "arms": {arm: _arm(of_seeds, first) for arm, of_seeds in logs.items()},
        "validation": {row["name"]: [row["validation_untrained"], row["validation"], row["step"]] for row in rows},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "arms.json").write_text(json.dumps(facts, indent=1) + "\n")
    for arm, found in facts["arms"].items():
        print(f"{arm}: {found['mean']:.3f} +- {found['error']:.3f}, minus {arguments.against}: {found['difference']}")
    curves = {row["name"]: _curve(arguments.folder / row["name"].replace(" ", "-")) for row in rows}
    for name, lines in curves.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (arguments.out / f"{name.replace(' ', '-')}.metrics.jsonl").write_text(text)
    _draw(arguments.out / "arms.png", logs, functions, curves)


def _arm(of_seeds: dict[str, np.ndarray], first: dict[str, np.ndarray]) -> dict[str, Any]:
    numbers = [float(row.mean()) for row in of_seeds.values()]
    pairs = [float((row - first[seed]).mean()) for seed, row in of_seeds.items() if seed in first]
    return {
        "seeds": dict(zip(of_seeds, numbers, strict=True)),
        "mean": float(np.mean(numbers)),
        "error": _error(numbers),
        "difference": [float(np.mean(pairs)), _error(pairs)],
        "functions": np.mean([*of_seeds.values()], axis=0).round(4).tolist(),
    }


def _error(numbers: list[float]) -> float:
    return float(np.std(numbers, ddof=1) / math.sqrt(len(numbers))) if len(numbers) > 1 else math.nan


def _curve(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def _draw(path: Path, logs: Any, functions: list[str], curves: dict[str, list[dict[str, Any]]]) -> None:
    """Validation during training, boxes over functions and trainings, and the arms by function."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    colours = dict(zip(logs, plt.colormaps["tab10"].colors, strict=False))  # pyright: ignore[reportAttributeAccessIssue]
    for name, lines in curves.items():
        arm = name.rpartition(" ")[0]
        points = [(line["step"], line["validation"]) for line in lines if line["validation"] is not None]
        left.plot(*zip(*points, strict=True), color=colours[arm], marker=".")
    left.set(xlabel="meta-step", ylabel="validation: mean log10 gap", title="Validation, a line per training")
    middle.boxplot([np.concatenate([*rows.values()]) for rows in logs.values()], tick_labels=list(logs))
    middle.set(ylabel="log10 of the mean gap", title="Test functions, all trainings")
    for arm, rows in logs.items():
        right.plot(functions, np.mean([*rows.values()], axis=0), color=colours[arm], marker="o", ls="", label=arm)
    right.set(title="By function, mean of trainings", ylabel="log10 of the mean gap")
    right.tick_params(axis="x", rotation=60)
    right.legend()
    figure.savefig(path, dpi=110)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the ablation")
    parser.add_argument("--against", required=True, help="the arm that the others are compared to")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()

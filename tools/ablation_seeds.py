"""Arms of an ablation whose variants are named "arm seed": statistics with trainings as the unit, and two figures.

    python tools/ablation_seeds.py runs/ablation-guidance --out results/ablation-guidance --against off \
        --figures docs/assets/ablation-guidance

Reads the folder of `l2e ablate`. A training's number is the mean over test functions of log10 of the mean gap; an arm's
error is the standard error over its trainings, and a difference is paired by seed. Arms of several budgets end with it,
"shared 2000", and are compared with the arm of the same budget. Written are `arms.json`, the table of the ablation, the
metrics of all trainings and what was run; `l2e export` keeps the runs.
"""

import argparse
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from ablation_figures import draw_arms, draw_curves
from scipy import stats

from l2e.api import problem_catalog
from l2e.bench.record import RunRecord
from l2e.bench.store import read_store
from l2e.core.problem import GAP_FLOOR

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Of the budget, at which the progress of an arm is told."""


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
    traces = _traces([*read_store(arguments.folder).records.values()], {row["name"]: row["budget"] for row in rows})
    facts = {
        "unit": "trainings; mean over test functions of log10 of the mean gap; errors are standard errors over seeds",
        "functions": functions,
        "shares": SHARES,
        "arms": {arm: _arm(arm, logs, arguments.against, traces) for arm in logs},
        "validation": {row["name"]: [row["validation_untrained"], row["validation"], row["step"]] for row in rows},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "arms.json").write_text(json.dumps(facts, indent=1) + "\n")
    for name in ("ablation.json", "experiment.json"):
        shutil.copy(arguments.folder / name, arguments.out / name)
    for arm, found in facts["arms"].items():
        told = found["differences"].get(found["against"], "")
        print(f"{arm}: {found['mean']:.3f} +- {found['error']:.3f}, minus {found['against']}: {told}")
    lines = []
    for row in rows:
        path = arguments.folder / row["name"].replace(" ", "-") / "metrics.jsonl"
        lines += [{"training": row["name"], **json.loads(line)} for line in path.read_text().splitlines()]
    (arguments.out / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if arguments.figures is not None:
        draw_arms(arguments.figures.with_name(arguments.figures.name + "-arms.png"), logs, functions, lines)
        draw_curves(arguments.figures.with_name(arguments.figures.name + "-curves.png"), traces, SHARES)


def _arm(arm: str, logs: dict[str, dict[str, np.ndarray]], against: str, traces: Any) -> dict[str, Any]:
    of_seeds = logs[arm]
    budget = arm.rpartition(" ")[2]
    other = next((name for name in (against, f"{against} {budget}") if name in logs), None)
    if other is None:
        raise SystemExit(f"no arm {against} to compare {arm} with; there are {', '.join(logs)}")
    numbers = [float(row.mean()) for row in of_seeds.values()]
    pairs = {name: _pairs(of_seeds, logs[name]) for name in logs if name != arm}
    progress = [np.mean([*traces[f"{arm} {seed}"].values()], axis=0) for seed in of_seeds]
    return {
        "seeds": dict(zip(of_seeds, numbers, strict=True)),
        "mean": float(np.mean(numbers)),
        "error": _error(numbers),
        "against": other,
        "differences": {name: found for name, found in pairs.items() if found is not None},
        "by_function": _rounded(of_seeds.values()),
        "progress": _rounded(progress),
        "last_half": [float(np.mean(last := [row[-1] - row[2] for row in progress])), _error(last)],
    }


def _pairs(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> list[float] | None:
    """Mean difference over the seeds that both have, its error, and p of a t-test; None if they share less than two."""
    found = [float((row - theirs[seed]).mean()) for seed, row in ours.items() if seed in theirs]
    if len(found) < 2:
        return None
    tested: Any = stats.ttest_1samp(found, 0.0)
    return [float(np.mean(found)), _error(found), float(tested.pvalue)]


def _rounded(rows: Any) -> list[float]:
    return np.mean([*rows], axis=0).round(4).tolist()


def _error(numbers: list[float]) -> float:
    return float(np.std(numbers, ddof=1) / math.sqrt(len(numbers))) if len(numbers) > 1 else math.nan


def _traces(records: list[RunRecord], budgets: dict[str, int]) -> dict[str, dict[str, np.ndarray]]:
    """By training and function, log10 of the gap at shares of the budget, mean over runs."""
    found: dict[str, dict[str, list[np.ndarray]]] = {name: {} for name in budgets}
    optima: dict[str, float] = {}
    for record in records:
        name, problem = record.spec.method, record.spec.problem
        if name not in budgets:
            continue
        if problem not in optima:
            known: Any = problem_catalog.problem(problem)
            optima[problem] = known.optimum.f
        places = np.searchsorted(record.nfev, np.asarray(SHARES) * budgets[name], side="right") - 1
        best = np.minimum.accumulate(record.fun)[places]
        row = np.log10(np.maximum(best - optima[problem], GAP_FLOOR))
        found[name].setdefault(problem.split(":")[1], []).append(row)
    ordered = sorted({f for rows in found.values() for f in rows}, key=lambda name: int(name[1:]))
    return {name: {f: np.mean(rows[f], axis=0) for f in ordered} for name, rows in found.items()}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the ablation")
    parser.add_argument("--against", required=True, help="the arm that the others are compared to")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--figures", type=Path, help="what the names of the two pictures begin with")
    return parser.parse_args()


if __name__ == "__main__":
    main()

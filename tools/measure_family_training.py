"""Score optimizers that were meta-trained on a family, on the members of `measure_families.py` at the same budgets.

    nice -n 19 l2e train experiments/train/l2e-pendulum-12d.toml --out runs/l2e-pendulum
    python tools/measure_family_training.py pendulum runs/l2e-pendulum --name l2e-mamba --cpu 400 --out results/families

Rows go to the file of the family, beside the others; what training cost goes to `training.json`. With `--untrained` the
same optimizer with its first weights is scored as `NAME-untrained`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from measure_families import BUDGETS, FIRST_TESTED, TESTED, reached, read

import l2e
from l2e.core.checkpoint import load_metadata
from l2e.core.settings import read_tables
from l2e.problems.families import FAMILIES

TRAINING = "training.json"


def score(family: str, method: Any, name: str, out: Path) -> None:
    """One run on each member at each budget."""
    path = out / f"{family}.jsonl"
    rows = read(path)
    done = {(row["method"], row["member"], row["budget"]) for row in rows}
    defaults = {row["member"]: row["fun"] for row in rows if row["method"] == "default" and row["budget"] == 50}
    for member in range(FIRST_TESTED, FIRST_TESTED + TESTED):
        new = []
        for budget in BUDGETS:
            if (name, member, budget) in done:
                continue
            problem = FAMILIES[family](member)
            result = l2e.minimize(problem, method=method, budget=budget * problem.dimension, rng=member)
            row = {"method": name, "member": member, "budget": budget, "fun": result.fun}
            if budget == BUDGETS[-1]:
                row["reached"] = reached(result, defaults[member])
            new.append(row)
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in new)


def note(folder: Path, name: str, family: str, cpu: float, out: Path) -> None:
    """Write down what the training was and cost."""
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    validated = [row["validation"] for row in metrics if row["validation"] is not None]
    card = load_metadata(folder / "best.safetensors")
    path = out / TRAINING
    known = json.loads(path.read_text()) if path.exists() else {}
    known[name] = {
        "family": family,
        "steps": metrics[-1]["step"],
        "cpu": cpu,
        "validation_first": validated[0],
        "validation_best": float(np.min(validated)),
        "optimizer": card["optimizer"],
    }
    path.write_text(json.dumps(known, indent=1) + "\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=list(FAMILIES))
    parser.add_argument("folder", type=Path, help="of the training")
    parser.add_argument("--name", required=True)
    parser.add_argument("--cpu", type=float, required=True, help="seconds the training took")
    parser.add_argument("--untrained", type=Path, help="the training file, whose first weights are scored, too")
    parser.add_argument("--out", type=Path, default=Path("results/families"))
    chosen = parser.parse_args()
    score(chosen.family, str(chosen.folder / "best.safetensors"), chosen.name, chosen.out)
    note(chosen.folder, chosen.name, chosen.family, chosen.cpu, chosen.out)
    if chosen.untrained is not None:
        from l2e.meta.config import parse_config

        optimizer = parse_config(read_tables(chosen.untrained)).spec().optimizer
        score(chosen.family, optimizer, f"{chosen.name}-untrained", chosen.out)


if __name__ == "__main__":
    main()

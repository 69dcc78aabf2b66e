"""Models of families with more evaluations than they were judged at: 100 and 200 per dimension.

    python tools/measure_family_long.py truss pendulum seir uav --learn runs/families --out results/families

Ten members kept for development are searched by the default and with the model learned from forty, whose plan for 50
evaluations per dimension is used beyond its limit. Records go to `long.jsonl`.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
from measure_families import DEVELOPED, TRAINED, cell, compared, read, regrets

import l2e
from l2e.problems.families import FAMILIES

BUDGETS, MEMBERS = (100, 200), 10
LONG = "long.jsonl"


def run(name: str, learned: Path, out: Path) -> None:
    """Measure one family."""
    path = out / LONG
    done = {(row["family"], row["member"]) for row in read(path)}
    model = l2e.FamilyModel.load(learned / f"{name}-{TRAINED}")
    method = dataclasses.replace(model, plans=model.plans._replace(largest=np.inf)).method()
    for member in range(DEVELOPED, DEVELOPED + MEMBERS):
        if (name, member) in done:
            continue
        problem = FAMILIES[name](member)
        drawn = np.random.default_rng(member).random((99, problem.dimension))
        random = float(np.median(problem(problem.space.from_unit(drawn))))
        rows = []
        for budget in BUDGETS:
            for contestant, searcher in (("default", "auto"), ("model", method)):
                found = l2e.minimize(problem, method=searcher, budget=budget * problem.dimension, rng=member).fun
                row = {"family": name, "method": contestant, "member": member, "budget": budget, "fun": found}
                rows.append(row | {"random": random})
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    print(name, flush=True)


def table(out: Path) -> str:
    """The model's regret over the default's, as Markdown."""
    rows = read(out / LONG)
    lines = ["| family | " + " | ".join(f"{budget}·d" for budget in BUDGETS) + " |", "|---|" + "---|" * len(BUDGETS)]
    for name in dict.fromkeys(row["family"] for row in rows):
        found = regrets([row for row in rows if row["family"] == name])
        cells = [cell(compared(found, "model", budget)) for budget in BUDGETS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=["truss", "pendulum", "seir", "uav"])
    parser.add_argument("--learn", type=Path, default=Path("runs/families"))
    parser.add_argument("--out", type=Path, default=Path("results/families"))
    chosen = parser.parse_args()
    for name in chosen.families:
        run(name, chosen.learn, chosen.out)
    print(table(chosen.out))


if __name__ == "__main__":
    main()

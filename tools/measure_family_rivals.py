"""Others' transfer on the families of `measure_families.py`: warm-started CMA-ES, Optuna's source trials, RGPE.

    python tools/measure_family_rivals.py truss --learn runs/families --out results/families

They are the methods `warm-cmaes@FOLDER`, `optuna-source@FOLDER` and `rgpe@FOLDER` of a contest, given fifty evaluations
of each of the forty members' journaled searches, evenly by rank. They are not told the budget, so that one run of 50
evaluations per dimension shows all smaller budgets; RGPE, whose cost grows with the cube of the evaluations, has 10 per
dimension and at most 160. Records go to the file of the family, beside ours.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from measure_families import BUDGETS, FIRST_TESTED, TESTED, TRAINED, read

import l2e
from l2e.api import transfers
from l2e.problems.families import FAMILIES

METHODS = {"ws-cma": "warm-cmaes", "optuna-source": "optuna-source", "rgpe": "rgpe"}
"""Names in the records, and as methods."""

LONGEST, MOST = {"rgpe": 10}, {"rgpe": 160}
"""Evaluations per dimension, and in all, of methods that take long."""


def run(name: str, folder: Path, out: Path, chosen: list[str]) -> None:
    """Measure one family."""
    path = out / f"{name}.jsonl"
    rows = read(path)
    done = {(row["method"], row["member"]) for row in rows}
    defaults = {row["member"]: row["fun"] for row in rows if row["method"] == "default" and row["budget"] == 50}
    dimension = FAMILIES[name](0).dimension
    for method, called in METHODS.items():
        if chosen and method not in chosen:
            continue
        searcher = transfers.build(f"{called}@{folder / f'{name}-{TRAINED}'}", dimension)
        most = min(LONGEST.get(method, BUDGETS[-1]) * dimension, MOST.get(method, 10**9))
        for member in range(FIRST_TESTED, FIRST_TESTED + TESTED):
            if (method, member) in done:
                continue
            result = l2e.minimize(FAMILIES[name](member), method=searcher, budget=most, rng=member)
            history = result.history
            new = []
            for budget in (budget for budget in BUDGETS if budget * dimension <= most):
                value = history.fun[np.searchsorted(history.nfev, budget * dimension, side="right") - 1]
                new.append({"method": method, "member": member, "budget": budget, "fun": float(value)})
            if most >= BUDGETS[-1] * dimension:
                at = np.flatnonzero(history.fun <= defaults[member])
                new[-1]["reached"] = int(history.nfev[at[0]]) if at.size else None
            with path.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in new)
        print(name, method, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=[])
    parser.add_argument("--learn", type=Path, default=Path("runs/families"))
    parser.add_argument("--out", type=Path, default=Path("results/families"))
    parser.add_argument("--methods", nargs="*", default=[])
    chosen = parser.parse_args()
    for name in chosen.families or FAMILIES:
        run(name, chosen.learn, chosen.out, chosen.methods)


if __name__ == "__main__":
    main()

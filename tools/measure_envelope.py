"""Measure how often `auto` holds its own against BIPOP-CMA-ES on random landscapes, by situation and budget.

    python tools/measure_envelope.py --out results/envelope.json

Landscapes of all training families, fresh ones; 5-D and 10-D; more of the noisy ones and those with plateaus, which
are situations of their own. Not behind: the share of the targets f* + 10^[2..-8] reached is at most .05 below BIPOP's.
The file holds every share; `l2e/portfolio/confidence.py` holds the summary, (k + 1) / (n + 2) for k of n landscapes.
"""

import argparse
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

import l2e
from l2e.problems.landscapes import FAMILIES, draw_landscape
from l2e.report.targets import TARGETS

BUDGETS = (50, 200, 1000)
DIMENSIONS = (5, 10)
SITUATIONS = ("noise", "plateaus")
BEHIND = 0.05


def main() -> None:
    """Run both methods on all landscapes, then write shares and summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/envelope.json"))
    parser.add_argument("--instances", type=int, default=4, help="landscapes per family and dimension (default 4)")
    parser.add_argument("--more", type=int, default=12, help="of noise and of plateaus (default 12)")
    arguments = parser.parse_args()
    cases = [
        (family, dimension, instance)
        for family in FAMILIES
        for dimension in DIMENSIONS
        for instance in range(arguments.more if family in SITUATIONS else arguments.instances)
    ]
    rows = []
    for family, dimension, instance in track(cases, description="landscapes"):
        for budget in BUDGETS:
            shares = {method: _share(method, family, dimension, instance, budget) for method in ("auto", "cmaes-bipop")}
            rows.append({"family": family, "dimension": dimension, "instance": instance, "budget": budget, **shares})
    summary = {
        situation: {str(budget): _summary(rows, situation, budget) for budget in BUDGETS}
        for situation in ("plain", *SITUATIONS)
    }
    arguments.out.write_text(json.dumps({"summary": summary, "rows": rows}, separators=(",", ":")) + "\n")
    print(json.dumps(summary, indent=1))


def _share(method: str, family: str, dimension: int, instance: int, budget: int) -> float:
    rng = np.random.default_rng([2027, zlib.crc32(family.encode()), dimension, instance])
    landscape = draw_landscape(rng, family, dimension)
    result = l2e.minimize(
        lambda points: landscape.values(np, points),
        bounds=[(-5, 5)] * dimension,
        budget=budget * dimension,
        method=method,
        rng=instance,
        vectorized=True,
    )
    gap = max(result.fun - landscape.optimum.f, 0.0)
    return float((gap <= TARGETS).mean())


def _summary(rows: list[dict[str, Any]], situation: str, budget: int) -> dict[str, float]:
    found = [
        row
        for row in rows
        if row["budget"] == budget and (row["family"] if row["family"] in SITUATIONS else "plain") == situation
    ]
    kept = sum(row["auto"] >= row["cmaes-bipop"] - BEHIND for row in found)
    return {
        "landscapes": len(found),
        "not_behind": kept,
        "confidence": round((kept + 1) / (len(found) + 2), 3),
        "auto": round(float(np.mean([row["auto"] for row in found])), 3),
        "cmaes-bipop": round(float(np.mean([row["cmaes-bipop"] for row in found])), 3),
    }


if __name__ == "__main__":
    main()

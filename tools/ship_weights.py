"""Write trained weights of the default method's gate into the package, with their card.

    python tools/ship_weights.py runs/l2e-gate --commit 1a2b3c4 --measured results/gate/held-out

The numbers of the card are those of `tools/trained_minus_untrained.py`, on training families and held out.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from trained_minus_untrained import difference

from l2e.api.models import find
from l2e.core import checkpoint
from l2e.meta.gate.settings import Families
from l2e.portfolio.weights import SHIPPED_GATE, load_gate, save_gate
from l2e.problems import PAPER_TEST
from l2e.problems._bbob.suite import NAMES

BBOB = "bbob:f"
"""Of a family's name, before the number of its function."""

LARGEST = 100_000
"""Bytes the file may have."""


def main() -> None:
    """Collect the facts, write both files, check the size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of the training, or a weights file")
    parser.add_argument("--commit", required=True, help="commit at which it was trained")
    parser.add_argument("--measured-at", help="commit at which it was measured, if that is another")
    parser.add_argument("--measured", type=Path, nargs="+", default=[], help="JSON files of trained minus untrained")
    arguments = parser.parse_args()
    path = find(arguments.run)
    measured = {file.stem: summary(json.loads(file.with_suffix(".json").read_text())) for file in arguments.measured}
    command = "l2e train experiments/train/l2e-gate.toml --out runs/l2e-gate"  # as anybody would run it again
    given = {"commit": arguments.commit, "command": command, "trained_minus_untrained": measured}
    given["measured_at"] = arguments.measured_at or arguments.commit
    trained = checkpoint.load_metadata(path)
    seen = {
        "trained_on": [_described(family) for family in Families(**trained["tasks"]).names],
        "never_seen": [_described(f"{BBOB}{function}") for function in PAPER_TEST],
    }
    facts = {**trained, **given, **seen}
    save_gate(SHIPPED_GATE, load_gate(path).weights, facts)
    text = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    checkpoint.write_whole(SHIPPED_GATE.with_suffix(".card.json"), text.encode())
    size = SHIPPED_GATE.stat().st_size
    print(f"{SHIPPED_GATE}: {size} bytes")
    if size > LARGEST:
        SHIPPED_GATE.unlink()
        raise SystemExit(f"too large to ship: at most {LARGEST}")


def _described(family: str) -> str:
    if not family.startswith(BBOB):
        return f"random landscapes: {family}"
    number = family.removeprefix(BBOB)
    return f"f{number} {NAMES[int(number) - 1]}"


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """By dimension and budget: the mean difference in the share of targets, its standard error, how many problems."""
    found: dict[str, Any] = {}
    for dimension, budget in sorted({(row["dimension"], row["budget"]) for row in rows}):
        here = [row for row in rows if (row["dimension"], row["budget"]) == (dimension, budget)]
        mean, error = difference(here)
        found[f"{dimension}-D, {budget} D"] = {
            "untrained": round(float(np.mean([row["untrained"] for row in here])), 4),
            "difference": round(mean, 4),
            "error": round(error, 4),
            "problems": len(here),
        }
    return found


if __name__ == "__main__":
    main()

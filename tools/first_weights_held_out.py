"""How well L2E searches before any training: its first weights on fresh instances of the training families.

    python tools/first_weights_held_out.py --dimension 30 --out results/l2e-training/first-weights-30d.json

Mean log10 of the final gap by family, of operators with shared or unshared weights, and of trained models if
named; 4 instances of each family and one run on each. An episode has 20,000 evaluations, 50,000 in 30-D.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from l2e.algorithms.kinds import parse_settings
from l2e.algorithms.stored import initial_algorithm
from l2e.api import models
from l2e.meta import PaperTrainTasks
from l2e.meta.held_out import held_out

SETTINGS: tuple[dict[str, Any], ...] = (
    {"operator": "base", "schedule": "shared"},
    {"operator": "base", "schedule": "unshared"},
    {"operator": "mamba", "schedule": "shared"},
    {"operator": "mamba", "schedule": "unshared"},
    {"operator": "coordinate-free", "schedule": "shared"},
    {"operator": "certified", "schedule": "unshared", "noise": False},
)
"""What is run: with the random term, but for the operator that contracts for any weights."""


def main() -> None:
    """Run all and write what came out."""
    arguments = _parse()
    budget = 50_000 if arguments.dimension == 30 else 20_000
    searchers: dict[str, Any] = {
        f"{settings['operator']}, {settings['schedule']}, first weights": initial_algorithm(
            parse_settings({"kind": "l2e", **settings}), arguments.dimension, budget // 100 - 1, 0
        )
        for settings in SETTINGS
    }
    searchers |= {models.card(name).name: models.load(name) for name in arguments.models}
    found = {}
    for name, searcher in searchers.items():
        found[name] = held_out(searcher, PaperTrainTasks(arguments.dimension), budget, 4, 1).to_json()
        print(name, found[name]["mean"], flush=True)
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="trained models that work in the dimension")
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""How the gradients of stored trainings fall with the number of steps, beside the 1/T of the paper's Theorem 1.

    python tools/training_trends.py results --out results/l2e-training/trends.json

Reads every `*metrics.jsonl` of L2E below a folder; a file of several trainings has their names in it. Told are the
exponent of the least squared norm of the meta-gradient before clipping, over steps with a finite norm, and the median
norm in the first and the last fifth.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from l2e.algorithms.l2e.diagnostics import training_trend


def main() -> None:
    """Read, fit, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is searched with what is below it")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for path in sorted(arguments.folder.rglob("*metrics.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        if not lines or "unclipped_norm" not in lines[0]:
            continue  # the training of a gate has other metrics
        for name in dict.fromkeys(line.get("training", "") for line in lines):
            own = [line for line in lines if line.get("training", "") == name]
            where = path.relative_to(arguments.folder).as_posix() + (f": {name}" if name else "")
            found[where] = _trend(own)
            print(where, found[where])
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


def _trend(lines: list[dict[str, Any]]) -> dict[str, Any]:
    norms = np.asarray([np.nan if line["unclipped_norm"] is None else line["unclipped_norm"] for line in lines], float)
    norms = norms[np.isfinite(norms)]
    fifth = max(len(norms) // 5, 1)
    return {
        "steps": len(lines),
        "finite": len(norms),
        "exponent": round(training_trend(norms).exponent, 3),
        "median_first_fifth": float(f"{np.median(norms[:fifth]):.4g}"),
        "median_last_fifth": float(f"{np.median(norms[-fifth:]):.4g}"),
    }


if __name__ == "__main__":
    main()

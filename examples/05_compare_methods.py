"""Compare methods under one counted budget: run a small contest and read its records."""

import csv
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent


def l2e(*arguments: str | Path) -> None:
    """The command `l2e`, as one would type it."""
    subprocess.run([sys.executable, "-m", "l2e", *map(str, arguments)], cwd=HERE, check=True)


with tempfile.TemporaryDirectory() as folder:
    store, table = Path(folder) / "store", Path(folder) / "runs.csv"
    l2e("bench", "05_compare_methods.toml", "--out", store, "--workers", "2")
    l2e("bench", "05_compare_methods.toml", "--out", store)  # finished runs are not repeated
    l2e("export", store, table)  # l2e report writes a page with statistics and figures instead
    with table.open() as file:
        rows = list(csv.DictReader(file))

best = defaultdict(list)
for row in rows:
    best[row["problem"], row["method"]].append(float(row["best"]))
print("median of the best values found:")
for (problem, method), values in sorted(best.items()):
    print(f"  {problem:<16} {method:<12} {statistics.median(values):.6g}")

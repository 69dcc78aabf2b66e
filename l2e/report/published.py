"""The numbers printed in the L2E paper, as facts to show beside measured ones; nothing is computed from them.

How they were made is not known in all cases, and some rows cannot be compared: on BBOB its LES row contains the
functions' offsets, its RNNOPT row stands for 100 evaluations, and its DEDQN row for about 100 trial points.
"""

import csv
from importlib import resources

from l2e._names import unknown

Published = dict[str, dict[int, tuple[float, float]]]


def published(suite: str) -> Published:
    """For each method of a published table, mean and standard deviation by function."""
    text = resources.files("l2e.report").joinpath("published.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    if suite not in (suites := {row["suite"] for row in rows}):
        raise unknown("published suite", suite, suites)
    table: Published = {}
    for row in rows:
        if row["suite"] == suite:
            table.setdefault(row["method"], {})[int(row["function"])] = (float(row["mean"]), float(row["std"]))
    return table

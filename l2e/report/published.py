"""The numbers printed in the L2E paper, as facts to show beside measured ones; nothing is computed from them.

How they were made is not known in all cases, and some rows cannot be compared: on BBOB its LES row contains the
functions' offsets, its RNNOPT row stands for 100 evaluations, and its DEDQN row for about 100 trial points.
"""

import csv
import functools
from importlib import resources

from l2e.core.errors import unknown

Published = dict[str, dict[int, tuple[float, float]]]


def published_suites() -> set[str]:
    """The names of the published tables."""
    return {row["suite"] for row in _rows()}


def published(suite: str) -> Published:
    """For each method of a published table, mean and standard deviation by function."""
    if suite not in published_suites():
        raise unknown("published suite", suite, published_suites())
    table: Published = {}
    for row in _rows():
        if row["suite"] == suite:
            table.setdefault(row["method"], {})[int(row["function"])] = (float(row["mean"]), float(row["std"]))
    return table


@functools.cache
def _rows() -> list[dict[str, str]]:
    text = resources.files("l2e.report").joinpath("published.csv").read_text()
    return list(csv.DictReader(text.splitlines()))

"""The record of one search, from its journal: as a table in a file, and as numbers for pictures."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.checkpoint import write_whole
from l2e.core.errors import require, unknown
from l2e.core.journal_frames import Recorded
from l2e.core.record import Evaluations, status_of

FORMATS = (".csv", ".parquet")


def evaluations_of(recorded: Recorded) -> Evaluations:
    """All finished evaluations of a journal, also of one that is being written."""
    known = recorded.evaluations
    dimension = int(recorded.header["dimension"])
    return Evaluations(
        np.asarray([one.x for one in known]).reshape(-1, dimension),
        np.asarray([one.value for one in known]),
        np.asarray([status_of(one.reason) for one in known], dtype=object),
        np.asarray([one.seconds for one in known]),
        np.asarray([one.part for one in known], dtype=object),
        [one.reason or "" for one in known],
    )


def export_run(recorded: Recorded, path: Path) -> int:
    """Write one row for each evaluation; the ending of the path is the format. Returns how many there are."""
    evaluations = evaluations_of(recorded)
    columns = evaluations.columns()
    if path.suffix == ".csv":
        write_whole(path, _csv(columns))
    elif path.suffix == ".parquet":
        pyarrow = require("pyarrow", "parquet")
        parquet = require("pyarrow.parquet", "parquet")
        plain = {name: [str(v) for v in column] if _is_text(column) else column for name, column in columns.items()}
        parquet.write_table(pyarrow.table(plain), path)
    else:
        raise unknown("format", path.suffix or path.name, FORMATS)
    return len(evaluations)


def best_so_far(values: np.ndarray, status: np.ndarray) -> np.ndarray:
    """The best value up to each evaluation, infinite before the first."""
    usable = np.where((status == "ok") & np.isfinite(values), values, np.inf)
    return np.minimum.accumulate(usable) if len(usable) else usable


def _is_text(column: Any) -> bool:
    return isinstance(column, list) or column.dtype.kind == "O"


def _csv(columns: dict[str, Any]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    rows = zip(*(column if isinstance(column, list) else column.tolist() for column in columns.values()), strict=True)
    writer.writerows([repr(value) if isinstance(value, float) else value for value in row] for row in rows)
    return text.getvalue().encode()

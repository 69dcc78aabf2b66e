"""The record of one search, from its journal: as a table in a file, and as numbers for pictures."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.checkpoint import write_whole
from l2e.core.constraints import EQUAL
from l2e.core.errors import require, unknown
from l2e.core.journal_frames import Evaluation, Recorded
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
        constraints=(constraints := _constraints(recorded)),
        allowed=None if constraints is None else _allowed(recorded, constraints),
    )


def _allowed(recorded: Recorded, constraints: np.ndarray) -> np.ndarray:
    """Which evaluations fulfil the constraints that came with them."""
    inequalities = int(recorded.header["settings"]["returns"][0])
    missed = np.where(np.arange(constraints.shape[1]) < inequalities, constraints, np.abs(constraints) - EQUAL)
    return np.asarray((missed <= 0).all(axis=1))


def best_of(recorded: Recorded) -> tuple[Evaluation | None, str]:
    """The best evaluation, and what is to be said of its constraints."""
    seen, known = evaluations_of(recorded), recorded.evaluations
    best = min((known[i] for i in np.flatnonzero(seen.usable)), key=lambda one: one.value, default=None)
    if seen.allowed is not None:
        return best, f" (of {int(seen.allowed.sum())} points that fulfil the constraints)"
    kinds = recorded.header.get("settings", {}).get("kinds") or [None]
    return best, " (the lowest; constraints are not in the file)" if kinds[0] == "constrained" else ""


def _constraints(recorded: Recorded) -> np.ndarray | None:
    settings = recorded.header.get("settings", {})
    if settings.get("returns") is None:
        return None
    nothing = np.full(sum(settings["returns"]), np.nan)
    told = {np.asarray(point, dtype=np.float64).tobytes(): row for point, row in settings.get("returned") or []}
    rows = [told.get(one.x.tobytes(), nothing) if one.rows is None else one.rows for one in recorded.evaluations]
    return np.asarray(rows).reshape(-1, len(nothing))


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


def best_so_far(evaluations: Evaluations) -> np.ndarray:
    """The best value up to each evaluation, infinite before the first."""
    usable = np.where(evaluations.usable, evaluations.f, np.inf)
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

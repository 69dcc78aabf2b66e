"""Export records as CSV, Parquet or thinned JSON lines."""

import csv
import dataclasses
import gzip
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from l2e.bench.record import RunRecord
from l2e.bench.store import Store
from l2e.core.checkpoint import write_whole
from l2e.core.errors import require, unknown
from l2e.report.collection import run_of
from l2e.report.records import grid
from l2e.report.targets import hits

FORMATS = (".csv", ".parquet", ".jsonl.gz")
CURVE_POINTS = 30


def export_records(store: Store, path: Path) -> int:
    """Write all records; the ending of the path is the format. Returns how many there are."""
    records = in_order(store.records.values())
    if path.name.endswith(".jsonl.gz"):
        kept = [thinned(record) for record in newest(records)]
        packed = gzip.compress(("".join(record.line + "\n" for record in kept)).encode(), 9, mtime=0)
        write_whole(path, packed)
        return len(kept)
    if path.suffix == ".csv":
        write_whole(path, _csv(records))
    elif path.suffix == ".parquet":
        _parquet(records, path)
    else:
        raise unknown("format", path.suffix or path.name, FORMATS)
    return len(records)


def in_order(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Records by method, problem, budget, disturbance, seed and time, so that the same records give the same file."""
    return sorted(records, key=lambda record: (*_run_name(record), record.written))


def newest(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Without those that a newer record of the same run replaces: after a change of its method, for instance."""
    return list({_run_name(record): record for record in records}.values())


def _run_name(record: RunRecord) -> tuple[Any, ...]:
    spec = record.spec
    return spec.method, spec.problem, spec.budget, "" if spec.disturb is None else spec.disturb.text, spec.seed


def thinned(record: RunRecord) -> RunRecord:
    """The record with a shorter trace, on which tables and target curves come out the same.

    Kept are the improvements that first reached one of COCO's targets, those in force at some evaluations evenly
    spaced on a log axis, the first and the last.
    """
    reached = hits(run_of(record))
    wanted = np.concatenate([reached[np.isfinite(reached)], grid(record.spec.budget, CURVE_POINTS), [np.inf]])
    places = np.searchsorted(record.nfev, wanted, side="right") - 1
    kept = np.unique(np.append(places[places >= 0], 0)) if len(record.nfev) else np.empty(0, int)
    return dataclasses.replace(record, nfev=record.nfev[kept], fun=record.fun[kept])


def row(record: RunRecord) -> dict[str, Any]:
    """A record as one flat row; the trace is two lists."""
    values = dataclasses.asdict(record)
    spec, package_versions = values.pop("spec"), values.pop("versions")
    spec["log"] = ",".join(spec["log"])
    spec["disturb"] = "" if record.spec.disturb is None else record.spec.disturb.text
    versions = {f"version_{name}": version for name, version in package_versions.items()}
    best = float(record.fun[-1]) if len(record.fun) else None
    traces = {"nfev": values.pop("nfev").tolist(), "fun": values.pop("fun").tolist()}
    return {"key": record.key, **spec, **values, "best": best, **versions, **traces}


def _csv(records: list[RunRecord]) -> bytes:
    rows = [row(record) for record in records]
    names = list(dict.fromkeys(name for values in rows for name in values))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    for values in rows:
        traces = {name: " ".join(map(repr, values[name])) for name in ("nfev", "fun")}
        writer.writerow({**values, **traces})
    return stream.getvalue().encode()


def _parquet(records: list[RunRecord], path: Path) -> None:
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist([row(record) for record in records]), path)

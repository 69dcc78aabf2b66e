"""Records for other programs, and thinned ones for keeping."""

import csv
import dataclasses
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np

from l2e._names import require, unknown
from l2e.bench.record import RunRecord
from l2e.bench.store import Store
from l2e.checkpoint import write_whole
from l2e.report.collection import collect
from l2e.report.records import Run, grid
from l2e.report.targets import hits

FORMATS = (".csv", ".parquet", ".jsonl.gz")
CURVE_POINTS = 30


def export_records(store: Store, path: Path) -> int:
    """Write all records; the ending of the path is the format. Returns how many there are."""
    records = sorted(store.records.values(), key=lambda r: (r.spec.method, r.spec.problem, r.spec.seed, r.written))
    if path.name.endswith(".jsonl.gz"):
        runs = {run.key: run for run in collect(store).runs}
        lines = [thinned(record, runs[record.key]).line for record in records if record.key in runs]
        packed = gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0)
        write_whole(path, packed)
        return len(lines)
    if path.suffix == ".csv":
        write_whole(path, _csv(records))
    elif path.suffix == ".parquet":
        _parquet(records, path)
    else:
        raise unknown("format", path.suffix or path.name, FORMATS)
    return len(records)


def thinned(record: RunRecord, run: Run) -> RunRecord:
    """The record with a shorter trace, on which tables and target curves come out the same.

    Kept are the improvements that first reached one of COCO's targets, those in force at some evaluations evenly
    spaced on a log axis, the first and the last.
    """
    reached = hits(run)
    wanted = np.concatenate([reached[np.isfinite(reached)], grid(record.spec.budget, CURVE_POINTS), [np.inf]])
    places = np.searchsorted(record.nfev, wanted, side="right") - 1
    kept = np.unique(np.append(places[places >= 0], 0)) if len(record.nfev) else np.empty(0, int)
    return dataclasses.replace(record, nfev=record.nfev[kept], fun=record.fun[kept])


def row(record: RunRecord) -> dict[str, Any]:
    """A record as one flat row; the trace is two lists."""
    facts = dataclasses.asdict(record)
    spec, package_versions = facts.pop("spec"), facts.pop("versions")
    spec["log"] = ",".join(spec["log"])
    spec["disturb"] = "" if record.spec.disturb is None else record.spec.disturb.text
    versions = {f"version_{name}": version for name, version in package_versions.items()}
    best = float(record.fun[-1]) if len(record.fun) else None
    traces = {"nfev": facts.pop("nfev").tolist(), "fun": facts.pop("fun").tolist()}
    return {"key": record.key, **spec, **facts, "best": best, **versions, **traces}


def _csv(records: list[RunRecord]) -> bytes:
    rows = [row(record) for record in records]
    names = list(dict.fromkeys(name for facts in rows for name in facts))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    for facts in rows:
        traces = {name: " ".join(map(repr, facts[name])) for name in ("nfev", "fun")}
        writer.writerow({**facts, **traces})
    return stream.getvalue().encode()


def _parquet(records: list[RunRecord], path: Path) -> None:
    arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist([row(record) for record in records]), path)

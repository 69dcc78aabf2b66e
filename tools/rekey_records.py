"""Gather recorded stores into one, under the names and keys that the methods have today.

    python tools/rekey_records.py results/flagship --experiment experiments/flagship.toml
    python tools/rekey_records.py old/flagship-50d old/flagship-200d --rename l2e=auto --out results/flagship

The key of a run holds its method's name and a digest of its settings and weights, so a renamed method, or one whose
fields were moved without a change of its search, counts as not run yet. Only for such changes is this tool: the golden
traces of the tests must show that the search is the same, otherwise the runs have to be done again.

`--check` writes nothing and says how many records `l2e bench` would count as done.
"""

import argparse
import dataclasses
import functools
import gzip
import sys
from pathlib import Path

from l2e.bench.experiment import load_experiment
from l2e.bench.methods import build
from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.store import PACKED, RECORDS, Store, read_store
from l2e.bench.suite import parts
from l2e.core.checkpoint import write_whole
from l2e.core.fingerprint import fingerprint
from l2e.core.settings import plain
from l2e.report.export import in_order


@functools.cache
def digest(method: str, dimension: int, budget: int) -> str:
    """Today's digest of a method."""
    return fingerprint(build(method, dimension, budget))


def rekeyed(record: RunRecord, renamed: dict[str, str]) -> RunRecord:
    """The record under today's name and key of its method."""
    spec: RunSpec = record.spec
    method = renamed.get(spec.method, spec.method)
    searcher = digest(method, parts(spec.problem)["dimension"], spec.budget)
    return dataclasses.replace(record, spec=dataclasses.replace(spec, method=method, searcher=searcher))


def main() -> None:
    """Read the stores, write one, or count."""
    arguments = _parse()
    sys.path.insert(0, str(Path.cwd()))  # where experiments.variants is found
    renamed = dict(pair.split("=", 1) for pair in arguments.rename)
    old = [record for folder in arguments.stores for record in read_store(folder).records.values()]
    new = {record.key: record for record in in_order(rekeyed(record, renamed) for record in old)}
    same = sum(record.key in new for record in old)
    print(f"{len(old)} records, {len(new)} different runs; {same} have the key that today's methods give them")
    if arguments.check:
        raise SystemExit(same < len(old))
    out = arguments.out or arguments.stores[0]
    packed = "".join(record.line + "\n" for record in new.values()).encode()
    write_whole(out / PACKED, gzip.compress(packed, 9, mtime=0))
    if (out / RECORDS).is_file():
        (out / RECORDS).unlink()
    if arguments.experiment:
        experiment = load_experiment(arguments.experiment)
        Store(out).note_experiment(plain(experiment))
        lost = [r for r in new.values() if not any(contest.covers(r.spec) for contest in experiment.contests())]
        print(f"{len(lost)} of them are in no contest of {arguments.experiment}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", type=Path, nargs="+", help="folders with records")
    parser.add_argument("--rename", metavar="OLD=NEW", action="append", default=[], help="a method's new name")
    parser.add_argument("--experiment", type=Path, help="the experiment to note beside the records")
    parser.add_argument("--out", type=Path, help="the folder to write; the first store if not given")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a key would change")
    return parser.parse_args()


if __name__ == "__main__":
    main()

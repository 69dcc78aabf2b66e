"""A contest on a thousand nodes that straggle and die, in virtual time: what the one command in the middle costs.

    python benchmarks/contest_cluster.py --nodes 1000 --runs 10000

The code that hands out, claims, sends again and stores is the real one (`ClusterRunner`, `Todo`, `Store`, on the disk
of the folder given); only the nodes are made up: a run takes a log-normal time of mean 1, and a share of the tasks is
lost halfway and sent again. Printed are the virtual time over the ideal one, and the CPU and wall time of the command
for each run: 1000 nodes can be kept busy with runs that take longer than 1000 times the latter.
"""

import argparse
import heapq
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from l2e.bench.cluster import ClusterRunner
from l2e.bench.engines import AbstractEngine, Answer
from l2e.bench.plan import Plan, Task
from l2e.bench.record import RunRecord, RunSpec, now
from l2e.bench.store import Store, read_store
from l2e.bench.worker import ask


class VirtualEngine(AbstractEngine):
    """Nodes in virtual time; `now` is the clock."""

    def __init__(self, size: int, spread: float, deaths: float, records: dict[str, str]):
        self._size, self.now, self.lost = size, 0.0, 0
        self._rng, self._spread, self._deaths, self._records = np.random.default_rng(0), spread, deaths, records
        self._running: list[tuple[float, int, str | None]] = []

    @property
    def size(self) -> int:
        return self._size

    def submit(self, number: int, function: Any, *arguments: Any) -> None:
        takes = math.exp(self._spread * self._rng.standard_normal() - self._spread**2 / 2)
        dies = bool(self._rng.random() < self._deaths)
        answer = None if dies else self._records[arguments[0]]
        heapq.heappush(self._running, (self.now + takes * (0.5 if dies else 1.0), number, answer))

    def wait(self, seconds: float) -> list[Answer]:
        self.now, number, line = heapq.heappop(self._running)
        if line is None:
            self.lost += 1
            return [Answer(number, None, "KilledWorker: simulated")]
        return [Answer(number, {"records": [line]})]

    def close(self) -> None:
        self._running = []


def planned(runs: int) -> tuple[Plan, dict[str, str]]:
    """A plan of so many runs, and by what is sent for each the record that comes back."""
    specs = tuple(RunSpec("bbob:f1:i1:d10", "auto", "0" * 16, seed, 100) for seed in range(runs))
    evaluations, best = np.arange(1, 101), np.linspace(1, 0, 100)
    records = {}
    for spec in specs:
        record = RunRecord(spec, evaluations, best, 100, 0, "budget", 0.1, 0.1, "host", {}, None, now())
        records[ask(Task("host", (spec,)), Path("."))] = record.line
    return Plan(specs, frozenset(), {}), records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--deaths", type=float, default=0.01)
    parser.add_argument("--folder", type=Path, default=None, help="on the disk to try; a temporary one if not given")
    given = parser.parse_args()
    plan, records = planned(given.runs)
    size = len(next(iter(records)))
    print(f"{size} bytes are sent for a run, {len(next(iter(records.values())))} come back with 100 improvements")
    print("times       of ideal time  lost tasks  records  ms of CPU per run  ms per run")
    for spread in (0.1, 1.0):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            store = Store(Path(folder))
            store.open()
            engine = VirtualEngine(given.nodes, spread, given.deaths, _relocated(records, store.folder))
            wall, cpu = time.perf_counter(), time.process_time()
            ClusterRunner(plan, store, engine, timeout=3600.0).run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            stored = len(read_store(store.folder).records)
        ideal = engine.now / (given.runs / given.nodes)
        shown = f"spread {spread:3}  {ideal:13.2f}  {engine.lost:10d}  {stored:7d}"
        print(f"{shown}  {cpu / given.runs * 1e3:17.2f}  {wall / given.runs * 1e3:10.2f}", flush=True)


def _relocated(records: dict[str, str], folder: Path) -> dict[str, str]:
    """The same with the folder that tasks name."""
    return {json.dumps({**json.loads(task), "folder": str(folder)}) + "\n": line for task, line in records.items()}


if __name__ == "__main__":
    main()

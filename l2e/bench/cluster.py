"""Runs what a store does not have yet on a cluster. The nodes need this package; the store is only ours to write."""

import itertools
from collections.abc import Callable
from typing import Any

from l2e._version import __version__
from l2e.bench.engines import AbstractEngine, Answer
from l2e.bench.node import run_task
from l2e.bench.plan import Plan, Task
from l2e.bench.record import RunRecord, empty_record
from l2e.bench.runner import patience
from l2e.bench.store import Store
from l2e.bench.todo import AbortedError, Status, Todo
from l2e.bench.worker import ask

POLL_SECONDS = 0.25

OFTEN = 3
"""A task that the engine lost this often counts as one that ends whatever runs it."""


class ClusterRunner:
    """Does the missing runs of a plan on a cluster, as many tasks at once as it takes.

    A task that a dead node was doing is begun anew elsewhere, and a run gives the same record wherever it runs, so a
    node that dies changes none. What a task was doing when this process is stopped is not stored, and done next time.

    **Arguments:** `store`, `timeout`, `again`, `show`: as of `Runner`; `engine`: stays open.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        engine: AbstractEngine,
        timeout: float,
        again: Callable[[RunRecord], bool] = lambda record: False,
        show: Callable[[Status], None] = lambda status: None,
    ):
        self.plan, self.store, self.timeout, self.show = plan, store, timeout, show
        self._engine = engine
        self._todo = Todo(plan, store, again)
        self._running: dict[int, Task] = {}
        self._numbers = itertools.count()
        self._losses: dict[Task, int] = {}
        self._size = 1

    @property
    def done_here(self) -> int:
        """Runs that were done by this runner."""
        return self._todo.done_here

    def run(self) -> None:
        """Until every run of the plan has a record.

        **Raises:** `AbortedError`, or `StoreError` when records cannot be written.
        """
        while self._todo or self._running:
            self._size = self._engine.size  # nodes join and leave
            while len(self._running) < self._size and (task := self._todo.next()) is not None:
                self._submit(task)
            for answer in self._engine.wait(POLL_SECONDS):
                self._take(answer)
            self.show(self.status())

    def status(self) -> Status:
        """What is done and what is running."""
        running = list(self._running.values())
        return Status(self.plan, self.store.records, running, self.done_here, self._size)

    def _submit(self, task: Task) -> None:
        number = next(self._numbers)
        self._running[number] = task
        seconds = patience(task, self.timeout)
        self._engine.submit(number, run_task, ask(task, self.store.folder), __version__, seconds)

    def _take(self, answer: Answer) -> None:
        task = self._running.pop(answer.number)
        value = answer.value
        if value is None:
            self._lost(task, answer.lost)
        elif "abort" in value:
            raise AbortedError(value["abort"])
        elif "failed" in value:
            self._failed(task, value)
        else:
            self._todo.keep(task, [RunRecord.from_line(line.encode()) for line in value["records"]])

    def _lost(self, task: Task, reason: str) -> None:
        """The engine has lost a task: it is sent again, unless that has happened often."""
        self._losses[task] = self._losses.get(task, 0) + 1
        if self._losses[task] < OFTEN:
            self._submit(task)
        else:
            error = f"was lost by the cluster {OFTEN} times: {reason}"
            self._failed(task, {"failed": "crash", "error": error, "seconds": 0.0})

    def _failed(self, task: Task, value: dict[str, Any]) -> None:
        """One run is recorded as failed, several are tried again one by one."""
        if self._todo.split(task):
            return
        reason, error, seconds = value["failed"], value["error"], value["seconds"]
        self._todo.keep(task, [empty_record(spec, reason, error, seconds) for spec in task.runs])

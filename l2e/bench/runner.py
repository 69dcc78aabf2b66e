"""Runs what a store does not have yet, in worker processes, and appends a record for each run."""

import json
import os
import selectors
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from l2e.bench.plan import Plan, Task
from l2e.bench.record import RunRecord, empty_record
from l2e.bench.store import Store
from l2e.bench.todo import AbortedError, Status, Todo
from l2e.bench.worker import ask
from l2e.bench.worker_process import WorkerProcess

START_SECONDS = 120.0
"""Beside the time of its runs, a worker may take that long to start, and again to compile a program of whole runs."""
POLL_SECONDS = 0.25


@dataclass
class _Worker:
    """A process, what it is doing, and until when it may."""

    process: WorkerProcess
    task: Task | None = None
    began: float = 0.0
    deadline: float = 0.0
    ready: bool = False
    buffer: bytes = b""
    records: list[RunRecord] = field(default_factory=list)


class Runner:
    """Does the missing runs of a plan.

    **Arguments:**

    - `store`: open; other runners may work on it at the same time.
    - `workers`: number of processes; each runs one task at a time on one thread.
    - `timeout`: seconds one run may take; a run that takes longer is killed and recorded as failed.
    - `again`: tells of a finished run that it shall be run once more; its new record replaces the old one.
    - `show`: called a few times per second.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        workers: int,
        timeout: float,
        again: Callable[[RunRecord], bool] = lambda record: False,
        show: Callable[[Status], None] = lambda status: None,
    ):
        self.store, self.plan, self.timeout, self.show = store, plan, timeout, show
        self._todo = Todo(plan, store, again)
        self._count = max(1, min(workers, len(self._todo)))
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()

    @property
    def done_here(self) -> int:
        """Runs that were done by this runner."""
        return self._todo.done_here

    def run(self) -> None:
        """Until every run of the plan has a record. Ctrl-C ends the workers; what is stored stays.

        **Raises:** `AbortedError`, or `StoreError` when records cannot be written.
        """
        try:
            while self._todo or any(worker.task for worker in self._workers):
                self._give_out()
                self._collect()
                self.show(self.status())
        finally:
            for worker in self._workers:
                worker.process.close()
            self._selector.close()

    def status(self) -> Status:
        """What is done and what is running."""
        running = [worker.task for worker in self._workers if worker.task]
        return Status(self.plan, self.store.records, running, self.done_here, self._count)

    def _give_out(self) -> None:
        while len(self._workers) < self._count and self._todo:
            self._start()
        for worker in [worker for worker in self._workers if worker.task is None]:
            task = self._todo.next()
            if task is None:
                return
            worker.task, worker.began = task, time.monotonic()
            worker.deadline = worker.began + (patience(task, self.timeout) if worker.ready else START_SECONDS)
            try:
                worker.process.send(ask(task, self.store.folder.resolve()))
            except BrokenPipeError:
                self._fail(worker, "crash")

    def _start(self) -> None:
        worker = _Worker(WorkerProcess())
        answers = worker.process.answers
        os.set_blocking(answers.fileno(), False)
        self._selector.register(answers, selectors.EVENT_READ, worker)
        self._workers.append(worker)

    def _collect(self) -> None:
        ready = self._selector.select(POLL_SECONDS) if self._workers else []
        for event, _ in ready:
            worker: _Worker = event.data
            content = os.read(event.fd, 1 << 20)
            if content:
                for line in _lines(worker, content):
                    self._answer(worker, json.loads(line))
            else:
                self._fail(worker, "crash")
        for worker in [w for w in self._workers if w.task and time.monotonic() > w.deadline]:
            self._fail(worker, "timeout")

    def _answer(self, worker: _Worker, answer: dict[str, Any]) -> None:
        if "abort" in answer:
            raise AbortedError(answer["abort"])
        if "ready" in answer:
            worker.ready = True
            if worker.task is not None:
                worker.deadline = time.monotonic() + patience(worker.task, self.timeout)
        elif "done" in answer:
            assert worker.task is not None
            self._todo.keep(worker.task, worker.records)
            worker.task, worker.records = None, []
        else:
            worker.records.append(RunRecord.from_json(answer))

    def _fail(self, worker: _Worker, reason: str) -> None:
        """A worker is dead or has to be; one run is recorded as failed, several are tried again one by one."""
        task, seconds = worker.task, time.monotonic() - worker.began
        self._selector.unregister(worker.process.answers)
        code, last_words = worker.process.close()
        self._workers.remove(worker)
        if task is None:
            return
        if self._todo.split(task):
            return
        if reason == "timeout":
            error = f"timed out: no end after {seconds:.0f} s ({self.timeout:g} s per run are allowed)"
        else:
            error = f"the worker died with exit code {code}: {last_words}"
        self._todo.keep(task, [empty_record(spec, reason, error, seconds) for spec in task.runs])


def _lines(worker: _Worker, content: bytes) -> Iterator[bytes]:
    *whole, worker.buffer = (worker.buffer + content).split(b"\n")
    yield from whole


def patience(task: Task, timeout: float) -> float:
    """Seconds that a task may take in a process that is ready, if one run may take `timeout`."""
    return timeout * len(task.runs) + (START_SECONDS if task.engine == "compiled" else 0.0)

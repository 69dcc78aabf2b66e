"""Processes of our own: started by spawn, kept warm, and ended when an evaluation takes too long.

A process that dies in the middle of an evaluation (a segmentation fault, the system's out-of-memory killer, an exit)
costs that evaluation only: another process takes its place.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from l2e.core.errors import MissingExtraError, require
from l2e.core.workers.contract import AbstractCrew, Outcome, WorkersError
from l2e.core.workers.process_main import serve

START_SECONDS = 300.0
"""A worker that has not begun to work by then never will."""

FAILED_STARTS = 3
"""Workers may die this often in a row before any is ready: then there is something wrong with how they start."""


@dataclass
class _Worker:
    """A process and what it is doing."""

    process: Any
    wire: Connection
    since: float
    ready: bool = False
    number: int | None = None

    def kill(self) -> None:
        """End it with all it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):
            if os.getpgid(self.process.pid) == self.process.pid:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.wire.close()


class Processes(AbstractCrew):
    """Spawned processes.

    **Arguments:** `function`: of one point; `size`: how many processes; `timeout`: seconds one evaluation may take
    before its process is ended.
    """

    def __init__(self, function: Callable[[Any], Any], size: int, timeout: float | None = None):
        self.size = size
        self._content = pickled(function)
        self._timeout = timeout
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._context = multiprocessing.get_context("spawn")

    def begin(self) -> None:
        """Start a process now and wait until it is ready.

        **Raises:** `WorkersError` if it cannot use the function, or ends.
        """
        worker = self._start()
        try:
            if not wait([worker.wire], START_SECONDS):
                self._give_up(worker)
            self._hear(worker)
        except WorkersError:
            self.close()
            raise
        if not worker.ready:
            raise WorkersError("a worker process ended while it started")

    @property
    def free(self) -> int:
        return self.size - sum(worker.number is not None for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """The processes that live now."""
        return [worker.process.pid for worker in self._workers]

    def submit(self, number: int, point: np.ndarray) -> None:
        idle = [worker for worker in self._workers if worker.number is None]
        if not self._workers:
            idle = [self._start() for _ in range(self.size)]  # all at once: none is waited for twice
        worker = min(idle, key=lambda one: not one.ready, default=None) or self._start()
        worker.number, worker.since = number, time.monotonic()
        with contextlib.suppress(OSError):  # it has just died, which `wait` will notice
            worker.wire.send((number, point))

    def wait(self, seconds: float | None = None) -> list[Outcome]:
        end = None if seconds is None else time.monotonic() + seconds
        while any(worker.number is not None for worker in self._workers):
            outcomes = self._look(self._patience(end))
            if outcomes or (end is not None and time.monotonic() >= end):
                return outcomes
        return []

    def abandon(self) -> None:
        for worker in [worker for worker in self._workers if worker.number is not None]:
            self._remove(worker)

    def close(self) -> None:
        for worker in list(self._workers):
            self._remove(worker)

    def _patience(self, end: float | None) -> float | None:
        """Seconds until something has to be done even if nobody reports."""
        ends = [] if end is None else [end]
        ends += [limit for worker in self._workers if (limit := self._limit(worker)) is not None]
        return None if not ends else max(min(ends) - time.monotonic(), 0.0)

    def _limit(self, worker: _Worker) -> float | None:
        if worker.number is None:
            return None
        allowed = self._timeout if worker.ready else START_SECONDS
        return None if allowed is None else worker.since + allowed

    def _look(self, seconds: float | None) -> list[Outcome]:
        outcomes = []
        reported = wait([worker.wire for worker in self._workers], seconds)
        for worker in [worker for worker in self._workers if worker.wire in reported]:
            outcomes += self._hear(worker)
        now = time.monotonic()
        for worker in list(self._workers):
            limit = self._limit(worker)
            if limit is not None and now >= limit and not worker.wire.poll():
                outcomes += self._give_up(worker)
        return outcomes

    def _hear(self, worker: _Worker) -> list[Outcome]:
        try:
            kind, content = worker.wire.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._died(worker)
        if kind == "unusable":
            raise WorkersError(
                f"a worker process cannot use the function ({content}); define it in a module that can be imported"
            )
        if kind == "ready":
            worker.ready, worker.since, self._failed_starts = True, time.monotonic(), 0
            return []
        worker.number = None
        return [Outcome(*content)]

    def _died(self, worker: _Worker) -> list[Outcome]:
        number, seconds, ready = worker.number, time.monotonic() - worker.since, worker.ready
        worker.process.join()
        how = ending(worker.process.exitcode)
        self._remove(worker)
        if not ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise WorkersError(
                    f"worker processes end while they start ({how}). In a script, the call belongs under "
                    "if __name__ == '__main__':, since each worker imports the script"
                )
        if number is None:
            return []
        return [Outcome(number, np.nan, f"ended its process: {how}", seconds=seconds, died=True)]

    def _give_up(self, worker: _Worker) -> list[Outcome]:
        if not worker.ready:
            raise WorkersError(f"a worker process was not ready after {START_SECONDS:g} s")
        number, seconds = worker.number, time.monotonic() - worker.since
        self._remove(worker)
        assert number is not None
        return [Outcome(number, np.nan, f"timed out: its process was ended after {seconds:.3g} s", seconds=seconds)]

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        threads = max(1, (os.cpu_count() or 1) // self.size)
        process = self._context.Process(
            target=serve, args=(theirs, self._content, os.getpid(), threads, sys.path), daemon=False
        )
        process.start()
        theirs.close()
        worker = _Worker(process, ours, time.monotonic())
        self._workers.append(worker)
        return worker

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.kill()


def pickled(function: Callable[[Any], Any]) -> bytes:
    """The function for another process; functions that have no name there need `cloudpickle`.

    **Raises:** `TypeError` that says what to do.
    """
    try:
        content = pickle.dumps(function)
        if b"__main__" in content and getattr(sys.modules["__main__"], "__file__", None) is None:
            raise pickle.PicklingError("it was typed in, and no other process has it")
        return content
    except Exception as error:  # noqa: BLE001 - whatever it is, the function has no name there
        try:
            return require("cloudpickle", "workers").dumps(function)
        except MissingExtraError:
            raise TypeError(
                f"this function cannot be sent to another process ({error}): define it with def at the top of a "
                "module, or pip install 'l2e[workers]', whose cloudpickle can send lambdas and inner functions"
            ) from error


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = ", perhaps out of memory" if name == "SIGKILL" else ""
    return f"signal {-code}, {name}{hint}"

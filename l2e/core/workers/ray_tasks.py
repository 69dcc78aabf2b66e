"""Ray: each evaluation is a task of a cluster that the user has started or joined."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from l2e.core.errors import require
from l2e.core.workers.contract import AbstractCrew, Outcome, measured


class RayTasks(AbstractCrew):
    """Submits tasks of one CPU to Ray, which distributes them and starts lost ones again elsewhere.

    **Arguments:** `function`: of one point; `size`: how many points at once; `timeout`: seconds one evaluation may take
    before its process is ended. The clock starts when the task is submitted.
    """

    def __init__(self, function: Callable[[Any], Any], size: int, timeout: float | None = None):
        self._ray = require("ray", "ray")
        self.size = size
        self._timeout = timeout
        self._task = self._ray.remote(measured).options(num_cpus=1, max_retries=1, retry_exceptions=False)
        self._function = self._ray.put(function)
        self._running: dict[Any, tuple[int, float]] = {}

    @property
    def free(self) -> int:
        return self.size - len(self._running)

    def submit(self, number: int, point: np.ndarray) -> None:
        self._running[self._task.remote(self._function, number, point)] = (number, time.monotonic())

    def wait(self, seconds: float | None = None) -> list[Outcome]:
        end = np.inf if seconds is None else time.monotonic() + seconds
        while self._running:
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=self._patience(end))
            outcomes = [self._result(task) for task in ready] + self._late()
            if outcomes or time.monotonic() >= end:
                return outcomes
        return []

    def abandon(self) -> None:
        for task in self._running:
            self._cancel(task)
        self._running = {}

    def close(self) -> None:
        self.abandon()

    def _patience(self, end: float) -> float | None:
        if self._timeout is not None:
            end = min([end, *(began + self._timeout for _, began in self._running.values())])
        return None if end == np.inf else max(end - time.monotonic(), 0.0)

    def _result(self, task: Any) -> Outcome:
        number, began = self._running.pop(task)
        try:
            return Outcome(*self._ray.get(task))
        except Exception as error:  # noqa: BLE001 - of Ray: the function's own come as outcomes
            first = (str(error).splitlines() or [""])[0]
            reason = f"ended its process: {type(error).__name__}: {first}"
            return Outcome(number, np.nan, reason, seconds=time.monotonic() - began, died=True)

    def _late(self) -> list[Outcome]:
        if self._timeout is None:
            return []
        now, late = time.monotonic(), []
        for task, (number, began) in list(self._running.items()):
            if now - began >= self._timeout:
                del self._running[task]
                self._cancel(task)
                reason = f"timed out: its process was ended after {now - began:.3g} s"
                late.append(Outcome(number, np.nan, reason, seconds=now - began))
        return late

    def _cancel(self, task: Any) -> None:
        with contextlib.suppress(Exception):
            self._ray.cancel(task, force=True)

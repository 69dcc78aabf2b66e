"""Executors that others run: `concurrent.futures`, and Dask's client, which has the same `submit`."""

import contextlib
import queue
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import Any

import numpy as np

from l2e.core.workers.contract import AbstractCrew, Outcome, WorkersError, measured


class Futures(AbstractCrew):
    """Submits to somebody else's executor, which stays open.

    A call that takes too long is given up: it counts as failed, and its place is free again when the call ends, since
    an executor cannot end it.

    **Arguments:** `executor`: has `submit(function, *arguments)`; `size`: how many points at once; `timeout`: seconds
    one evaluation may take; `options`: further keywords for `submit`.
    """

    def __init__(
        self,
        executor: Any,
        function: Callable[[Any], Any],
        size: int,
        timeout: float | None = None,
        options: dict[str, Any] | None = None,
    ):
        self.size = size
        self._executor, self._function, self._timeout = executor, function, timeout
        self._options = options or {}
        self._running: dict[Any, tuple[int, float]] = {}
        self._lost: set[Any] = set()
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def free(self) -> int:
        return self.size - len(self._running) - len(self._lost)

    def submit(self, number: int, point: np.ndarray) -> None:
        try:
            future = self._executor.submit(measured, self._function, number, point, **self._options)
        except RuntimeError as error:
            raise WorkersError(f"the executor takes no more work: {error}") from error
        self._running[future] = (number, time.monotonic())
        future.add_done_callback(self._finished.put)

    def wait(self, seconds: float | None = None) -> list[Outcome]:
        end = np.inf if seconds is None else time.monotonic() + seconds
        while self._running or self._lost:
            outcomes = self._take(self._patience(end)) + self._late()
            if outcomes or time.monotonic() >= end:
                return outcomes
            if not self._running and self.free > 0:
                return []
        return []

    def abandon(self) -> None:
        for future in list(self._running):
            self._lose(future)

    def close(self) -> None:
        self.abandon()

    def _patience(self, end: float) -> float | None:
        if self._timeout is not None:
            end = min([end, *(began + self._timeout for _, began in self._running.values())])
        return None if end == np.inf else max(end - time.monotonic(), 1e-3)

    def _take(self, seconds: float | None) -> list[Outcome]:
        try:
            future = self._finished.get(timeout=seconds)
        except queue.Empty:
            return []
        self._lost.discard(future)
        if future not in self._running:
            return []
        number, began = self._running.pop(future)
        try:
            return [Outcome(*future.result())]
        except BrokenExecutor as error:
            raise WorkersError(
                f"the executor is broken ({error}): a process of it died. workers={self.size} starts processes that may"
            ) from error
        except Exception as error:  # noqa: BLE001 - the engine lost it: of the function we know nothing
            text = f"was lost by the executor: {type(error).__name__}: {error}"
            return [Outcome(number, np.nan, text, seconds=time.monotonic() - began, died=True)]

    def _late(self) -> list[Outcome]:
        if self._timeout is None:
            return []
        now = time.monotonic()
        late = [(future, at) for future, at in self._running.items() if now - at[1] >= self._timeout]
        for future, _ in late:
            self._lose(future)
        reason = f"timed out: no answer within {self._timeout:.3g} s"
        return [Outcome(number, np.nan, reason, seconds=now - began) for _, (number, began) in late]

    def _lose(self, future: Any) -> None:
        del self._running[future]
        cancelled = False
        with contextlib.suppress(Exception):
            cancelled = bool(future.cancel())
        if not cancelled:
            self._lost.add(future)

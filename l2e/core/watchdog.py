"""Calls that may hang: run in a thread of their own, given up after a while."""

import queue
import threading
from collections.abc import Callable
from typing import Any


class TimedOutError(TimeoutError):
    """The call did not come back in time. Python cannot end a thread, so its work may go on unseen."""


class Watchdog:
    """Runs calls one after the other in a daemon thread and stops waiting for one that takes too long."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(self._calls, self._answers), daemon=True).start()

    def __call__(self, function: Callable[[], Any], seconds: float) -> Any:
        """The function's result, or its exception, or `TimedOutError` after that many seconds."""
        self._calls.put(function)
        try:
            succeeded, answer = self._answers.get(timeout=max(seconds, 1e-3))
        except queue.Empty:
            self._calls.put(None)  # the abandoned thread ends when its call does
            self._start()
            raise TimedOutError(f"no answer within {seconds:.3g} s") from None
        if succeeded:
            return answer
        raise answer

    def close(self) -> None:
        """Let the thread end."""
        self._calls.put(None)


def _serve(calls: queue.SimpleQueue[Any], answers: queue.SimpleQueue[tuple[bool, Any]]) -> None:
    while (function := calls.get()) is not None:
        try:
            answers.put((True, function()))
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            answers.put((False, error))

"""What runs on a node of a cluster: a task goes to a worker process of the node, its records come back as text.

Runs go on in processes of our own (`l2e.bench.worker`) and not in the engine's: so a run that hangs can be ended, one
that dies takes nothing with it, and programs that were compiled stay warm from task to task. A process ends when the
engine's process that started it is gone.
"""

import json
import threading
import time
from typing import Any

from l2e._version import __version__
from l2e.bench.runner import START_SECONDS
from l2e.bench.worker_process import WorkerProcess


class Helper:
    """A worker process of this node, which does one task at a time."""

    def __init__(self) -> None:
        self._process = WorkerProcess()

    def do(self, task: str, seconds: float) -> dict[str, Any]:
        """What came of a task, as `run_task` returns it; after a failure this helper is over."""
        began = time.monotonic()
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            answer = self._talk(task)
        except (BrokenPipeError, ValueError):  # ValueError: a line that was cut off
            answer = None
        late = timer.finished.is_set()
        timer.cancel()
        if answer is not None:
            return answer
        taken = time.monotonic() - began
        code, words = self.close()
        if late:
            return {"failed": "timeout", "error": f"timed out: no end after {taken:.0f} s", "seconds": taken}
        return {"failed": "crash", "error": f"the worker died with exit code {code}: {words}", "seconds": taken}

    def close(self) -> tuple[int, str]:
        """End the process, whatever it does; its exit code, and the end of what it wrote to stderr."""
        return self._process.close()

    def _talk(self, task: str) -> dict[str, Any] | None:
        """Hand a task over and read records until it is done; None if the process ended before."""
        self._process.send(task)
        records: list[str] = []
        for line in self._process.answers:
            answer = json.loads(line)
            if "abort" in answer:
                return {"abort": answer["abort"]}
            if "done" in answer:
                return {"records": records}
            if "ready" not in answer:
                records.append(line.decode().rstrip("\n"))
        return None


idle: list[Helper] = []
"""Helpers of this process that wait for a task; the threads of an engine take and return them."""


def run_task(task: str, version: str, seconds: float) -> dict[str, Any]:
    """Have a task run on this node.

    **Arguments:** `task`: the line that a worker reads; `version`: of the package that planned it; `seconds`: after
    which it is ended, not counting the start of a process.

    **Returns:** `records`, their lines; or `failed` ("timeout" or "crash"), `error` and `seconds`; or `abort`, the
    reason why nothing can run here.
    """
    if version != __version__:
        return {"abort": f"a node has l2e {__version__}, and the experiment was planned with {version}"}
    try:
        helper, patience = idle.pop(), seconds
    except IndexError:
        helper, patience = Helper(), seconds + START_SECONDS
    answer = helper.do(task, patience)
    if "failed" not in answer:
        idle.append(helper)
    return answer

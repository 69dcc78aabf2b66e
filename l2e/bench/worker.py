"""A worker process: tasks come in as lines of JSON, records go out as lines of JSON. Nothing is forked or pickled.

    python -m l2e.bench.worker

What methods print goes to stderr, so that it cannot get between the records. The worker ends when its input does, and
at once when its parent is gone.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from l2e.bench.official import run_logged
from l2e.bench.plan import Task
from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.run_compiled import run_compiled
from l2e.bench.run_host import run_on_host
from l2e.core.errors import MissingExtraError


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    answers.write('{"ready": true}\n')
    for line in sys.stdin:
        _serve(json.loads(line), answers)
    os._exit(0)  # threads that methods have left behind do not keep it


def ask(task: Task, folder: Path) -> str:
    """A task as the line a worker reads."""
    runs = [spec.to_json() for spec in task.runs]
    return (
        json.dumps({"engine": task.engine, "problems": task.problems, "folder": os.fspath(folder), "runs": runs}) + "\n"
    )


def _serve(task: dict[str, Any], answers: TextIO) -> None:
    specs = [RunSpec.from_json(values) for values in task["runs"]]
    try:
        for record in _run(task, specs):
            answers.write(record.line + "\n")
        answers.write('{"done": true}\n')
    except MissingExtraError as error:
        answers.write(json.dumps({"abort": str(error)}) + "\n")


def _run(task: dict[str, Any], specs: list[RunSpec]) -> Iterator[RunRecord]:
    if specs[0].log:
        yield from run_logged(specs, Path(task["folder"]))
    elif task["engine"] == "compiled":
        yield from run_compiled(specs, task["problems"])
    else:
        yield from (run_on_host(spec) for spec in specs)


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()

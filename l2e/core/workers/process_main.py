"""What runs inside a worker process: it has one function, and evaluates the points that are sent to it.

It leads a process group of its own, so that it can be ended together with whatever the function started, and so that
Ctrl-C reaches the parent only, which decides.
"""

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from l2e.core.workers.contract import measured

INSIDE_WORKER = "L2E_INSIDE_WORKER"
"""An environment variable that is set in worker processes: a search in there is silent."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def serve(wire: Connection, content: bytes, parent: int, threads: int, path: list[str]) -> None:
    """Evaluate until the wire ends.

    **Arguments:** `content`: the function, pickled; `parent`: the process that must live; `threads`: for linear
    algebra, unless the user has decided; `path`: where the parent finds its modules.
    """
    with contextlib.suppress(AttributeError, OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    sys.path[:] = [*sys.path, *(place for place in path if place not in sys.path)]
    os.environ[INSIDE_WORKER] = "1"
    for name in THREADS:
        os.environ.setdefault(name, str(threads))
    try:
        function = pickle.loads(content)
    except BaseException as error:  # noqa: BLE001 - the parent says it
        wire.send(("unusable", f"{type(error).__name__}: {error}"))
        return
    wire.send(("ready", ""))
    with _limited(threads):
        _evaluate(wire, function)


def _evaluate(wire: Connection, function: Any) -> None:
    ours = os.getpid()
    while True:
        try:
            number, point = wire.recv()
            outcome = measured(function, number, point)
            if os.getpid() != ours:  # the function has forked, and its child came back, too: one answer is enough
                os._exit(0)
            wire.send(("done", outcome))
        except (EOFError, OSError):  # nobody is there any more
            break
    sys.stdout.flush()
    os._exit(0)  # threads that the function has left behind do not keep the process


def _limited(threads: int) -> Any:
    if any(name in os.environ for name in THREADS if os.environ[name] != str(threads)):
        return contextlib.nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(threads)


def _watch(parent: int) -> None:
    """End with the parent, however it ends."""
    while os.getppid() == parent:
        time.sleep(0.5)
    with contextlib.suppress(AttributeError, OSError):
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)

"""A worker process of a contest as the one who started it sees it."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

LONGEST_WORDS = 300
"""Letters of the last line of stderr that are kept."""


class WorkerProcess:
    """A process of `l2e.bench.worker`, which reads tasks from its standard input and answers on its standard output."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "l2e.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment(),
        )

    @property
    def answers(self) -> IO[bytes]:
        """Where it answers."""
        assert self._process.stdout is not None
        return self._process.stdout

    def send(self, task: str) -> None:
        """Hand a task over.

        **Raises:** `BrokenPipeError` if the process is gone.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(task.encode())
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it, whatever it does; `close` is still to be called."""
        self._process.kill()

    def close(self) -> tuple[int, str]:
        """End it, whatever it does; its exit code, and the end of what it wrote to stderr."""
        self._process.kill()
        code = self._process.wait()
        words = self._last_words()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        return code, words

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:LONGEST_WORDS] if lines else ""


def environment() -> dict[str, str]:
    """One thread per worker, unless the user has decided otherwise; this package found where it is now."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    own = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    root = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**own, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", **os.environ, "PYTHONPATH": path}

"""Who evaluates: with `timeout` and without `workers`, a process of its own for a function that may hang."""

import multiprocessing
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from l2e.core.workers.choose import make_crew
from l2e.core.workers.contract import AbstractCrew, WorkersError
from l2e.core.workers.processes import Processes

GUARD = "__main__"
"""What a script that may be imported again has in it: `if __name__ == "__main__":`."""


def crew_of(
    function: Callable[[Any], Any], workers: Any, timeout: float | None, alone: str | None = None
) -> AbstractCrew | None:
    """Who evaluates: the workers; without them a process that can be ended, if there is a time-out; None for this one.

    **Arguments:** `alone`: why the function can only be called in this process, if so.
    """
    if workers is not None:
        return make_crew(workers, function, timeout)
    if timeout is None:
        return None
    crew = alone or _killable(function, timeout)
    if isinstance(crew, str):
        warnings.warn(
            f"timeout: the function is called in this process ({crew}); a call that takes too long is given up, but "
            "nobody can end it",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    return crew


def _killable(function: Callable[[Any], Any], timeout: float) -> Processes | str:
    """One process that evaluates the function and can be ended, or why there is no way to have one."""
    if not _is_guarded():
        return "the script that runs has no if __name__ == '__main__':, and a new process would run it again"
    if multiprocessing.current_process().daemon:
        return "a daemonic process may not start others"
    try:
        crew = Processes(function, 1, timeout)
        crew.begin()
    except (TypeError, OSError, WorkersError, pickle.PicklingError) as error:
        return str(error)
    return crew


def _is_guarded() -> bool:
    """Whether a new process may import the script that is running; what was typed in is not imported."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        return True
    try:
        return GUARD in Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False

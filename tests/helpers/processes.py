"""Processes that were ended: the system gets to them when it gets to them."""

import time


def await_end(pids: list[int], seconds: float = 300.0) -> None:
    """Wait until none of these processes does anything any more; one that is dead and not yet collected does not."""
    end = time.monotonic() + seconds
    while running := [pid for pid in pids if _is_running(pid)]:
        assert time.monotonic() < end, f"{running} were not ended"
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

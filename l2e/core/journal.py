"""A search on disk, evaluation by evaluation: an append-only file that is replayed to go on.

Points are written before they are evaluated and their values as soon as they are known, so a process killed at any
moment loses only what it was evaluating. Going on means running the same search again and answering its questions
from the journal; each asked point is compared with the stored one, so a resumed run *is* the run that was saved, or
the difference is noticed. Evaluations are numbered in the order in which they were asked for; several may be under way
at once, and their values come in any order.

A file cut off inside its last frame lost that frame only. Any other damage is an error that names the place. The format
is in `l2e.core.journal_frames`.
"""

import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.checkpoint import CheckpointError
from l2e.core.journal_frames import Recorded, Segment, frame, opening, points_payload, rows_payload, worth_payload
from l2e.core.journal_reader import read_journal

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where a second process is not noticed
    fcntl = None

SYNC_SECONDS = 2.0
"""The disk is asked this often to make sure of what was written; a killed process loses nothing even before that."""

DEADLY = 2
"""A point during whose evaluation the process died this often counts as failed."""


class Journal:
    """An open journal, which belongs to this process until it is closed.

    **Raises:** `CheckpointError` if the file is damaged, is something else, or another process has it open; `OSError`
    where nothing can be written.
    """

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any]):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._synced = time.monotonic()
        self._next = 0  # the number of the next evaluation
        self._running: list[int] = []
        self.broken: OSError | None = None
        """Why nothing more is written, if writing failed."""
        try:
            self._lock()
            if os.fstat(self._file).st_size == 0:
                self._size = 0
                self._write(opening(header))
                self.recorded = Recorded(header, [Segment(None)], {}, self._size)
            else:
                self.recorded = read_journal(self.path)
                self._size = self.recorded.size
                self._next = len(self.recorded.segments[-1].finished)
                os.ftruncate(self._file, self._size)
        except BaseException:
            os.close(self._file)
            raise

    def begin(
        self, points: np.ndarray, numbers: Sequence[int] | None = None, part: str = "", apart: bool = False
    ) -> None:
        """These points are about to be evaluated; `apart` is in processes whose death this one survives."""
        if numbers is None:
            numbers = range(self._next, self._next + len(points))
        self._next = max(self._next, max(numbers) + 1)
        self._running.extend(numbers)
        self._append(points_payload(b"Q" if apart else b"P", points, numbers, part))

    def end(
        self,
        value: float,
        reason: str | None,
        number: int | None = None,
        seconds: float = float("nan"),
        rows: Sequence[float] | None = None,
    ) -> None:
        """The point of this number (the oldest without a value) has this one, or none for this reason; `rows`: further
        numbers that came with it.
        """
        number = self._running[0] if number is None else number
        self._running.remove(number)
        if rows is not None:
            self._append(rows_payload(number, rows))
        self._append(worth_payload(number, value, reason, seconds))

    def abandon(self) -> None:
        """The points without a value were given up by the user; they are no suspects."""
        self._running.clear()
        self._append(b"A")

    def restart(self, how: dict[str, Any]) -> None:
        """From here on another search asks for points."""
        self._next = 0
        self._append(b"R" + json.dumps(how).encode())

    def close(self) -> None:
        """Make sure of all that was written and let other processes have the file."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.fsync(self._file)
            os.close(self._file)
            self._file = -1

    def _append(self, payload: bytes) -> None:
        if self.broken is not None or self._file < 0:
            return
        try:
            self._write(frame(payload))
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:  # a full disk must not cost the search
            self.broken = error
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)

    def _write(self, content: bytes) -> None:
        """Write at the end of the whole frames: what an interrupted call left there is written over."""
        place, left = self._size, memoryview(content)
        while left:
            written = os.pwrite(self._file, left, place)
            place, left = place + written, left[written:]
        self._size = place

    def _lock(self) -> None:
        if fcntl is None:  # pragma: no cover
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CheckpointError(
                f"{self.path} is in use by another process; wait until that ends, or name another file"
            ) from error


def is_open(path: str | os.PathLike[str]) -> bool:
    """Whether a process has this journal open and writes it."""
    if fcntl is None:  # pragma: no cover
        return False
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False

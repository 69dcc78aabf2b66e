"""A search on disk, evaluation by evaluation: an append-only file that is replayed to go on.

Points are written before they are evaluated and their values as soon as they are known, so a process killed at any
moment loses only what it was evaluating. Going on means running the same search again and answering its questions
from the journal; each asked point is compared with the stored one, so a resumed run *is* the run that was saved, or
the difference is noticed.

    file   = MAGIC frame*                        frame   = length u32, ~length u32, crc32 u32, payload
    payload = b"H" json                          header: what makes this search this search
            | b"S" n u32, n x d float64          n points are about to be evaluated
            | b"V" status u8, float64, utf-8     the value of the oldest point without one, or why it has none
            | b"A"                               the points without a value were abandoned (Ctrl-C), not deadly
            | b"R" json                          from here on another search goes on from the best point

A file cut off inside its last frame lost that frame only. Any other damage is an error that names the place.
"""

import contextlib
import json
import os
import struct
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.checkpoint import CheckpointError

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where a second process is not noticed
    fcntl = None

MAGIC = b"l2e journal 1\n"
FRAME = struct.Struct("<III")
VALUE = struct.Struct("<Bd")
LARGEST_FRAME = 1 << 31
SYNC_SECONDS = 2.0
"""The disk is asked this often to make sure of what was written; a killed process loses nothing even before that."""

DEADLY = 2
"""A point during whose evaluation the process died this often counts as failed."""


@dataclass
class Evaluation:
    """One evaluation as it was recorded; `reason` is why it has no value, None if it has one."""

    x: np.ndarray
    value: float
    reason: str | None


@dataclass
class Segment:
    """A stretch of a journal in which one search asked for all points.

    `restart` is None for the search of the header, else how a later one began: `x0`, `budget`, `fold`.
    """

    restart: dict[str, Any] | None
    evaluations: list[Evaluation] = field(default_factory=list)


@dataclass
class Recorded:
    """What a journal holds."""

    header: dict[str, Any]
    segments: list[Segment]
    deaths: dict[bytes, int]
    """How often the process died while a point was evaluated, by the point's bytes."""
    size: int
    """Bytes of whole frames; what follows is a frame that was cut off."""

    @property
    def evaluations(self) -> list[Evaluation]:
        """All of them, in order."""
        return [evaluation for segment in self.segments for evaluation in segment.evaluations]


def entries(points: np.ndarray, values: np.ndarray, reasons: Sequence[str | None]) -> bytes:
    """The frames of evaluations that are already done."""
    body = np.ascontiguousarray(points, dtype=np.float64)
    begin = _frame(b"S" + struct.pack("<I", len(body)) + body.tobytes())
    return begin + b"".join(_frame(_value(value, why)) for value, why in zip(values, reasons, strict=True))


def restart_entry(how: dict[str, Any]) -> bytes:
    """The frame after which another search asks for points."""
    return _frame(b"R" + json.dumps(how).encode())


def opening(header: dict[str, Any]) -> bytes:
    """The beginning of a file."""
    return MAGIC + _frame(b"H" + json.dumps(header).encode())


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
                os.ftruncate(self._file, self._size)
        except BaseException:
            os.close(self._file)
            raise

    def begin(self, points: np.ndarray) -> None:
        """These points are about to be evaluated."""
        body = np.ascontiguousarray(points, dtype=np.float64)
        self._append(b"S" + struct.pack("<I", len(body)) + body.tobytes())

    def end(self, value: float, reason: str | None) -> None:
        """The oldest point without a value has this one, or none for this reason."""
        self._append(_value(value, reason))

    def abandon(self) -> None:
        """The points without a value were given up by the user; they are no suspects."""
        self._append(b"A")

    def restart(self, how: dict[str, Any]) -> None:
        """From here on another search asks for points."""
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
            self._write(_frame(payload))
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


def read_journal(path: str | os.PathLike[str]) -> Recorded:
    """Everything in a journal; also while another process writes it.

    **Raises:** `CheckpointError` for a file that is damaged or not a journal.
    """
    path = Path(path)
    content = path.read_bytes()
    if not content.startswith(MAGIC):
        raise CheckpointError(f"{path} is not a saved search of this version of l2e")
    return _Reader(path, content).read()


class _Reader:
    """Reads the frames of one file in order."""

    def __init__(self, path: Path, content: bytes):
        self._path, self._content = path, content
        self._place = len(MAGIC)
        self._header: dict[str, Any] | None = None
        self._dimension = 0
        self._segments = [Segment(None)]
        self._waiting: list[np.ndarray] = []
        self._deaths: dict[bytes, int] = {}
        self._counted = 0

    def read(self) -> Recorded:
        while (payload := self._next()) is not None:
            try:
                self._take(payload[:1], payload[1:])
            except (ValueError, KeyError, TypeError, RecursionError, struct.error, IndexError) as error:
                raise self._damaged(f"{type(error).__name__}: {error}") from error
        if self._header is None:
            raise self._damaged("it has no header")
        self._suspect()
        return Recorded(self._header, self._segments, self._deaths, self._place)

    def _next(self) -> bytes | None:
        start, end = self._place, self._place + FRAME.size
        if end > len(self._content):
            return None  # cut off
        length, inverse, check = FRAME.unpack_from(self._content, start)
        if length != inverse ^ 0xFFFFFFFF or length > LARGEST_FRAME:
            raise self._damaged("a frame has no valid length")
        if end + length > len(self._content):
            return None
        payload = self._content[end : end + length]
        if zlib.crc32(payload) != check:
            raise self._damaged("a frame does not match its checksum")
        self._place = end + length
        return payload

    def _take(self, kind: bytes, body: bytes) -> None:
        if kind == b"H":
            header = json.loads(body)
            if self._header is not None or not isinstance(header, dict):
                raise ValueError("a header where none belongs, or an odd one")
            self._header, self._dimension = header, int(header["dimension"])
        elif kind == b"S":
            self._suspect()
            (n,) = struct.unpack_from("<I", body)
            self._waiting = list(np.frombuffer(body[4:], dtype=np.float64).reshape(n, self._dimension))
        elif kind == b"V":
            failed, value = VALUE.unpack_from(body)
            reason = body[VALUE.size :].decode() if failed else None
            self._segments[-1].evaluations.append(Evaluation(self._waiting.pop(0), value, reason))
            self._counted += 1
        elif kind == b"A":
            self._waiting = []
        elif kind == b"R":
            self._suspect()
            self._segments.append(Segment(json.loads(body)))
        else:
            raise ValueError(f"a frame of unknown kind {kind!r}")

    def _suspect(self) -> None:
        """Points that were begun and have no value when something else happens: their process died."""
        for point in self._waiting:
            self._deaths[point.tobytes()] = self._deaths.get(point.tobytes(), 0) + 1
        self._waiting = []

    def _damaged(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"{self._path} is damaged at byte {self._place}: {why}. The {self._counted} evaluations before it are "
            f"intact; to go on from them, cut the file off there (truncate -s {self._place} FILE)"
        )


def _value(value: float, reason: str | None) -> bytes:
    text = b"" if reason is None else reason.encode("utf-8", "replace")
    return b"V" + VALUE.pack(reason is not None, value) + text


def _frame(payload: bytes) -> bytes:
    return FRAME.pack(len(payload), len(payload) ^ 0xFFFFFFFF, zlib.crc32(payload)) + payload

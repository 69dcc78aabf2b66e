"""A search on disk, evaluation by evaluation: an append-only file that is replayed to go on.

Points are written before they are evaluated and their values as soon as they are known, so a process killed at any
moment loses only what it was evaluating. Going on means running the same search again and answering its questions
from the journal; each asked point is compared with the stored one, so a resumed run *is* the run that was saved, or
the difference is noticed. Evaluations are numbered in the order in which they were asked for; several may be under way
at once, and their values come in any order.

    file   = MAGIC frame*                        frame   = length u32, ~length u32, crc32 u32, payload
    payload = b"H" json                          header: what makes this search this search
            | b"P" POINTS, numbers, part, points these points are about to be evaluated in this process
            | b"Q" the same                      ... in other processes: if this one dies, they are not to blame
            | b"W" WORTH, utf-8                  the value of the point of this number, or why it has none
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
from typing import Any, NamedTuple

import numpy as np

from l2e.core.checkpoint import CheckpointError

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where a second process is not noticed
    fcntl = None

MAGIC = b"l2e journal 2\n"
OLDER = b"l2e journal 1\n"
FRAME = struct.Struct("<III")
POINTS = struct.Struct("<IB")
"""How many points, and how many bytes the name of the part has that asks for them."""

WORTH = struct.Struct("<IBdf")
"""Number, whether it failed, value, seconds."""

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
    seconds: float = float("nan")
    part: str = ""
    """Which part of the method asked for it, where that is known."""


class Event(NamedTuple):
    """Something that happened: a point was asked for, or its value became known."""

    kind: str
    number: int


@dataclass
class Segment:
    """A stretch of a journal in which one search asked for all points.

    `restart` is None for the search of the header, else how a later one began: `x0`, `budget`, `fold`.
    """

    restart: dict[str, Any] | None
    asked: dict[int, tuple[np.ndarray, str]] = field(default_factory=dict)
    """Points and who asked for them, by number."""
    finished: dict[int, Evaluation] = field(default_factory=dict)
    """Evaluations that have an end, by number."""
    events: list[Event] = field(default_factory=list)
    """What was asked and told, in the order in which it happened."""

    @property
    def evaluations(self) -> list[Evaluation]:
        """The finished ones, in the order in which they were asked for."""
        return [self.finished[number] for number in sorted(self.finished)]


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


def entries(points: np.ndarray, values: np.ndarray, reasons: Sequence[str | None], first: int) -> bytes:
    """The frames of evaluations that are already done, the first of them of this number."""
    numbers = range(first, first + len(points))
    done = zip(numbers, values, reasons, strict=True)
    return _frame(_points(b"P", points, numbers, "")) + b"".join(
        _frame(_worth(n, v, why, np.nan)) for n, v, why in done
    )


def asked_entry(points: np.ndarray, numbers: Sequence[int], part: str) -> bytes:
    """The frame of points that were handed out."""
    return _frame(_points(b"Q", points, numbers, part))


def told_entry(number: int, value: float, reason: str | None) -> bytes:
    """The frame of a value that was told."""
    return _frame(_worth(number, value, reason, np.nan))


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
        self._append(_points(b"Q" if apart else b"P", points, numbers, part))

    def end(self, value: float, reason: str | None, number: int | None = None, seconds: float = float("nan")) -> None:
        """The point of this number (the oldest without a value) has this one, or none for this reason."""
        number = self._running[0] if number is None else number
        self._running.remove(number)
        self._append(_worth(number, value, reason, seconds))

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


def read_journal(path: str | os.PathLike[str]) -> Recorded:
    """Everything in a journal; also while another process writes it.

    **Raises:** `CheckpointError` for a file that is damaged or not a journal.
    """
    path = Path(path)
    content = path.read_bytes()
    if content.startswith(OLDER):
        raise CheckpointError(f"{path} was saved by an older version of l2e, which alone can go on with it")
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
        self._waiting: dict[int, np.ndarray] = {}  # being evaluated in the process that writes
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
        elif kind in (b"P", b"Q"):
            self._begun(kind, body)
        elif kind == b"W":
            number, failed, value, seconds = WORTH.unpack_from(body)
            reason = body[WORTH.size :].decode() if failed else None
            segment = self._segments[-1]
            x, part = segment.asked[number]
            segment.finished[number] = Evaluation(x, value, reason, seconds, part)
            segment.events.append(Event("told", number))
            self._waiting.pop(number, None)
            self._counted += 1
        elif kind == b"A":
            self._waiting = {}
        elif kind == b"R":
            self._suspect()
            self._segments.append(Segment(json.loads(body)))
        else:
            raise ValueError(f"a frame of unknown kind {kind!r}")

    def _begun(self, kind: bytes, body: bytes) -> None:
        n, letters = POINTS.unpack_from(body)
        numbers = np.frombuffer(body, dtype="<u4", count=n, offset=POINTS.size).tolist()
        place = POINTS.size + 4 * n
        part = body[place : place + letters].decode()
        points = np.frombuffer(body[place + letters :], dtype=np.float64).reshape(n, self._dimension)
        self._suspect(set(numbers))
        segment = self._segments[-1]
        for number, point in zip(numbers, points, strict=True):
            if number not in segment.asked:
                segment.events.append(Event("asked", number))
            segment.asked[number] = (point, part)
            if kind == b"P":
                self._waiting[number] = point

    def _suspect(self, again: set[int] | None = None) -> None:
        """Points that were begun and have no value when they are begun again, or at the end: their process died."""
        for number in [number for number in self._waiting if again is None or number in again]:
            point = self._waiting.pop(number).tobytes()
            self._deaths[point] = self._deaths.get(point, 0) + 1

    def _damaged(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"{self._path} is damaged at byte {self._place}: {why}. The {self._counted} evaluations before it are "
            f"intact; to go on from them, cut the file off there (truncate -s {self._place} FILE)"
        )


def _points(kind: bytes, points: np.ndarray, numbers: Sequence[int], part: str) -> bytes:
    body = np.ascontiguousarray(points, dtype=np.float64)
    name = part.encode("utf-8", "replace")[:255]
    which = np.asarray(numbers, dtype="<u4").tobytes()
    return kind + POINTS.pack(len(body), len(name)) + which + name + body.tobytes()


def _worth(number: int, value: float, reason: str | None, seconds: float) -> bytes:
    text = b"" if reason is None else reason.encode("utf-8", "replace")
    return b"W" + WORTH.pack(number, reason is not None, value, seconds) + text


def _frame(payload: bytes) -> bytes:
    return FRAME.pack(len(payload), len(payload) ^ 0xFFFFFFFF, zlib.crc32(payload)) + payload

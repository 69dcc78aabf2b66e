"""Reading a journal, also while another process writes it."""

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.checkpoint import CheckpointError
from l2e.core.journal_frames import (
    FRAME,
    LARGEST_FRAME,
    MAGIC,
    NUMBER,
    OLDER,
    POINTS,
    WORTH,
    Evaluation,
    Event,
    Recorded,
    Segment,
)


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
        self._rows: dict[int, np.ndarray] = {}  # further numbers whose value has not been read yet
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
            segment.finished[number] = Evaluation(x, value, reason, seconds, part, self._rows.pop(number, None))
            segment.events.append(Event("told", number))
            self._waiting.pop(number, None)
            self._counted += 1
        elif kind == b"C":
            (number,) = NUMBER.unpack_from(body)
            self._rows[number] = np.frombuffer(body, dtype="<f8", offset=NUMBER.size)
        elif kind == b"A":
            self._waiting = {}
        elif kind == b"R":
            self._suspect()
            self._rows = {}
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

"""The format of a journal: its frames, and what they hold.

file   = MAGIC frame*                        frame   = length u32, ~length u32, crc32 u32, payload
payload = b"H" json                          header: what makes this search this search
        | b"P" POINTS, numbers, part, points these points are about to be evaluated in this process
        | b"Q" the same                      ... in other processes: if this one dies, they are not to blame
        | b"C" number, float64*              further numbers that came with the value which follows: constraints
        | b"W" WORTH, utf-8                  the value of the point of this number, or why it has none
        | b"A"                               the points without a value were abandoned (Ctrl-C), not deadly
        | b"R" json                          from here on another search goes on from the best point
"""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

MAGIC = b"l2e journal 2\n"
OLDER = b"l2e journal 1\n"
FRAME = struct.Struct("<III")
POINTS = struct.Struct("<IB")
"""How many points, and how many bytes the name of the part has that asks for them."""

WORTH = struct.Struct("<IBdf")
"""Number, whether it failed, value, seconds."""

NUMBER = struct.Struct("<I")

LARGEST_FRAME = 1 << 31


@dataclass
class Evaluation:
    """One evaluation as it was recorded; `reason` is why it has no value, None if it has one."""

    x: np.ndarray
    value: float
    reason: str | None
    seconds: float = float("nan")
    part: str = ""
    """Which part of the method asked for it, where that is known."""
    rows: np.ndarray | None = None
    """Further numbers that came with the value, if any did."""


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
    def open_ended(self) -> bool:
        """Whether the search was begun without a budget; that of the header is where it ends at the latest."""
        return self.header.get("open") is True

    @property
    def evaluations(self) -> list[Evaluation]:
        """All of them, in order."""
        return [evaluation for segment in self.segments for evaluation in segment.evaluations]


def entries(points: np.ndarray, values: np.ndarray, reasons: Sequence[str | None], first: int) -> bytes:
    """The frames of evaluations that are already done, the first of them of this number."""
    numbers = range(first, first + len(points))
    done = zip(numbers, values, reasons, strict=True)
    return frame(points_payload(b"P", points, numbers, "")) + b"".join(
        frame(worth_payload(n, v, why, np.nan)) for n, v, why in done
    )


def asked_entry(points: np.ndarray, numbers: Sequence[int], part: str) -> bytes:
    """The frame of points that were handed out."""
    return frame(points_payload(b"Q", points, numbers, part))


def told_entry(number: int, value: float, reason: str | None) -> bytes:
    """The frame of a value that was told."""
    return frame(worth_payload(number, value, reason, np.nan))


def restart_entry(how: dict[str, Any]) -> bytes:
    """The frame after which another search asks for points."""
    return frame(b"R" + json.dumps(how).encode())


def opening(header: dict[str, Any]) -> bytes:
    """The beginning of a file."""
    return MAGIC + frame(b"H" + json.dumps(header).encode())


def points_payload(kind: bytes, points: np.ndarray, numbers: Sequence[int], part: str) -> bytes:
    """Points that are about to be evaluated."""
    body = np.ascontiguousarray(points, dtype=np.float64)
    name = part.encode("utf-8", "replace")[:255]
    which = np.asarray(numbers, dtype="<u4").tobytes()
    return kind + POINTS.pack(len(body), len(name)) + which + name + body.tobytes()


def worth_payload(number: int, value: float, reason: str | None, seconds: float) -> bytes:
    """What a point is worth, or why nothing."""
    text = b"" if reason is None else reason.encode("utf-8", "replace")
    return b"W" + WORTH.pack(number, reason is not None, value, seconds) + text


def rows_payload(number: int, rows: Sequence[float]) -> bytes:
    """Further numbers that came with the value of a point."""
    return b"C" + NUMBER.pack(number) + np.asarray(rows, dtype="<f8").tobytes()


def frame(payload: bytes) -> bytes:
    """A payload with its length and its checksum."""
    return FRAME.pack(len(payload), len(payload) ^ 0xFFFFFFFF, zlib.crc32(payload)) + payload

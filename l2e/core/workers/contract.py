"""What evaluates several points at once: points go in with a number, outcomes come out in any order."""

import abc
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from l2e.core.answers import description, values_and_rows
from l2e.core.stops import ObjectiveError


class WorkersError(RuntimeError):
    """Workers that cannot work: they do not start, or the executor is broken."""


class Ticket(NamedTuple):
    """A point that was handed out: its number, and who asks for it."""

    number: int
    point: np.ndarray
    part: str


class Outcome(NamedTuple):
    """The end of one evaluation.

    **Fields:** `number`: of the point; `value`: NaN if there is none; `reason`: why there is none, else None; `where`:
    the last line of the traceback, if it raised; `seconds`: that the function took; `died`: whether the process that
    evaluated it is gone; `wrong`: whether the function answered something that is not a number; `rows`: the further
    numbers that it returned with the value, if it returns any.
    """

    number: int
    value: float
    reason: str | None = None
    where: str = ""
    seconds: float = float("nan")
    died: bool = False
    wrong: bool = False
    rows: tuple[float, ...] | None = None


class AbstractCrew(abc.ABC):
    """Evaluates points for one search; `free` says how many more may be submitted now."""

    size: int
    """How many points it evaluates at once: what methods are told."""

    @property
    @abc.abstractmethod
    def free(self) -> int:
        """How many more points may be submitted before the next `wait`."""

    @abc.abstractmethod
    def submit(self, number: int, point: np.ndarray) -> None:
        """Begin to evaluate a point."""

    @abc.abstractmethod
    def wait(self, seconds: float | None = None) -> list[Outcome]:
        """Outcomes as they come: at least one, or none after this many seconds, or if nothing is under way."""

    @abc.abstractmethod
    def abandon(self) -> None:
        """Give up whatever is under way; none of it is ever reported."""

    @abc.abstractmethod
    def close(self) -> None:
        """Abandon, and release what this crew has started itself."""


def measured(function: Callable[[Any], Any], number: int, point: np.ndarray) -> tuple[Any, ...]:
    """Evaluate a point where the function is; the fields of an `Outcome`, plain enough for any wire."""
    began = time.perf_counter()
    try:
        answer = function(point)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is reported
        return (number, float("nan"), f"raised {description(error)}", last_line(error), time.perf_counter() - began)
    seconds = time.perf_counter() - began
    try:
        values, rows = values_and_rows(answer, 1)
    except ObjectiveError as error:
        return (number, float("nan"), str(error), "", seconds, False, True)
    further = () if rows is None else (False, False, tuple(rows[0].tolist()))
    return (number, float(values[0]), None, "", seconds, *further)


def last_line(error: BaseException) -> str:
    """Where an error was raised, in the words of a traceback's last entry."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    last = frames[-1]
    return f'File "{last.filename}", line {last.lineno}, in {last.name}: {last.line or ""}'.rstrip(": ")

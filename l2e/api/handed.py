"""The points of an `Optimizer` with several workers: handed out while others are out, told in any order and in part."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from l2e.api.arrival import desk_of
from l2e.api.setup import Setup
from l2e.core.desk import Desk
from l2e.core.journal_frames import Segment, asked_entry, told_entry
from l2e.core.meter import Meter
from l2e.core.search import AbstractSearch
from l2e.core.workers.contract import Ticket


class Asked(NamedTuple):
    """Points that were handed out by one `ask`."""

    tickets: tuple[Ticket, ...]


class Told(NamedTuple):
    """Values that came with one `tell`, by the numbers of their points."""

    numbers: tuple[int, ...]
    values: tuple[float, ...]


class Handed:
    """A desk, the log of what was asked and told at it, and the meter that counts.

    All that happens is first written to the log and then done, so after an interruption in between `replay` makes desk
    and meter again.

    **Arguments:** `setup`: the search.
    """

    def __init__(self, setup: Setup):
        self._setup = setup
        self.log: list[Asked | Told] = []
        self._desk: Desk = desk_of(setup)
        self._out: dict[int, Ticket] = {}
        self.lost: list[int] = []
        """Numbers of points that were handed out before the search was loaded, and are given again."""

    @property
    def search(self) -> AbstractSearch:
        """The search that matters."""
        return self._desk.search

    @property
    def out(self) -> int:
        """How many points are with the user."""
        return len(self._out) - len(self.lost)

    @property
    def points(self) -> np.ndarray:
        """The points that have no value yet."""
        return np.asarray([ticket.point for ticket in self._out.values()])

    @property
    def over(self) -> bool:
        """Whether the method expects nothing more."""
        return self._desk.over

    def ask(self, most: int) -> np.ndarray:
        """Up to so many points: those of the search that matters, or, if all of them are out, of its companions."""
        if self.lost:
            again, self.lost = self.lost[:most], self.lost[most:]
            return np.asarray([self._out[number].point for number in again])
        own = self._desk.waiting
        tickets = []
        while len(tickets) < most and (self._desk.waiting or not own):
            tickets.append(self._desk.next())
        self.log.append(Asked(tuple(tickets)))
        self._out |= {ticket.number: ticket for ticket in tickets}
        return np.asarray([ticket.point for ticket in tickets])

    def numbers_of(self, points: np.ndarray) -> list[int]:
        """Which of the points that are out these are.

        **Raises:** `ValueError` for a point that is not out.
        """
        places: dict[bytes, list[int]] = {}
        for number, ticket in self._out.items():
            places.setdefault(ticket.point.tobytes(), []).append(number)
        numbers = []
        for row, point in enumerate(points):
            waiting = places.get(point.tobytes())
            if not waiting:
                raise ValueError(f"point {row} is not one that ask() gave and that has no value yet; tell what it gave")
            numbers.append(waiting.pop(0))
        return numbers

    def do(self, told: Told, meter: Meter) -> None:
        """Count values, and pass them on in the order in which their points were asked for."""
        for number, value in sorted(zip(told.numbers, told.values, strict=True)):
            ticket = self._out.pop(number)
            meter.record.part(ticket.part)
            self._desk.tell(number, meter.count(ticket.point, value))
        self.lost = [number for number in self.lost if number in self._out]
        meter.batches += 1

    def replay(self, meter: Meter) -> None:
        """Make the desk again from the log."""
        self._desk, self._out = desk_of(self._setup), {}
        for entry in self.log:
            if isinstance(entry, Told):
                self.do(entry, meter)
            else:
                self._out |= {ticket.number: ticket for ticket in (self._desk.next() for _ in entry.tickets)}

    def resume(self, known: Segment, meter: Meter) -> bool:
        """Do again what a journal says was done; whether the same points are asked for here."""
        for kind, number in known.events:
            if kind == "asked":
                ticket = self._desk.next()
                if ticket.number != number or not np.array_equal(ticket.point, known.asked[number][0]):
                    return False
                self.log.append(Asked((ticket,)))
                self._out[number] = ticket
            else:
                self.log.append(Told((number,), (known.finished[number].value,)))
                self.do(self.log[-1], meter)  # pyright: ignore[reportArgumentType]
        self.lost = list(self._out)
        return True

    def frames(self, since: int = 0) -> bytes:
        """The log from an entry on, as a journal keeps it."""
        return b"".join(_frames(entry) for entry in self.log[since:])


def _frames(entry: Asked | Told) -> bytes:
    if isinstance(entry, Told):
        each = zip(entry.numbers, entry.values, strict=True)
        return b"".join(told_entry(n, value, None if np.isfinite(value) else f"returned {value}") for n, value in each)
    return b"".join(_asked(group) for group in _by_part(entry.tickets))


def _by_part(tickets: Sequence[Ticket]) -> list[list[Ticket]]:
    groups: list[list[Ticket]] = []
    for ticket in tickets:
        if groups and groups[-1][-1].part == ticket.part:
            groups[-1].append(ticket)
        else:
            groups.append([ticket])
    return groups


def _asked(group: list[Ticket]) -> bytes:
    points = np.asarray([ticket.point for ticket in group])
    return asked_entry(points, [ticket.number for ticket in group], group[0].part)

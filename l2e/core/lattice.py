"""Boxes some of whose coordinates take only certain places: steps of a lattice, or the corners of a category."""

import dataclasses
import math
from typing import Any

import numpy as np

from l2e.core.box import Box
from l2e.core.constraints import ConstrainedBox


@dataclasses.dataclass(frozen=True)
class Steps:
    """The places of one stepped coordinate: `low + k * step` for k below `count`, or the logarithms of these."""

    low: float
    step: float
    count: int
    log: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """Bounds of the coordinate: half a step beyond the outermost places, so that all have as much room."""
        below, above = self.low - self.step / 2, self.low + (self.count - 0.5) * self.step
        if not self.log:
            return below, above
        return math.log(max(below, self.low / 2)), math.log(above)


@dataclasses.dataclass(frozen=True, eq=False)
class MixedBox(Box):
    """A box with stepped coordinates and categories; all other coordinates are continuous.

    **Arguments:** `steps`: of stepped coordinates, by their number; `groups`: coordinates that stand for the options of
    one category each: the largest of them is the option that is meant.
    """

    steps: dict[int, Steps] = dataclasses.field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        columns = sorted(self.steps)
        each = [self.steps[i] for i in columns]
        object.__setattr__(self, "stepped", np.asarray(columns, dtype=int))
        object.__setattr__(self, "_low", np.asarray([one.low for one in each]))
        object.__setattr__(self, "_step", np.asarray([one.step for one in each]))
        object.__setattr__(self, "_last", np.asarray([one.count - 1 for one in each]))
        object.__setattr__(self, "_log", np.asarray([one.log for one in each], dtype=bool))

    stepped: np.ndarray = dataclasses.field(init=False, repr=False)
    """The stepped coordinates, in order."""

    @property
    def continuous(self) -> np.ndarray:
        """The coordinates that are neither stepped nor of a category, in order."""
        taken = {*self.steps, *(i for group in self.groups for i in group)}
        return np.asarray([i for i in range(self.dimension) if i not in taken], dtype=int)

    @property
    def size(self) -> float:
        """How many different points there are."""
        if len(self.continuous):
            return math.inf
        return math.prod([one.count for one in self.steps.values()] + [len(group) for group in self.groups])

    @property
    def counts(self) -> np.ndarray:
        """How many places each stepped coordinate has."""
        return self._last + 1

    def indices(self, points: np.ndarray) -> np.ndarray:
        """Which place each stepped coordinate of the points (n, d) is nearest to."""
        places = points[:, self.stepped]
        values = np.where(self._log, np.exp(np.where(self._log, places, 0.0)), places)
        return np.clip(np.rint((values - self._low) / self._step), 0, self._last).astype(int)

    def places(self, indices: np.ndarray) -> np.ndarray:
        """The places of stepped coordinates with these numbers."""
        values = self._low + np.clip(indices, 0, self._last) * self._step
        return np.where(self._log, np.log(np.where(self._log, values, 1.0)), values)

    def edges(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the cells of these places begin and end."""
        low = self._low + (indices - 0.5) * self._step
        high = low + self._step
        lowest = np.where(self._log, np.maximum(low, self._low / 2), 1.0)
        return (
            np.where(self._log, np.log(lowest), low),
            np.where(self._log, np.log(np.where(self._log, high, 1.0)), high),
        )

    def snap(self, points: np.ndarray) -> np.ndarray:
        """The points (n, d) that are meant: the nearest places, and corners for categories."""
        snapped = np.array(points, dtype=np.float64)
        if len(self.stepped):
            snapped[:, self.stepped] = self.places(self.indices(snapped))
        for group in self.groups:
            columns = list(group)
            chosen = snapped[:, columns].argmax(axis=1)
            snapped[:, columns] = 0.0
            snapped[np.arange(len(snapped)), np.asarray(columns)[chosen]] = 1.0
        return snapped

    _low: np.ndarray = dataclasses.field(init=False, repr=False)
    _step: np.ndarray = dataclasses.field(init=False, repr=False)
    _last: np.ndarray = dataclasses.field(init=False, repr=False)
    _log: np.ndarray = dataclasses.field(init=False, repr=False)


def kinds(space: Box) -> list[object] | None:
    """What tells two mixed boxes with the same bounds apart, as plain JSON; None for a plain box."""
    if isinstance(space, ConstrainedBox):
        return ["constrained", len(space.constraints.equal), kinds(space.inner)]
    if not isinstance(space, MixedBox):
        return None
    steps = [[i, one.low, one.step, one.count, one.log] for i, one in sorted(space.steps.items())]
    return [steps, [list(group) for group in space.groups]]


def of_kinds(space: Box, written: Any) -> Box:
    """The box with these bounds whose `kinds` were written down; a plain one if there are none.

    **Raises:** `ValueError` or `TypeError` for anything that `kinds` does not write of a box without constraints.
    """
    if written is None:
        return space
    steps, groups = written
    found = {int(i): Steps(float(low), float(step), int(count), bool(log)) for i, low, step, count, log in steps}
    return MixedBox(space.lower, space.upper, found, tuple(tuple(map(int, group)) for group in groups))

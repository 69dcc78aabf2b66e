"""Functions like `map`: scipy's convention for `workers`, and joblib's `Parallel`."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from l2e.core.errors import require
from l2e.core.workers.contract import AbstractCrew, Outcome, measured


class Mapping(AbstractCrew):
    """Gives all waiting points to a map-like function in one call.

    What happens in between is the map's business: there are no time-outs, and a process that dies may end the run.

    **Arguments:** `mapper`: `mapper(function, items)` gives the results in order; `size`: how many at once.
    """

    def __init__(self, mapper: Callable[..., Iterable[Any]], function: Callable[[Any], Any], size: int):
        self.size = size
        self._mapper, self._function = mapper, function
        self._waiting: list[tuple[int, np.ndarray]] = []

    @property
    def free(self) -> int:
        return 2**31 - len(self._waiting)  # the map divides the work itself

    def submit(self, number: int, point: np.ndarray) -> None:
        self._waiting.append((number, point))

    def wait(self, seconds: float | None = None) -> list[Outcome]:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return []
        answers = self._mapper(functools.partial(measured_pair, self._function), waiting)
        return [Outcome(*answer) for answer in answers]

    def abandon(self) -> None:
        self._waiting = []

    def close(self) -> None:
        self.abandon()


def measured_pair(function: Callable[[Any], Any], pair: tuple[int, np.ndarray]) -> tuple[Any, ...]:
    """`measured` of one item, as `map` gives it."""
    return measured(function, *pair)


def joblib_map(parallel: Any) -> Callable[..., Iterable[Any]]:
    """`joblib.Parallel` as a map."""
    joblib = require("joblib", "joblib")
    return lambda function, items: parallel(joblib.delayed(function)(item) for item in items)

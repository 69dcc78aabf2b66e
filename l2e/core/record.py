"""The record of a search: every point that was paid for."""

from collections.abc import Callable
from typing import Any

import numpy as np

LARGEST = 1 << 24
"""Coordinates that a record keeps at most (128 MB); evaluations beyond are counted and not kept."""

STATUSES = ("ok", "raised", "not finite", "no number", "timed out", "died")
"""What became of an evaluation. `died`: the process that evaluated it ended."""


def status_of(reason: str | None) -> str:
    """The status that goes with the reason of a failure."""
    if reason is None:
        return "ok"
    beginnings = {"raised": "raised", "returned": "not finite", "timed out": "timed out", "must return": "no number"}
    return next((status for start, status in beginnings.items() if reason.startswith(start)), "died")


class Record:
    """Collects evaluations while a search runs, in arrays that grow.

    **Arguments:** `dimension`: of the points.
    """

    def __init__(self, dimension: int):
        self._most = max(LARGEST // dimension, 1)
        self._count = 0
        self._x = np.empty((0, dimension))
        self._rest = np.empty((0, 3))  # value, seconds, status
        self._reasons: dict[int, str] = {}
        self._parts: list[tuple[int, str]] = []
        self.complete = True
        """Whether every evaluation was kept."""

    def part(self, name: str) -> None:
        """Who asks from now on."""
        if not self._parts or self._parts[-1][1] != name:
            self._parts.append((self._count, name))

    def add(self, points: np.ndarray, values: Any, seconds: Any, reason: str | None = None) -> None:
        """Keep evaluations that ended alike: points (n, d), their values, the seconds each took."""
        end = self._count + len(points)
        if end > self._most:
            self.complete = False
            return
        if end > len(self._x):
            self._grow(end)
        rows = slice(self._count, end)
        self._x[rows] = points
        self._rest[rows, 0] = values
        self._rest[rows, 1] = seconds
        self._rest[rows, 2] = 0 if reason is None else STATUSES.index(status_of(reason))
        if reason is not None:
            self._reasons.update(dict.fromkeys(range(self._count, end), reason))
        self._count = end

    def add_one(self, point: np.ndarray, value: float, seconds: float) -> None:
        """Keep one evaluation that gave a value: what `add` does, in half the time."""
        row = self._count
        if row >= self._most:
            self.complete = False
            return
        if row >= len(self._x):
            self._grow(row + 1)
        self._x[row] = point
        self._rest[row] = (value, seconds, 0.0)
        self._count = row + 1

    def evaluations(self) -> "Evaluations":
        """What was recorded so far."""
        n = self._count
        parts = np.full(n, "", dtype=object)
        for start, name in self._parts:
            parts[start:] = name
        status = np.asarray(STATUSES, dtype=object)[self._rest[:n, 2].astype(int)]
        reasons = [self._reasons.get(i, "") for i in range(n)] if self._reasons else [""] * n
        return Evaluations(
            self._x[:n].copy(), self._rest[:n, 0].copy(), status, self._rest[:n, 1].copy(), parts, reasons
        )

    def _grow(self, least: int) -> None:
        size = min(max(least, 2 * len(self._x), 64), self._most)
        x, rest = np.empty((size, self._x.shape[1])), np.empty((size, 3))
        x[: self._count], rest[: self._count] = self._x[: self._count], self._rest[: self._count]
        self._x, self._rest = x, rest


class Evaluations:
    """All evaluations of a search, in the order in which they were asked for.

    **Fields:** `x`: the points (n, d); `f`: their values, NaN or an infinity where there is none; `status`: one of
    "ok", "raised", "not finite", "no number", "timed out", "died"; `seconds`: what each took, NaN where that is not
    known; `part`: which part of the method asked, empty for methods that keep no account; `reason`: why there is no
    value; `params`: the named parameters, where there are any; `constraints`, `allowed`: those that came with the
    values, (n, m), and which points fulfil them, where there are any.
    """

    def __init__(
        self,
        x: np.ndarray,
        f: np.ndarray,
        status: np.ndarray,
        seconds: np.ndarray,
        part: np.ndarray,
        reason: list[str],
        params: list[dict[str, Any]] | None = None,
        constraints: np.ndarray | None = None,
        allowed: np.ndarray | None = None,
    ):
        self.x, self.f, self.status, self.seconds, self.part, self.reason = x, f, status, seconds, part, reason
        self.params, self.constraints, self.allowed = params, constraints, allowed

    def __len__(self) -> int:
        return len(self.f)

    def __repr__(self) -> str:
        failed = int((self.status != "ok").sum())
        return f"<{len(self)} evaluations in {self.x.shape[1]} dimensions, {failed} of them failed>"

    @property
    def usable(self) -> np.ndarray:
        """Which of them have a value, and are allowed as far as that is known."""
        usable = (self.status == "ok") & np.isfinite(self.f)
        return usable if self.allowed is None else usable & self.allowed

    def in_terms(
        self, vector: Callable[[np.ndarray], np.ndarray], params: Callable[[np.ndarray], dict[str, Any]]
    ) -> "Evaluations":
        """The same record in a user's terms: vectors of all coordinates, and named parameters."""
        points = [vector(point) for point in self.x]
        x = np.asarray(points) if points else np.empty((0, self.x.shape[1]))
        named = [params(point) for point in self.x]
        rest = (self.f, self.status, self.seconds, self.part, self.reason)
        return Evaluations(x, *rest, named, self.constraints, self.allowed)

    def columns(self) -> dict[str, Any]:
        """The record as named columns."""
        if self.params is None:
            points: dict[str, Any] = {f"x{i}": self.x[:, i] for i in range(self.x.shape[1])}
        else:
            points = {name: [one.get(name) for one in self.params] for name in (self.params[0] if self.params else ())}
        limits = {} if self.constraints is None else {f"c{i}": column for i, column in enumerate(self.constraints.T)}
        rest = {"status": self.status, "seconds": self.seconds, "part": self.part, "reason": self.reason}
        return {"evaluation": np.arange(1, len(self) + 1), **points, "f": self.f, **limits, **rest}

    def to_pandas(self) -> Any:
        """The record as a table of pandas, one row for each evaluation."""
        from l2e.core.errors import require

        return require("pandas", "pandas").DataFrame(self.columns())

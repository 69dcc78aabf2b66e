"""Evaluations of solved members of a family, as other libraries' transfer methods are told them."""

import dataclasses
from collections.abc import Sequence

import numpy as np

PER_MEMBER = 50
"""Evaluations of each member that are told, evenly by rank."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sources:
    """Points of the unit cube (n, d), their `values`, and the number of the `member` they belong to."""

    points: np.ndarray
    values: np.ndarray
    member: np.ndarray

    @classmethod
    def of(cls, searches: Sequence[tuple[np.ndarray, np.ndarray]], per_member: int = PER_MEMBER) -> "Sources":
        """From whole searches (points, values), one of each member; failed evaluations are left out.

        **Raises:** `ValueError` if no search has a value.
        """
        points, values, member = [], [], []
        for i, (x, y) in enumerate(searches):
            usable = np.flatnonzero(np.isfinite(y))
            if not usable.size:
                continue
            order = usable[np.argsort(y[usable], kind="stable")]
            chosen = order[np.unique(np.linspace(0, len(order) - 1, per_member).round().astype(int))]
            points.append(np.clip(x[chosen], 0, 1))
            values.append(y[chosen])
            member.append(np.full(len(chosen), i))
        if not points:
            raise ValueError("no search of a member has a value")
        return cls(np.concatenate(points), np.concatenate(values), np.concatenate(member))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.points.shape[1]

    @property
    def ranks(self) -> np.ndarray:
        """Of values within their member, from 0 for the best to below 1: values of different members do not compare."""
        found = np.empty(len(self.values))
        for i in np.unique(self.member):
            own = np.flatnonzero(self.member == i)
            found[own[np.argsort(self.values[own], kind="stable")]] = np.arange(len(own)) / len(own)
        return found

    def check(self, dimension: int) -> None:
        """Refuse another dimension."""
        if dimension != self.dimension:
            raise ValueError(f"the solved members have {self.dimension} coordinates, the problem has {dimension}")

"""What is kept of the solved members of a family, and what follows from it. All of it is in the unit cube."""

import dataclasses
import functools
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from l2e.portfolio.transfer.kin import Kin, kin
from l2e.portfolio.transfer.seeds import cover, medoids, next_by_distance, next_by_members, regrets

Follow: TypeAlias = Literal["default", "near", "evolution", "newton"]
FOLLOWS: tuple[Follow, ...] = get_args(Follow)
"""What goes on from the best seed: the default, the default with first steps as the members' ends are spread, an
evolutionary search with their covariance, or quasi-Newton with their metric."""

SAID = {"default": "the default", "near": "the default nearby", "evolution": "evolution", "newton": "quasi-Newton"}
"""The same in words."""

FIXED = 3
"""Seeds that are the same for every new member; later ones depend on its values."""

MOSTLY = 0.5
"""Cross values count as known if more than this share of them is."""

LEAST_MEMBERS = 5
"""With fewer members there is nothing to trust."""

LEAST_VARIANCE = 1e-8
"""Of a coordinate of the ends, as a share of the cube's."""


class Plan(NamedTuple):
    """What to do with a budget: whether the model is used, what follows the seeds, and why."""

    opened: bool
    follow: Follow
    why: str


class Plans(NamedTuple):
    """Plans for budgets per dimension; the nearest in the logarithm counts, and none beyond the largest."""

    entries: tuple[tuple[float, Plan], ...]
    largest: float

    @classmethod
    def always(cls, plan: Plan) -> "Plans":
        """One plan for all budgets."""
        return cls(((1.0, plan),), np.inf)

    def plan(self, per_dimension: float) -> Plan:
        """What to do with so many evaluations per dimension."""
        if not self.entries or per_dimension > self.largest:
            return Plan(False, "default", f"it knows nothing of more than {self.largest:g} evaluations per dimension")
        return min(self.entries, key=lambda entry: abs(np.log(entry[0] / per_dimension)))[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Knowledge:
    """The solved members of a family.

    **Fields:** `ends` (M, D): their best points; `best`, `centre` (M): the values there and at the centre of the box,
    NaN if unknown; `gradient` (M, D): at the centre, per width of the box, NaN if unknown; `cross` (M, M): the value of
    member i at the end of member j, NaN if unknown; `metric` (D, D): the curvature they share, zero if none;
    `scale_free`: values of different members do not compare; `traits` (M, p): features that the user knows of them.
    """

    ends: np.ndarray
    best: np.ndarray
    centre: np.ndarray
    gradient: np.ndarray
    cross: np.ndarray
    metric: np.ndarray
    scale_free: bool = False
    traits: np.ndarray | None = None

    @classmethod
    def empty(cls, dimension: int) -> "Knowledge":
        """Of no members."""
        none, square = np.empty((0, dimension)), np.zeros((dimension, dimension))
        return cls(none, np.empty(0), np.empty(0), none, np.empty((0, 0)), square)

    @property
    def members(self) -> int:
        """How many there are."""
        return len(self.ends)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.ends.shape[1]

    @property
    def has_metric(self) -> bool:
        """Whether the members share a curvature."""
        return bool(self.metric.any())

    def without(self, i: int) -> "Knowledge":
        """What is known if one member had not been solved; the metric stays."""
        rest = np.delete(np.arange(self.members), i)
        return Knowledge(
            self.ends[rest],
            self.best[rest],
            self.centre[rest],
            self.gradient[rest],
            self.cross[np.ix_(rest, rest)],
            self.metric,
            self.scale_free,
            None if self.traits is None else self.traits[rest],
        )

    @functools.cached_property
    def has_cross(self) -> bool:
        """Whether most values of members at each other's ends are known."""
        return (
            self.members > 1 and float(np.isfinite(self.cross).mean()) > MOSTLY and bool(np.isfinite(self.centre).all())
        )

    @property
    def compares(self) -> bool:
        """Whether a value of a new member can be compared with those of others."""
        return self.has_cross and not self.scale_free

    @functools.cached_property
    def _regrets(self) -> np.ndarray:
        return regrets(self.cross, self.best, self.centre)

    @functools.cached_property
    def order(self) -> list[int]:
        """The first seeds."""
        if self.has_cross:
            return cover(self._regrets, FIXED)
        return medoids(self.ends, self.best, FIXED)

    def rate(self, j: int) -> float:
        """How often the end of a member beats the centre of others."""
        return float((self._regrets[:, j] < 0).mean()) if self.has_cross else 0.5

    def next_seed(self, tried: list[int], values: np.ndarray, centre: float) -> int:
        """The seed after these, by the values of the new member."""
        if len(tried) < len(self.order):
            return self.order[len(tried)]
        if self.compares:
            return next_by_members(self._scaled[:, :-1], tried, self.scaled(values))
        return next_by_distance(self.ends, self.best, tried, values, centre)

    @functools.cached_property
    def _ordered(self) -> np.ndarray:
        known = np.concatenate([self.cross.ravel(), self.centre])
        return np.sort(known[np.isfinite(known)])

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Values by their rank among all known ones, from -1 to 1."""
        return 2 * np.searchsorted(self._ordered, values) / max(len(self._ordered), 1) - 1

    @functools.cached_property
    def _scaled(self) -> np.ndarray:
        """Features of all members: their values at all ends, and at the centre."""
        table = np.column_stack([self.scaled(self.cross), self.scaled(self.centre)])
        table[:, :-1][np.isnan(self.cross)] = np.nan
        means = np.nanmean(table, axis=0)
        return np.where(np.isnan(table), means, table)

    def features(self, tried: list[int]) -> np.ndarray:
        """Of the members: values at some ends and at the centre."""
        return self._scaled[:, [*tried, self.members]]

    @functools.cached_property
    def kin(self) -> Kin | None:
        """How gradients of the family look; None if they are not known."""
        return kin(self.gradient)

    @functools.cached_property
    def whole_kin(self) -> Kin | None:
        """The same by all coordinates."""
        return kin(self.gradient, whole=True)

    def tells_foreign(self, per_dimension: float) -> bool:
        """Whether the gradient at the centre tells a function of another family surely enough for a budget."""
        return self.kin is not None and self.kin.telling(per_dimension)

    @functools.cached_property
    def gradient_features(self) -> np.ndarray | None:
        """The gradient at the centre and the centre's rank, of each member; None if any is unknown."""
        if not (np.isfinite(self.gradient).all() and np.isfinite(self.centre).all()):
            return None
        return np.array([self.features_of(g, c) for g, c in zip(self.gradient, self.centre, strict=True)])

    @functools.cached_property
    def _typical(self) -> np.ndarray:
        return np.maximum(np.median(np.abs(self.gradient), axis=0), 1e-300)

    def features_of(self, gradient: np.ndarray, centre: float) -> np.ndarray:
        """Features of a member with this gradient and value at the centre; of its direction if scales are free."""
        if self.scale_free:
            size = float(np.linalg.norm(gradient[np.isfinite(gradient)]))
            return gradient / (size if 0 < size < np.inf else 1.0)
        rank = 2 * np.searchsorted(np.sort(self.centre), centre) / self.members - 1
        return np.append(np.arcsinh(gradient / self._typical), rank)

    def centre_features(self, centre: np.ndarray) -> np.ndarray:
        """The rank of values at the centre among those of the members, and its square."""
        rank = 2 * np.searchsorted(np.sort(self.centre), centre) / self.members - 1
        return np.stack([rank, rank**2], axis=-1)

    def covariance(self, misses: np.ndarray | None, whole: bool) -> np.ndarray:
        """Of a new member's end about the best point, shrunk towards a ball.

        **Arguments:** `misses`: of the jump on left-out members; `whole`: the jump was the best point, so that only
        they count, else half of the ends' own covariance.
        """
        d, m = self.dimension, self.members
        spread = np.atleast_2d(np.cov(self.ends.T)) if m > 1 else np.eye(d) / 12
        if misses is not None:
            left = misses.T @ misses / m
            spread = left if whole else (left + spread) / 2
        rho = d / (d + m)
        return (1 - rho) * spread + max(rho * np.trace(spread) / d, LEAST_VARIANCE) * np.eye(d)

    def familiar(self, centre: float) -> bool:
        """Whether the value at the centre is near those of members, in their logarithm if all are positive."""
        known = self.centre[np.isfinite(self.centre)]
        if not known.size or self.scale_free:
            return True
        if known.min() > 0 and centre > 0:
            known, centre = np.log(known), float(np.log(centre))
        wider = (known.max() - known.min()) / 2
        return bool(known.min() - wider <= centre <= known.max() + wider)

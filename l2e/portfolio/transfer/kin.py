"""The direction of the gradient at the centre tells families apart.

A search that begins with quasi-Newton pays for it anyway. One that begins with a look does not, so there as few
coordinates are looked at as are enough.
"""

import math
from typing import NamedTuple

import numpy as np

from l2e.portfolio.policy import CROSS_TERMS_UP_TO

MANY = 20
"""From this many members on the mean of the three nearest directions counts, below it the nearest."""

LEAST_MEMBERS = 5
"""With fewer members than this there is no limit to speak of."""

DRAWS = 50
"""Random families with which the members' likeness is compared."""

QUANTILE, SLACK, LEAST_SLACK = 0.05, 0.1, 0.05
QUANTILE_OF_FEW, SLACK_OF_FEW = 0.1, 0.1
"""The limit is this quantile of the left-out likenesses, since some members are unlike all others, less this share of
what is missing to one, or this if that is more; of few members less the last."""

LOOKS, TELLING_BELOW = 400, 0.1
"""Random directions with which the limit is tried; it tells families apart if fewer than this share of them pass."""

SURE_FROM, SURE_BELOW = 40, 0.05
"""With so many evaluations per dimension, where a second look costs little, it must be this share."""

SHARE_LOOKED_AT, LEAST_LOOKED_AT = 1 / 3, 6
"""Coordinates of the gradient that are looked at: this share of them, or this number if that is more."""

FEWEST, FEW_BELOW = 3, 0.02
"""Where a search begins with a look: this many or more, until fewer than this share of random directions pass."""


class Kin(NamedTuple):
    """Directions of the members' gradients, and how alike a member of the family is to others."""

    coordinates: np.ndarray
    """The coordinates whose differences are taken, those that usually are the steepest."""
    directions: np.ndarray
    limit: float
    is_family: bool
    """Whether the members are more alike than random directions."""
    foreign: float
    """Which share of random directions would pass for a member's."""

    def telling(self, per_dimension: float) -> bool:
        """Whether a gradient that passes says enough for a budget: hardly any of another family would."""
        return self.foreign < (TELLING_BELOW if per_dimension < SURE_FROM else SURE_BELOW)

    def likeness(self, gradient: np.ndarray) -> float:
        """How near a gradient's direction, in `coordinates`, is to those of members: 1 at best."""
        return float(_likeness(_directions(gradient[None]), self.directions)[0])


def kin(gradients: np.ndarray, whole: bool = False) -> Kin | None:
    """What is known of the family by the members' gradients at the centre; None if too few are known.

    **Arguments:** `whole`: look at all coordinates, because all of them are needed anyway.
    """
    known = gradients[np.isfinite(gradients).all(axis=1) & gradients.any(axis=1)]
    m, d = known.shape
    if m < LEAST_MEMBERS:
        return None
    most = d if whole else min(d, max(math.ceil(SHARE_LOOKED_AT * d), LEAST_LOOKED_AT))
    fewest = most if whole or d > CROSS_TERMS_UP_TO else min(FEWEST, most)
    steepest = np.argsort(-(_directions(known) ** 2).mean(axis=0), kind="stable")
    rng = np.random.default_rng(0)
    drawn = [np.median(left_out(_directions(rng.standard_normal((m, d))))) for _ in range(DRAWS)]
    is_family = bool(np.median(left_out(_directions(known))) > max(drawn))
    for looked in range(fewest, most):
        found = _looking_at(np.sort(steepest[:looked]), known, is_family, rng)
        if found.foreign < FEW_BELOW:
            return found
    return _looking_at(np.sort(steepest[:most]), known, is_family, rng)


def _looking_at(coordinates: np.ndarray, known: np.ndarray, is_family: bool, rng: np.random.Generator) -> Kin:
    """By these coordinates of the gradients."""
    directions = _directions(known[:, coordinates])
    own = left_out(directions)
    few = np.quantile(own, QUANTILE_OF_FEW) - SLACK_OF_FEW
    usual = float(np.quantile(own, QUANTILE))
    many = usual - max(SLACK * (1 - usual), LEAST_SLACK)
    limit = many if len(known) >= MANY else few
    others = _likeness(_directions(rng.standard_normal((LOOKS, len(coordinates)))), directions)
    return Kin(coordinates, directions, float(limit), is_family, float((others >= limit).mean()))


def left_out(directions: np.ndarray) -> np.ndarray:
    """Of each member, how alike it is to the others."""
    cosines = directions @ directions.T
    np.fill_diagonal(cosines, -np.inf)
    return _nearest(cosines)


def _likeness(new: np.ndarray, members: np.ndarray) -> np.ndarray:
    return _nearest(new @ members.T)


def _nearest(cosines: np.ndarray) -> np.ndarray:
    count = 3 if cosines.shape[1] >= MANY else 1
    return np.sort(cosines, axis=1)[:, -count:].mean(axis=1)


def _directions(gradients: np.ndarray) -> np.ndarray:
    sizes = np.abs(gradients).max(axis=1, keepdims=True)
    scaled = gradients / np.where(sizes > 0, sizes, 1)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(lengths > 0, lengths, 1)

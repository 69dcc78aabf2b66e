"""Which jumps can be made with what is known of a new member: its features, its centre, its gradient, its values."""

import math

import numpy as np

from l2e.portfolio.transfer.jump import Jump, jumps
from l2e.portfolio.transfer.knowledge import Knowledge

WEAK_JUMP, BETTER_JUMP = 0.7, 0.05
"""A jump is made if its left-out error is below this; that with the gradient if it is better by this than that with
the centre's value alone."""

LATE_JUMP = 0.9
"""A jump by the values of seeds is made below this: it costs one evaluation, and all seeds were tried."""


class Leaps:
    """Predictions of a new member's minimiser.

    **Arguments:** `known`: the members; `traits`: the features that the user gave of the new member, None if unknown.
    """

    def __init__(self, known: Knowledge, traits: np.ndarray | None):
        self._known = known
        self._traits = traits if known.traits is not None else None

    @property
    def has_traits(self) -> bool:
        """Whether features of the new member and of the others are known."""
        return self._traits is not None

    @staticmethod
    def told_by_traits(known: Knowledge) -> bool:
        """Whether the features that the user knows of members tell where their ends are, by leaving members out."""
        if known.traits is None or not known.members:
            return False
        found = jumps(known.traits, known.traits[0], known.ends)
        return bool(found) and found[0].error < WEAK_JUMP

    def by_centre(self, centre: float) -> Jump | None:
        """By the user's features and the value at the centre; the better of both if only one helps."""
        known = self._known
        if not np.isfinite(known.centre).all() or known.scale_free:
            found = self._predictions(np.empty((known.members, 0)), np.empty(0))
        else:
            found = self._predictions(known.centre_features(known.centre), known.centre_features(np.asarray(centre)))
        return found[0] if found else None

    def by_gradient(self, gradient: np.ndarray, centre: float) -> Jump | None:
        """By the gradient at the centre, if all of it is known."""
        known = self._known
        if known.gradient_features is None or not np.isfinite(gradient).all():
            return None
        found = self._predictions(known.gradient_features, known.features_of(gradient, centre))
        return found[0] if found else None

    @property
    def wants_gradient(self) -> bool:
        """Whether a jump by the gradient is worth its differences, by its left-out error, before it is paid for."""
        known = self._known
        if known.gradient_features is None:
            return False
        best = self.by_gradient(known.gradient[0], float(known.centre[0]))
        alone = self.by_centre(float(known.centre[0]))
        return best is not None and best.error < min(WEAK_JUMP, (alone.error if alone else math.inf) - BETTER_JUMP)

    def by_values(self, tried: list[int], values: list[float], centre: float, gradient: np.ndarray) -> list[Jump]:
        """By the values of seeds, with and without the differences at the centre that were taken; best first."""
        known = self._known
        if not (known.compares and tried):
            return []
        features, own = known.features(tried), known.scaled(np.array([*values, centre]))
        found = self._predictions(features, own)
        taken = np.flatnonzero(np.isfinite(gradient))
        if taken.size and known.gradient_features is not None:
            slopes = known.features_of(gradient, centre)[taken]
            both = np.column_stack([features, known.gradient_features[:, taken]])
            found += self._predictions(both, np.append(own, slopes))
        return sorted(found, key=lambda jump: jump.error)

    def _predictions(self, features: np.ndarray, new: np.ndarray) -> list[Jump]:
        """With these features, and, where the user gave some, with those, too, and with those alone."""
        known = self._known
        tables = [(features, new)] if features.shape[1] else []
        if self._traits is not None and known.traits is not None:
            own = known.traits
            tables += [(own, self._traits)]
            tables += [(np.column_stack([features, own]), np.append(new, self._traits))] if features.shape[1] else []
        found = [jump for table, one in tables for jump in jumps(table, one, known.ends)]
        return sorted(found, key=lambda jump: jump.error)

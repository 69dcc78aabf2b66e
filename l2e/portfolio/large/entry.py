"""What is known of a part that takes turns: what it gained, how far it came, where it would be at the end."""

import dataclasses
import math

from l2e.portfolio.large.evolution import SeparableEvolution
from l2e.portfolio.large.unit import Unit

STEADIEST, PATIENCE, FADING = 0.98, 0.85, 0.5
"""Gains are taken to fall from turn to turn by the factor seen, at most the first and for evolution at least the
second; by the third if none was seen."""

LATELY, LITTLE = 15, 1e-3
"""A search stagnates if so many turns gained no more than this share of all that it gained."""


@dataclasses.dataclass
class Entry:
    """A unit, what its last turn gained per evaluation (None before the first), the value after it, how far it had
    come by itself after each turn, what it has spent, and what L-BFGS gained per evaluation at that time."""

    unit: Unit
    rate: float | None = None
    value: float = math.inf
    own: list[float] = dataclasses.field(default_factory=list)
    spent: int = 0
    beside: float | None = None

    def projected(self, turns: float) -> float:
        """Where it would be after more turns, if gains go on to change by the same factor as they did.

        The gains of evolution come and go, so those of two turns are taken together, and it is not expected to fade
        soon.
        """
        if not self.own:
            return math.inf
        patient = isinstance(self.unit, SeparableEvolution)
        span, least = (2, PATIENCE) if patient else (1, 0.0)
        last, before = self._gain(0, span), self._gain(span, span)
        if patient and before is None:
            return self.own[-1] - (self._gain(0, 1) or 0.0)
        factor = FADING if last is None or not before or before < 0 else min(max(last / before, least), STEADIEST)
        return self.own[-1] - (last or 0.0) * factor * (1 - factor ** (turns / span)) / (1 - factor)

    def stagnates(self) -> bool:
        """Whether the last turns gained hardly anything of what all did; a larger population takes more of them."""
        turns = LATELY * (self.unit.populations if isinstance(self.unit, SeparableEvolution) else 1)
        if len(self.own) <= 2 * turns:
            return False
        return self.own[-1 - turns] - self.own[-1] < LITTLE * (max(self.own) - self.own[-1])

    def _gain(self, since: int, span: int) -> float | None:
        """What so many turns gained, some turns ago; None if that is not known."""
        if len(self.own) <= since + span:
            return None
        gain = self.own[-1 - since - span] - self.own[-1 - since]
        return gain if math.isfinite(gain) else None

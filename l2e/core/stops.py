"""Why a search ends: signals of the evaluator, and the error of an objective that cannot be used."""

from typing import Any


class StopSearch(Exception):  # noqa: N818 - a signal, not an error
    """The evaluator refuses further evaluations; `reason` is a short name of why."""

    reason = "stop"


class BudgetExhausted(StopSearch):
    """All evaluations are used."""

    reason = "budget"


class TargetReached(StopSearch):
    """The target value is reached."""

    reason = "target"


class OutOfTime(StopSearch):
    """The time limit has passed."""

    reason = "max_seconds"


class StoppedByCallback(StopSearch):
    """The user's callback returned True or raised `StopIteration`."""

    reason = "callback"


class Settled(StopSearch):
    """Nothing better was found for a while."""

    reason = "settled"


class SameError(StopSearch):
    """The first evaluations all raised the same error."""

    reason = "errors"


class ObjectiveError(RuntimeError):
    """The objective failed and `on_error="raise"` was chosen, or it returned something that is not a number.

    `result` is what `minimize` had found until then.
    """

    result: Any = None

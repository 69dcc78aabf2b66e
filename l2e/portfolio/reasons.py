"""Why a part of the default method stopped."""

import enum


class Reason(enum.StrEnum):
    """The outcome of an expert, or of one of its steps; as a string it is what `result.trace` shows."""

    CONVERGED = "converged"
    """At a minimum, as far as its numbers can tell."""

    RUGGED = "rugged"
    """At a minimum among many: the surroundings rise far less than its model says."""

    WAVY = "wavy"
    """A line through the start turns too often for it to be tried."""

    STUCK = "stuck"
    """No step leads down although the model says so: a kink."""

    NO_DESCENT = "no way down"
    """Its first step found nothing better: the start is a minimum, or next to one."""

    SLOW = "slow"
    """It still gains, but an evolutionary search with its metric would gain faster."""

    RIPPLED = "rippled"
    """Slopes at both ends of its steps do not explain how the values between them change: they are those of ripples."""

    NOISY = "noisy"
    """Nearby values differ by far more than the distance between them explains."""

    JUMPS = "jumps"
    """They do, but along few coordinates: the function has steps there."""

    FLAT = "flat"
    """Nearby values are equal along most coordinates."""

    NO_VALUES = "no values nearby"
    """Evaluations next to its point failed."""

    STAGNATES = "stagnates"
    """Values neither improve nor come closer to each other."""

    BROKEN = "broken"
    """Its distribution is no longer one: not finite, or of a condition that numbers cannot hold."""

    DONE = "done"
    """It did all it was meant to do."""

    SURPASSED = "surpassed"
    """It will hardly get below the best value known."""

    LIMIT = "limit"
    """Its share of the evaluations is used."""

    BUDGET = "budget"
    """All evaluations are used."""

    FAILED = "failed"
    """It raised an exception; another part took over."""

    RUNNING = "running"
    """It has not stopped yet."""

    NOT_TRIED = "not tried"
    """It never ran."""


NO_GRADIENT = (Reason.NO_DESCENT, Reason.NOISY, Reason.JUMPS, Reason.FLAT, Reason.NO_VALUES, Reason.FAILED)
"""Reasons of a quasi-Newton that found no slope to follow."""

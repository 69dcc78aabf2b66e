"""What happens to evaluations that fail: the policy, and when to stop because nothing but errors comes."""

import re
from typing import NamedTuple

from l2e.core.errors import unknown

POLICIES = ("penalize", "raise", "retry", "retry(2)", "retry(N)")
RETRY = re.compile(r"retry(?:\((\d+)\))?")

BUGS = ("TypeError", "NameError", "AttributeError", "ImportError", "ModuleNotFoundError", "UnboundLocalError")
"""Errors that are hardly ever the point's fault."""

SAME_BUGS, SAME_ERRORS = 5, 10
"""A run ends when its first calls, this many, all raised the same error in the same line: one of `BUGS`, or another."""


class OnError(NamedTuple):
    """`penalize`: a failed evaluation ranks last, else it ends the search; `retries`: it is first tried again."""

    penalize: bool = True
    retries: int = 0


def on_error_policy(given: object) -> OnError:
    """From the words "penalize", "raise", "retry" or "retry(3)"."""
    if given in ("penalize", "raise"):
        return OnError(given == "penalize")
    match = RETRY.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise unknown("on_error", given, POLICIES)
    return OnError(True, 1 if match[1] is None else int(match[1]))


class SameErrors:
    """Watches the first calls of a function: whether they all raise the same error."""

    def __init__(self) -> None:
        self._first: tuple[str, str] | None = None
        self._count = 0
        self._over = False

    def saw(self, reason: str | None, where: str) -> str | None:
        """Note the end of a call; the message with which to end the run, if it is time."""
        if self._over:
            return None
        if reason is None or not reason.startswith("raised") or (self._first or (reason, where)) != (reason, where):
            self._over = True
            return None
        self._first = (reason, where)
        self._count += 1
        enough = SAME_BUGS if reason.removeprefix("raised ").startswith(BUGS) else SAME_ERRORS
        if self._count < enough:
            return None
        place = f" ({where})" if where else ""
        return f"the first {self._count} calls all {reason}{place}; stopped instead of spending the budget"

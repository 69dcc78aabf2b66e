"""Calls of the user's function: in the user's own settings of JAX, and given up after a while if they may hang."""

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from l2e.core.watchdog import Watchdog

LONGEST = 1e8
"""Seconds that a call may take where nothing else limits it."""


class Caller:
    """Calls one function.

    **Arguments:** `function`: takes an array; `timeout`: seconds one call may take, None for any; `watched`: whether it
    is called in a thread of its own, which is the only way not to wait for it for ever.
    """

    def __init__(self, function: Callable[[Any], Any], timeout: float | None, watched: bool):
        self._function = function
        self._x64 = _x64_here()  # the user's setting, in which the function runs whoever calls it
        self._timeout = timeout
        self._watchdog = Watchdog() if watched else None

    def __call__(self, argument: np.ndarray, deadline: float | None) -> Any:
        """The function's answer.

        **Arguments:** `deadline`: when the time of the whole search is over, on the monotonic clock.

        **Raises:** `TimedOutError`, or whatever the function raises.
        """
        if self._watchdog is None:
            return self._apply(argument)
        left = np.inf if deadline is None else deadline - time.monotonic()
        return self._watchdog(lambda: self._apply(argument), min(left, self._timeout or np.inf, LONGEST))

    def close(self) -> None:
        """Release the helper thread, if there is one."""
        if self._watchdog is not None:
            self._watchdog.close()

    def _apply(self, argument: np.ndarray) -> Any:
        if self._x64 is None and "jax" in sys.modules:  # imported since: what the user's process has by default
            self._x64 = bool(sys.modules["jax"].config.values["jax_enable_x64"])
        kept = _our_compilations()
        ours = kept if kept is not None and kept.entered else None
        if self._x64 == _x64_here() and ours is None:
            return self._function(argument)
        with contextlib.ExitStack() as settings:
            settings.enter_context(sys.modules["jax"].enable_x64(self._x64))
            if ours is not None:  # what the user compiles is none of our cache's business
                settings.enter_context(ours.paused())
            return self._function(argument)


def after_interruption() -> None:
    """Ctrl-C may have come at any instruction: give JAX's settings back to the user."""
    kept = _our_compilations()
    if kept is not None:
        kept.mend()


def _our_compilations() -> Any:
    """The context in which our own compilations are kept, or None while nothing of ours has used JAX."""
    module = sys.modules.get("l2e.core.traced.compilations")
    return None if module is None else module.KEPT


def _x64_here() -> bool | None:
    """Whether JAX computes in float64 here and now; None while nobody has imported it."""
    jax = sys.modules.get("jax")
    return None if jax is None else jax.config.jax_enable_x64

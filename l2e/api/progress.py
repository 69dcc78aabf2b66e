"""One line that says how a search is doing, in terminals and notebooks."""

import math
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from l2e.core.evaluator import Evaluator
from l2e.core.workers.process_main import INSIDE_WORKER

if TYPE_CHECKING:
    from rich.live import Live

REFRESH = 5
"""Times per second."""

RATE_SECONDS = 30.0
"""The rate is that of about this long."""

_shown: list["Progress"] = []  # the search that has the line: one that is called by its objective has none


class Progress:
    """Draws the line while it is open; it is the observer of an `Evaluator`.

    **Arguments:** `wanted`: whether to draw, None to decide by whether somebody sees it; `part`: who searches now.
    """

    def __init__(self, wanted: bool | None, part: Callable[[], str] = lambda: ""):
        self._wanted = seen_by_somebody() if wanted is None else wanted
        self._part = part
        self._live: Any = None
        self._evaluate: Evaluator | None = None
        self._began = self._marked = time.monotonic()
        self._mark = self._first = 0

    def __enter__(self) -> "Progress":
        if self._wanted and not _shown:
            self._live = shown_line(lambda: self.line())
            _shown.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
            _shown.remove(self)

    def __call__(self, evaluate: Evaluator) -> None:
        """Something was evaluated."""
        if self._evaluate is None:
            self._evaluate, self._first, self._mark = evaluate, evaluate.used, evaluate.used
            self._began = self._marked = time.monotonic()

    def line(self) -> str:
        """The line as it is now."""
        evaluate = self._evaluate
        if evaluate is None:
            return "l2e: the first evaluation is under way"
        rate = self._rate(evaluate.used)
        words = [
            f"l2e: best {evaluate.best_f:.6g}",
            f"{evaluate.used} of {evaluate.budget} evaluations" if evaluate.budget else f"{evaluate.used} evaluations",
        ]
        if rate > 0:
            words.append(f"{rate:.3g} per second")
            if evaluate.budget:
                words.append(f"{duration((evaluate.budget - evaluate.used) / rate)} left")
        if evaluate.failed:
            words.append(f"{evaluate.failed} failed")
        if evaluate.part:
            words.append(evaluate.part)
        return " | ".join(words)

    def _rate(self, used: int) -> float:
        now = time.monotonic()
        rate = (used - self._mark) / max(now - self._marked, 1e-3)
        if now - self._marked > 2 * RATE_SECONDS:  # forget the far past
            self._mark, self._marked = used - int(rate * RATE_SECONDS), now - RATE_SECONDS
        return rate


def shown_line(text: Callable[[], str]) -> "Live":
    """A line that is drawn anew until its `stop` is called, and then disappears."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=not in_notebook(), markup=False, highlight=False)
    live = Live(console=console, refresh_per_second=REFRESH, transient=True, get_renderable=text)
    live.start()
    return live


def seen_by_somebody() -> bool:
    """Whether this process writes to a terminal or a notebook."""
    if os.environ.get(INSIDE_WORKER):
        return False
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "IPKernelApp" in getattr(running, "config", {})


def duration(seconds: float) -> str:
    """A time in two units."""
    if not math.isfinite(seconds):
        return "unknown time"
    whole = round(seconds)
    for unit, size, smaller, of in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // of} {smaller}"
    return f"{whole} s"

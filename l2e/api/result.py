"""From a meter to scipy's `OptimizeResult`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from l2e.core.meter import Meter
from l2e.core.search import AbstractSearch, Span

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

STATUS = {
    "target": 0,
    "budget": 1,
    "converged": 2,
    "callback": 3,
    "max_seconds": 4,
    "interrupted": 5,
    "running": 6,
    "settled": 7,
    "errors": 8,
}
"""The integer `status` for each reason to end; a run in which no evaluation succeeded has -1."""

NO_VALUE = -1
UNFINISHED = ("interrupted", "running")


class InterruptedSearch(KeyboardInterrupt):
    """Ctrl-C during a search. `result` is what was found until then."""

    def __init__(self, result: "OptimizeResult", saved: str | None = None):
        where = "" if saved is None else f"\n  saved in {saved}: the same call goes on from there"
        KeyboardInterrupt.__init__(
            self,
            f"stopped after {result.nfev} evaluations\n  best value {result.fun:.6g}\n  at x {_short(result.x)}{where}"
            "\n  all of it is in this exception's .result",
        )
        self.result = result


def _short(x: Any) -> str:
    """A point on one line, all of it if it is not long."""
    if x is None:
        return "-"
    shown = ", ".join(f"{value:.6g}" for value in x[:12])
    return f"[{shown}]" if len(x) <= 12 else f"[{shown}, ... {len(x)} numbers]"


def collect(
    meter: Meter, method: str, reason: str, message: str, search: AbstractSearch | None = None
) -> "OptimizeResult":
    """The result of a search that ended for this reason; `search`: what ran it, if it can be asked about the run."""
    from scipy.optimize import OptimizeResult  # most programs that import l2e need scipy.optimize only now

    said = None if search is None else search.assess()
    usable = meter.best_x is not None
    if not usable and meter.used:
        first = meter.failures[0].reason if meter.failures else "no value"
        message = f"none of {meter.used} evaluations gave a finite value; the first {first} ({message})"
    return OptimizeResult(
        x=None if meter.best_x is None else meter.best_x.copy(),
        fun=meter.best_f,
        nfev=meter.used,
        nit=meter.batches,
        success=usable and reason not in UNFINISHED,
        status=STATUS[reason] if usable else NO_VALUE,
        message=message,
        reason=reason,
        method=method,
        history=meter.history,
        failures=list(meter.failures),
        n_failed=meter.failed,
        evaluations=meter.record.evaluations(),
        confidence=None if said is None else said.confidence,
        warnings=[] if said is None else list(said.warnings),
        trace=[] if search is None else _within(search.account.spans, meter.used),
        model=None if search is None else search.account.facts.get("model"),
    )


def recommend(result: "OptimizeResult", search: AbstractSearch | None, told: bool) -> "OptimizeResult":
    """A result with what the method found out about noise, and the point that it recommends, as far as it got to one.

    **Arguments:** `told`: whether the user has said that values are noisy.
    """
    account = None if search is None else search.account
    result.noise = None if account is None else account.noise
    if result.noise is not None:
        result.message = f"{result.message}; {result.noise.sentence}"
    if not told and result.noise is None:
        return result
    found = None if account is None else account.recommended
    result.fun_error, result.fun_evaluations = np.inf, min(1, result.nfev)
    if found is not None:
        result.x, result.fun = found.x.copy(), found.value
        result.fun_error, result.fun_evaluations = found.error, found.evaluations
    return result


def _within(spans: list[Span], used: int) -> list[Span]:
    """The spans up to the last evaluation made; a batch may have been cut off by the budget."""
    return [span._replace(end=min(span.end, used)) for span in spans if span.begin < used]

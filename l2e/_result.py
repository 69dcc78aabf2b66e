"""From a meter to scipy's `OptimizeResult`."""

from scipy.optimize import OptimizeResult

from l2e.driver import AbstractDriver
from l2e.evaluator import Evaluator

STATUS = {"target": 0, "budget": 1, "converged": 2, "callback": 3, "max_seconds": 4, "interrupted": 5, "running": 6}
"""The integer `status` for each reason to end; a run in which no evaluation succeeded has -1."""

NO_VALUE = -1


class InterruptedSearch(KeyboardInterrupt):
    """Ctrl-C during a search. `result` is what was found until then."""

    def __init__(self, result: OptimizeResult):
        KeyboardInterrupt.__init__(self, "interrupted; the best so far is in this exception's .result")
        self.result = result


def collect(
    evaluate: Evaluator, method: str, reason: str, message: str, driver: AbstractDriver | None = None
) -> OptimizeResult:
    """The result of a search that ended for this reason; `driver`: what ran it, if it can be asked about the run."""
    said = None if driver is None else driver.assess()
    usable = evaluate.best_x is not None
    if not usable and evaluate.used:
        first = evaluate.failures[0].reason if evaluate.failures else "no value"
        message = f"none of {evaluate.used} evaluations gave a finite value; the first {first} ({message})"
    return OptimizeResult(
        x=None if evaluate.best_x is None else evaluate.best_x.copy(),
        fun=evaluate.best_f,
        nfev=evaluate.used,
        nit=evaluate.batches,
        success=usable and reason not in ("interrupted", "running"),
        status=STATUS[reason] if usable else NO_VALUE,
        message=message,
        reason=reason,
        method=method,
        history=evaluate.history,
        failures=list(evaluate.failures),
        n_failed=evaluate.failed,
        confidence=None if said is None else said.confidence,
        warnings=[] if said is None else list(said.warnings),
    )

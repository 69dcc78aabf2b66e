"""One run on the host: the method calls the evaluator, batch by batch. Works for every method and problem.

In a disturbed run the evaluator counts and passes on what the method is told; the trace is of the true values.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from l2e.api.catalog import Searcher
from l2e.api.setup import prepare
from l2e.bench.disturbance import Disturbance, generator
from l2e.bench.methods import build
from l2e.bench.record import RunRecord, RunSpec, improvements, now, versions
from l2e.bench.suite import build_problem
from l2e.core.errors import MissingExtraError, error_line
from l2e.core.evaluator import Evaluator
from l2e.core.meter import History
from l2e.core.stops import StopSearch


def run_on_host(
    spec: RunSpec, function: Callable[[Any], Any] | None = None, searcher: "Searcher | None" = None
) -> RunRecord:
    """Run it, and record what happened, whatever happened.

    **Arguments:** `function`: evaluated instead of the problem itself, one point at a time (official loggers);
    `searcher`: what the spec is about, built by the method's name if not given.

    **Raises:** `MissingExtraError` only, which is about the installation and not about the run.
    """
    problem = build_problem(spec.problem)
    objective = function or problem
    truth = None
    if spec.disturb is not None:
        optimum = getattr(problem, "optimum", None)
        known = None if optimum is None else float(optimum.f)
        truth = objective = _Truth(objective, spec.disturb, known, generator(spec.problem, spec.seed, 0))
    evaluate = Evaluator(objective, problem.space, spec.budget, vectorized=function is None)
    wall, cpu = time.perf_counter(), time.process_time()
    reason, error = "error", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failed evaluations are counted in the record
        try:
            reason = _search(spec, evaluate, searcher)
            error = _all_failed(evaluate)
        except MissingExtraError:
            raise
        except Exception as problem_with_method:  # noqa: BLE001 - a method may fail in any way; the others go on
            error = error_line(problem_with_method)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    trace = evaluate.history if truth is None else truth.history
    return RunRecord(spec, *trace, evaluate.used, evaluate.failed, reason, cpu, wall, "host", versions(), error, now())


def _search(spec: RunSpec, evaluate: Evaluator, searcher: "Searcher | None") -> str:
    if searcher is None:
        searcher = build(spec.method, evaluate.space.dimension, spec.budget)
    start = None if spec.disturb is None else spec.disturb.begin(evaluate.space, spec.problem, spec.seed)
    setup = prepare(evaluate.space, searcher, spec.budget, x0=start, rng=spec.seed)
    try:
        setup.run(evaluate)
    except StopSearch as stop:
        return stop.reason
    return evaluate.stop.reason if evaluate.stop is not None else "converged"


def _all_failed(evaluate: Evaluator) -> str | None:
    """A sentence, if not a single evaluation gave a value: then it is the problem that does not work."""
    if evaluate.failed < max(evaluate.used, 1):
        return None
    first = evaluate.failures[0]
    place = f" ({first.where})" if first.where else ""
    return " ".join(f"all {evaluate.used} evaluations failed, the first {first.reason}{place}".split())


class _Truth:
    """A function that keeps its true values and tells disturbed ones, one point (d,) or a batch (n, d) at a time."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        disturb: Disturbance,
        optimum: float | None,
        random: np.random.Generator,
    ):
        self._function, self._disturb, self._optimum, self._random = function, disturb, optimum, random
        self._true: list[np.ndarray] = []

    def __call__(self, points: np.ndarray) -> Any:
        values = np.atleast_1d(np.asarray(self._function(points), dtype=np.float64))
        self._true.append(values)
        told = self._disturb.told(values, self._optimum, self._random)
        return float(told[0]) if points.ndim == 1 else told

    @property
    def history(self) -> History:
        """The best true value so far, at each improvement."""
        values = np.concatenate(self._true) if self._true else np.empty(0)
        return improvements(np.where(np.isfinite(values), values, np.inf))

"""One run on the host: the method calls the evaluator, batch by batch. Works for every method and problem."""

import time
import warnings
from collections.abc import Callable
from typing import Any

from l2e import catalog
from l2e._names import MissingExtraError
from l2e._setup import prepare
from l2e.bench.methods import build
from l2e.bench.record import RunRecord, RunSpec, now, versions
from l2e.catalog import Searcher
from l2e.evaluator import Evaluator, StopSearch


def run_on_host(
    spec: RunSpec, function: Callable[[Any], Any] | None = None, searcher: "Searcher | None" = None
) -> RunRecord:
    """Run it, and record what happened, whatever happened.

    **Arguments:** `function`: evaluated instead of the problem itself, one point at a time (official loggers);
    `searcher`: what the spec is about, built by the method's name if not given.

    **Raises:** `MissingExtraError` only, which is about the installation and not about the run.
    """
    problem = catalog.problem(spec.problem)
    evaluate = Evaluator(function or problem, problem.space, spec.budget, vectorized=function is None)
    wall, cpu = time.perf_counter(), time.process_time()
    reason, error = "error", None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failed evaluations are counted in the record
        try:
            reason = _search(spec, evaluate, searcher)
        except MissingExtraError:
            raise
        except Exception as problem_with_method:  # noqa: BLE001 - a method may fail in any way; the others go on
            error = f"{type(problem_with_method).__name__}: {problem_with_method}"
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return RunRecord(
        spec, *evaluate.history, evaluate.used, evaluate.failed, reason, cpu, wall, "host", versions(), error, now()
    )


def _search(spec: RunSpec, evaluate: Evaluator, searcher: "Searcher | None") -> str:
    if searcher is None:
        searcher = build(spec.method, evaluate.space.dimension, spec.budget)
    setup = prepare(evaluate.space, searcher, spec.budget, rng=spec.seed)
    try:
        setup.search(evaluate)
    except StopSearch as stop:
        return stop.reason
    return evaluate.stop.reason if evaluate.stop is not None else "converged"

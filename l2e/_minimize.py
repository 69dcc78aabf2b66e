"""`minimize`: a function, its bounds, a budget."""

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from scipy.optimize import OptimizeResult

from l2e import _saved_run
from l2e._names import unknown
from l2e._result import InterruptedSearch, collect
from l2e._setup import Setup, prepare, seconds, target_value
from l2e.catalog import DEFAULT_METHOD
from l2e.contestant import AbstractContestant
from l2e.driver import AbstractDriver, search
from l2e.evaluator import Evaluator, ObjectiveError, OnError, StopSearch
from l2e.optimizer import AbstractOptimizer
from l2e.problem import AbstractProblem, HostFunction

SAVE_EVERY_SECONDS = 2.0


def minimize(
    fun: Callable[..., Any] | AbstractProblem,
    x0: Any = None,
    *,
    bounds: Any = None,
    budget: int = 10_000,
    method: str | AbstractOptimizer[Any] | AbstractContestant = DEFAULT_METHOD,
    rng: Any = None,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    target: float | None = None,
    max_seconds: float | None = None,
    timeout: float | None = None,
    population_size: int | None = None,
    on_error: OnError = "penalize",
    callback: Callable[[OptimizeResult], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> OptimizeResult:
    """Minimise a black-box function on a box within a counted budget of evaluations.

    ```python
    result = l2e.minimize(lambda x: ((x - 1) ** 2).sum(), bounds=[(-5, 5)] * 10, budget=2000, rng=0)
    result.x, result.fun, result.nfev, result.message
    ```

    **Arguments:**

    - `fun`: takes a point, a numpy array (d,), and returns a number; or a problem (its own box is then the default).
    - `x0`: where the search begins; the method's choice (for CMA-ES the centre of the box) if not given.
    - `bounds`: list of `(low, high)`, array (d, 2), or scipy's `Bounds`; finite.
    - `budget`: the number of evaluations; never exceeded.
    - `method`: a name (`l2e methods` lists them), or an optimizer object.
    - `rng`: an int, a numpy Generator or a JAX key; the same one gives the same result. None: a fresh one.
    - `args`: further arguments for `fun`.
    - `vectorized`: `fun` takes a batch (n, d) and returns (n,).
    - `target`: stop at the first value at or below it.
    - `max_seconds`: stop that much wall time after the first evaluation began, also when one hangs. Compilation before
      it does not count.
    - `timeout`: seconds one call of `fun` may take before it counts as failed. With `max_seconds` or `timeout` it is
      called in a thread of its own.
    - `population_size`: instead of the method's own choice.
    - `on_error`: what to do when `fun` raises, times out or returns NaN or an infinity: "penalize" (it ranks last and
      is listed in `result.failures`) or "raise".
    - `callback`: called with an `OptimizeResult` (x, fun, nfev, nit) after each batch; `StopIteration` stops.
    - `checkpoint`: a file. The search is saved there at once, every few seconds and at the end; the same call goes on
      from it.

    **Returns:** scipy's `OptimizeResult` with `x, fun, nfev, nit, success, status, message, reason`, `history` (best
    `fun` at the `nfev` that improved it), `failures`, `n_failed`, `method`, and `confidence` and `warnings`, what the
    method says of its own run (None and nothing if it says nothing; `l2e` does). Success means that it ended for a
    reason of its own and found a finite value; if no evaluation gave one, `x` is None and `fun` is `inf`.

    **Raises:** `InterruptedSearch`, a `KeyboardInterrupt` whose `result` is what was found, on Ctrl-C, and
    `ObjectiveError`, also with a `result`, when `fun` returns no number or fails and `on_error` is "raise".
    """
    if on_error not in ("penalize", "raise"):
        raise unknown("on_error", on_error, ("penalize", "raise"))
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    args = args if isinstance(args, tuple) else (args,)
    if isinstance(fun, AbstractProblem):
        if args:
            raise ValueError("args are for functions; a problem takes points only")
        bounds = fun.space if bounds is None else bounds
        vectorized = fun.vectorized if isinstance(fun, HostFunction) else True
        if isinstance(fun, HostFunction):
            fun = fun.function
    if bounds is None:
        raise ValueError("bounds are needed: one (low, high) pair per coordinate, e.g. bounds=[(-5, 5)] * 10")
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {type(fun).__name__}")
    if rng is None and checkpoint is not None and os.path.exists(checkpoint):
        rng = _saved_run.saved_key(checkpoint)
    setup = prepare(bounds, method, budget, x0, rng, population_size)
    evaluate = Evaluator(
        (lambda x: fun(x, *args)) if args else fun,
        setup.space,
        setup.budget,
        vectorized=vectorized,
        target=target_value(target),
        max_seconds=seconds("max_seconds", max_seconds),
        timeout=seconds("timeout", timeout),
        on_error=on_error,
        callback=callback,
    )
    driver: AbstractDriver | None = None
    try:
        driver = setup.driver()
        reason, message = _run(setup, driver, evaluate, checkpoint)
    except KeyboardInterrupt as interrupt:
        found = collect(evaluate, setup.method, "interrupted", "stopped by the user", driver)
        raise InterruptedSearch(found) from interrupt
    except ObjectiveError as error:
        error.result = collect(evaluate, setup.method, "interrupted", str(error), driver)
        raise
    finally:
        evaluate.close()
    return collect(evaluate, setup.method, reason, message, driver)


def _run(setup: Setup, driver: AbstractDriver | None, evaluate: Evaluator, checkpoint: Any) -> tuple[str, str]:
    try:
        if checkpoint is None:
            return "converged", setup.search(evaluate, driver)
        if driver is None:
            raise ValueError(f"method {setup.method!r} cannot be saved and resumed; native methods can")
        return "converged", _search_and_save(driver, evaluate, checkpoint, setup.facts)
    except StopSearch as stop:
        return stop.reason, str(stop)


def _search_and_save(driver: AbstractDriver, evaluate: Evaluator, path: Any, facts: dict[str, Any]) -> str:
    """Search, keeping on disk a state from which the run goes on exactly: always one between two generations."""
    if os.path.exists(path):
        evaluate.resume(_saved_run.load_run(path, driver, facts))
    packed, meter = driver.packed, evaluate.read()
    saved_at = time.monotonic()

    def save() -> None:
        _saved_run.save_run(path, driver.unpack(packed), meter, facts)

    def after() -> None:
        nonlocal packed, meter, saved_at
        packed, meter = driver.packed, evaluate.read()
        if time.monotonic() - saved_at > SAVE_EVERY_SECONDS:
            _save_or_warn(save)
            saved_at = time.monotonic()

    save()  # at once, so that a place where nothing can be written is an error before any evaluation
    try:
        return search(driver, evaluate, after)
    finally:
        _save_or_warn(save)


def _save_or_warn(save: Callable[[], None]) -> None:
    """A disk that fills up during a search must not cost its result."""
    try:
        save()
    except OSError as error:
        warnings.warn(f"the checkpoint could not be written: {error}", RuntimeWarning, stacklevel=3)

"""`minimize`: a function, its bounds, a budget."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from l2e.api import saved
from l2e.api.catalog import DEFAULT_METHOD
from l2e.api.constrain import constrainer, known_to
from l2e.api.progress import Progress
from l2e.api.result import InterruptedSearch, collect, recommend
from l2e.api.setup import ending_of, prepare, seconds, target_value, whole_number
from l2e.api.views import view_of
from l2e.core.adapter import AbstractAdapter
from l2e.core.answers import description
from l2e.core.caller import after_interruption
from l2e.core.errors import unknown
from l2e.core.evaluator import Evaluator
from l2e.core.failing import on_error_policy
from l2e.core.problem import AbstractProblem, HostFunction
from l2e.core.space import Space
from l2e.core.stops import ObjectiveError, StopSearch
from l2e.core.workers.choose import crew_size
from l2e.core.workers.killable import crew_of

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    from l2e.api.family_model import FamilyModel
    from l2e.core.traced.algorithm import AbstractAlgorithm


def minimize(
    fun: Callable[..., Any] | AbstractProblem,
    x0: Any = None,
    *,
    bounds: Any = None,
    integrality: Any = None,
    constraints: Any = None,
    noisy: bool | str | None = None,
    budget: int | None = None,
    method: "str | AbstractAlgorithm[Any] | AbstractAdapter" = DEFAULT_METHOD,
    rng: Any = None,
    known: Any = None,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    target: float | None = None,
    max_seconds: float | None = None,
    timeout: float | None = None,
    population_size: int | None = None,
    on_error: str = "penalize",
    callback: "Callable[[OptimizeResult], Any] | None" = None,
    checkpoint: str | os.PathLike[str] | None = None,
    workers: Any = None,
    order: str = "asked",
    tol: float | None = None,
    patience: int | None = None,
    progress: bool | None = None,
    model: "FamilyModel | str | os.PathLike[str] | None" = None,
    features: Any = None,
) -> "OptimizeResult":
    """Minimise a black-box function on a box within a counted budget of evaluations.

    ```python
    result = l2e.minimize(lambda x: ((x - 1) ** 2).sum(), bounds=[(-5, 5)] * 10, budget=2000, rng=0)
    result.x, result.fun, result.nfev, result.message
    ```

    **Arguments:**

    - `fun`: takes a point, a numpy array (d,), and returns a number; or a problem (its own box is then the default).
    - `x0`: where the search begins; the method's choice (for CMA-ES the centre of the box) if not given. Several
      points, shape (m, d), are all evaluated, and the best is where the default method begins. A `Space` in its place,
      `minimize(f, space)`, is taken as the bounds.
    - `bounds`: list of `(low, high)`, array (d, 2), or scipy's `Bounds`; finite, and equal ends fix a coordinate. Or an
      `l2e.Space` of named parameters: `fun` is then called as `fun(**params)` if it takes these names, else as
      `fun(params)` (a list of dictionaries if `vectorized`), and `result.params` is the best dictionary.
    - `integrality`: which coordinates are whole numbers, one flag for each, as in scipy.
    - `constraints`: scipy's `NonlinearConstraint` and `LinearConstraint`, functions g with g(x) <= 0, dictionaries as
      of SLSQP, or a list of these; such functions are taken to be cheap, and their calls are not counted. Or
      `l2e.Returned(m)`: `fun` returns `(f, c)` with m constraints c <= 0. The result then has `feasible`, `violation`
      and `multipliers`. For the default method.
    - `noisy`: whether values are uncertain. True: the default method takes no differences of nearby values, keeps a
      tenth of the budget to evaluate candidates again, and recommends the one with the best median ("mean": the best
      mean): `x` is that point, `fun` the median, `fun_error` its standard error, `fun_evaluations` of how many values.
      None: where values look noisy, a point is evaluated twice more; if its values differ, `result.noise` and the
      message say so, and the search goes on as with True. False: neither.
    - `budget`: the number of evaluations; never exceeded. Without one the default method plans for few evaluations
      first and then for more, and the search ends when it has settled (see `patience`), after 10,000 evaluations, or
      1000 per dimension if that is more, at the latest.
    - `method`: a name (`l2e methods` lists them), or an algorithm object.
    - `rng`: an int, a numpy Generator or a JAX key; the same one gives the same result. None: a fresh one.
    - `known`: evaluations made elsewhere, a pair `(X, y)` of points and their values. They cost nothing: the search
      begins at the best of them unless `x0` is given, the default method's models learn from all of them, and the
      result is the best of them where nothing better was found. With `Returned` constraints a triple `(X, y, C)`.
    - `args`: further arguments for `fun`.
    - `vectorized`: `fun` takes a batch (n, d) and returns (n,).
    - `target`: stop at the first value at or below it.
    - `max_seconds`: stop that much wall time after the first evaluation began, also when one hangs. Compilation before
      it does not count.
    - `timeout`: seconds one call of `fun` may take before it counts as failed and its process is ended. Without
      `workers`, `fun` is called in one process of its own, as with `workers=1`; where that is not possible a warning
      says why, and it is called in a thread, which cannot be ended.
    - `population_size`: instead of the method's own choice.
    - `on_error`: what to do when `fun` raises, times out or returns NaN or an infinity: "penalize" (it ranks last and
      is listed in `result.failures`), "raise", or "retry(3)" (it is first tried again, and counted once).
    - `callback`: called with an `OptimizeResult` (x, fun, nfev, nit, points, values_of_points) after each batch; when
      it returns True or raises `StopIteration`, the search ends.
    - `checkpoint`: a file to which every evaluation is appended as soon as it is done. The same call resumes from it,
      also with another `budget`; `fun` itself cannot be compared, so resume with the same one.
    - `workers`: a number of processes that evaluate at once; or an executor, a function like `map`,
      `joblib.Parallel`, a Dask client, or `ray`. The method is told how many there are.
    - `order`: "asked": values are told in the order of their points, so the same seed and number of workers give the
      same result; "arrival": as they come, which is faster where times differ, and cannot be repeated.
    - `tol`: improvements of the best value up to this count as none; 1e-10 of all improvements so far if not given.
    - `patience`: end when so many evaluations brought no improvement that counts. If not given: no end before the
      budget; with `tol`, or without a budget, 50 evaluations per dimension, and at least as many as it took until the
      last improvement, so that restarts have had their turn.
    - `progress`: one line with the best value, the rate, the time left; None: in a terminal or a notebook.
    - `model`: of the family that `fun` belongs to, or its file (`l2e.learn`); the box is then the model's.
    - `features`: numbers known of `fun` before it is searched, if the model knows them of its members.

    **Returns:** scipy's `OptimizeResult` with `x, fun, nfev, nit, success, status, message, reason`, `history` (best
    `fun` at the `nfev` that improved it), `failures`, `n_failed`, `evaluations` (every point with its
    value, status, seconds and who asked for it), `method`, and, where the method keeps an account (`auto` does):
    `confidence` and `warnings`, its own assessment of the run, and `trace`, which part of it had which
    evaluations and why it ended; with a model, `model`: what it did, and whether it was trusted; `noise`: a point and
    the different values it has got, where values were found to be uncertain, else None. Success means that it ended
    for a reason of its own and found a finite value; if no evaluation gave one, `x` is None and `fun` is `inf`.

    **Raises:** `InterruptedSearch`, a `KeyboardInterrupt` whose `result` is what was found, on Ctrl-C;
    `ObjectiveError`, also with a `result`, when the first answer of `fun` is no number, or it fails and `on_error` is
    "raise". Any other exception, of the callback or the method, has a `result` too once something was
    evaluated.
    """
    on_error_policy(on_error)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    args = args if isinstance(args, tuple) else (args,)
    if isinstance(fun, AbstractProblem):
        if args:
            raise ValueError("args are for functions; a problem takes points only")
        bounds = fun.space if bounds is None and not isinstance(x0, Space | Mapping) else bounds
        vectorized = fun.vectorized if isinstance(fun, HostFunction) else True
        if isinstance(fun, HostFunction):
            fun = fun.function
    if bounds is None and isinstance(x0, Space | Mapping):
        bounds, x0 = x0, None
    if model is not None:
        from l2e.api.family_model import with_model

        bounds, method = with_model(model, bounds, method, integrality, features)
    elif features is not None:
        raise ValueError("features go with the model of a family: model=...")
    if bounds is None:
        raise ValueError("bounds are needed: one (low, high) pair per coordinate, e.g. bounds=[(-5, 5)] * 10")
    if not callable(fun):
        raise TypeError(f"fun must be callable, got {type(fun).__name__}")
    size = crew_size(workers)
    if order not in ("asked", "arrival"):
        raise unknown("order", order, ("asked", "arrival"))
    if order == "arrival" and workers is None:
        raise ValueError("order='arrival' goes with workers: one point at a time always arrives in order")
    if workers is not None and vectorized:
        raise ValueError("workers evaluate one point each; a vectorized function takes whole batches itself")
    told = budget
    if checkpoint is not None and saved.exists(checkpoint):
        rng = saved.saved_key(checkpoint) if rng is None else rng
        told = saved.told_budget(checkpoint)
    view = view_of(bounds, integrality)
    if view is not None:
        bounds, x0, fun, args = view.box, view.start(x0), view.function(fun, args, vectorized), ()
        callback = view.callback(callback)
    limits = constrainer(constraints, view, bounds)
    if limits is not None:
        if model is not None:
            raise ValueError("a model of a family does not go with constraints")
        if limits.table is not None:
            fun, args = limits.table.function(WithArguments(fun, args) if args else fun), ()
        bounds = limits.box
    data = known_to(limits, known, view)
    setup = prepare(bounds, method, told, x0, rng, population_size, data, size)
    setup = setup.for_noise(noisy)
    function = WithArguments(fun, args) if args else fun
    alone = "a vectorized function" if vectorized else None
    with contextlib.ExitStack() as if_this_fails:
        crew = crew_of(function, workers, seconds("timeout", timeout), alone)
        if crew is not None:
            if_this_fails.callback(crew.close)
        evaluate = Evaluator(
            function,
            setup.space,
            setup.budget if budget is None else whole_number("budget", budget),
            vectorized=vectorized,
            target=target_value(target),
            max_seconds=seconds("max_seconds", max_seconds),
            timeout=seconds("timeout", timeout),
            on_error=on_error,
            callback=callback,
            crew=crew,
            ending=ending_of(setup.space.dimension, budget, tol, patience),
            observer=(shown := Progress(progress)),
            admits=None if limits is None else limits.nearest.admits,
            keep=None if limits is None or limits.table is None else limits.table.take,
        )
        if data is not None:
            evaluate.know(*data)
        running = saved.Running(setup, evaluate, checkpoint, arrival=order == "arrival")
        if_this_fails.pop_all()

    def found(reason: str, message: str) -> "OptimizeResult":
        result = collect(evaluate.meter, setup.method, reason, message, running.search)
        if limits is not None:
            account = None if running.search is None else running.search.account
            result = limits.result(result, None if account is None else account.multipliers)
        result = recommend(result, running.search, told=bool(noisy))
        return result if view is None else view.result(result)

    try:
        with shown:
            message = running()
        return found("converged", message)
    except StopSearch as stop:
        return found(stop.reason, str(stop))
    except KeyboardInterrupt:
        after_interruption()
        where = None if checkpoint is None else os.fspath(checkpoint)
        raise InterruptedSearch(found("interrupted", "stopped by the user"), where) from None
    except ObjectiveError as error:
        error.result = found("interrupted", str(error))
        raise
    except Exception as error:  # of a method or a callback: what was paid for is not lost with it
        if evaluate.used:
            with contextlib.suppress(AttributeError):
                error.result = found("interrupted", description(error))  # pyright: ignore[reportAttributeAccessIssue]
                error.add_note(f"{evaluate.used} evaluations were made; what they found is in this exception's .result")
        raise
    finally:
        evaluate.close()


@dataclasses.dataclass(frozen=True)
class WithArguments:
    """A function with its further arguments: unlike a lambda, it can be sent to another process."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, x: Any) -> Any:
        return self.function(x, *self.arguments)

"""`minimize_many`: many problems, one after the other, on several processes, or side by side in one program."""

import contextlib
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from l2e.api.catalog import DEFAULT_METHOD
from l2e.api.minimize import minimize
from l2e.api.progress import seen_by_somebody, shown_line
from l2e.api.result import collect, recommend
from l2e.api.setup import is_traceable, prepare, whole_number
from l2e.core.answers import description
from l2e.core.errors import unknown
from l2e.core.keys import as_key, fold_in
from l2e.core.meter import Meter

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

FAILED = -3
"""The status of a search that raised an error."""

TOGETHER = frozenset({"budget", "method", "population_size", "progress"})
"""Options of searches that one program can run side by side."""


class _Ended(NamedTuple):
    """How the search of one problem ended: with a result, or an error and what had been found until then."""

    result: "OptimizeResult | None"
    error: Exception | None = None


def minimize_many(
    problems: Iterable[Any],
    *,
    rng: Any = None,
    workers: int | None = None,
    together: bool | None = None,
    errors: str = "keep",
    on_result: "Callable[[int, OptimizeResult], Any] | None" = None,
    progress: bool | None = None,
    **options: Any,
) -> "list[OptimizeResult]":
    """Minimise many problems with the same options, each with a seed of its own.

    ```python
    shifts = range(100)
    results = l2e.minimize_many([Bowl(shift) for shift in shifts], bounds=[(-5, 5)] * 3, budget=60, rng=0, workers=8)
    ```

    **Arguments:**

    - `problems`: functions or problems, or dictionaries of `minimize`'s arguments (`fun`, `bounds`, `x0` and so on),
      which go before the options.
    - `rng`: as in `minimize`; problem i has the same seed whatever the others are.
    - `workers`: how many processes, each of which has one problem at a time; the functions must then be importable, so
      no lambdas. A process that dies costs the problem that it had.
    - `together`: JAX problems of one structure (instances of a class that differ in their arrays, or `JAXFunction`s of
      one function with other `parameters`) and a native method run side by side in one compiled program. None: where
      that is possible, True: an error where it is not, False: never. Results are those of `minimize` but for rounding.
    - `errors`: "keep": a search that raises is a result without success, with the error in `message` and `error`;
      if all of them raise, the first error is raised. "raise": the first error, when all searches have ended.
    - `on_result`: called with the number of a problem and its result as soon as there is one, in any order.
    - `progress`: one line of how many are solved; None: in a terminal or a notebook.
    - `options`: of `minimize`, for all problems.

    **Returns:** the results, in the order of the problems.
    """
    if errors not in ("keep", "raise"):
        raise unknown("errors", errors, ("keep", "raise"))
    key = as_key(rng)
    calls = [{"progress": False, **_call(one, options), "rng": fold_in(key, i)} for i, one in enumerate(problems)]
    groups = _groups(calls) if together or (together is None and workers is None) else {}
    alone = sorted(set(range(len(calls))) - {i for members in groups.values() for i in members})
    if together and alone:
        raise ValueError(_why_not(calls[alone[0]]))
    ended: dict[int, _Ended] = {}
    with _Line(progress, len(calls)) as line:
        for i, one in _solve_all(calls, groups, alone, workers):
            ended[i] = one
            line.count(one.error is not None)
            if on_result is not None:
                on_result(i, _result(one))
    raised = [ended[i].error for i in range(len(calls)) if ended[i].error is not None]
    if raised and raised[0] is not None and (errors == "raise" or len(raised) == len(calls)):
        raise raised[0]
    return [_result(ended[i]) for i in range(len(calls))]


def _solve_all(
    calls: list[dict[str, Any]], groups: dict[Any, list[int]], alone: list[int], workers: int | None
) -> Iterator[tuple[int, _Ended]]:
    for members in groups.values():
        yield from _solve_group(calls, members)
    if workers is None or not alone:
        for i in alone:
            yield i, _solve(calls[i])
        return
    yield from _solve_apart(calls, alone, min(whole_number("workers", workers), len(alone)))


def _call(problem: Any, options: dict[str, Any]) -> dict[str, Any]:
    own = dict(problem) if isinstance(problem, Mapping) else {"fun": problem}
    if "rng" in own:
        raise ValueError("seeds are made from rng of minimize_many, one for each problem")
    return {**options, **own}


def _solve(call: dict[str, Any]) -> _Ended:
    try:
        return _Ended(minimize(**call))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other problems are solved
        return _Ended(getattr(error, "result", None), error)


def _result(ended: _Ended) -> "OptimizeResult":
    """The result of one problem; of a search that raised, what it found until then, without success."""
    if ended.error is None:
        assert ended.result is not None
        return ended.result
    from scipy.optimize import OptimizeResult

    found = ended.result or OptimizeResult(x=None, fun=np.inf, nfev=0, nit=0)
    found.success, found.status, found.reason = False, FAILED, "error"
    found.message = f"the search raised {description(ended.error)}"
    found.error = ended.error
    return found


def _solve_apart(calls: list[dict[str, Any]], waiting: list[int], size: int) -> Iterator[tuple[int, _Ended]]:
    """On several processes; after one has died, those that were being solved are tried again one by one."""
    while waiting:
        done = yield from _pool(calls, waiting, size)
        waiting = [i for i in waiting if i not in done]
        suspects, waiting = waiting[:size], waiting[size:]
        for i in suspects:
            if not (yield from _pool(calls, [i], 1)):
                yield i, _Ended(None, RuntimeError("its process died"))


def _pool(
    calls: list[dict[str, Any]], waiting: list[int], size: int
) -> Iterator[tuple[int, _Ended]]:  # and returns which were solved
    done: set[int] = set()
    with ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures: dict[Future[_Ended], int] = {pool.submit(_solve, calls[i]): i for i in waiting}
        for future in as_completed(futures):
            try:
                ended = future.result()
            except BrokenProcessPool:
                continue
            except Exception as error:  # noqa: BLE001 - it could not be sent
                ended = _Ended(None, error)
            done.add(futures[future])
            yield futures[future], ended
    return done


def _groups(calls: list[dict[str, Any]]) -> dict[Any, list[int]]:
    """Problems that one program can solve, by what they have in common."""
    if "jax" not in sys.modules or not all(is_traceable(call["fun"]) for call in calls):
        return {}
    from l2e.core.traced.together import most_together, structure

    groups: dict[Any, list[int]] = {}
    for i, call in enumerate(calls):
        if _why_not(call) == "":
            how = tuple((name, repr(call.get(name))) for name in sorted(TOGETHER))
            groups.setdefault((structure(call["fun"]), how), []).append(i)
    parts: dict[Any, list[int]] = {}
    for name, members in groups.items():
        first = calls[members[0]]
        most = most_together(first["fun"].space.dimension, _setup(first).budget)
        for begin in range(0, len(members), most):
            parts[name, begin] = members[begin : begin + most]
    return {name: members for name, members in parts.items() if len(members) > 1}


def _why_not(call: dict[str, Any]) -> str:
    """Why a search cannot be part of a program with others; empty if it can."""
    if not is_traceable(call["fun"]):
        return "together=True is for JAX problems (l2e.JAXFunction, l2e.problems); others can be solved by workers"
    other = sorted(call.keys() - TOGETHER - {"fun", "rng"})
    if other:
        return f"together=True goes with {', '.join(sorted(TOGETHER))} only, not with {', '.join(other)}"
    if call.get("budget") is None:
        return "together=True needs a budget"
    from l2e.core.traced.algorithm import AbstractAlgorithm

    if not isinstance(_setup(call).searcher, AbstractAlgorithm):
        method = call.get("method", DEFAULT_METHOD)
        return f"together=True needs a native method (cmaes, de, lshade, ...), and {method!r} runs on the host"
    return "" if call["fun"].runs_on_host is False else "this problem is evaluated on the host"


def _setup(call: dict[str, Any]) -> Any:
    return prepare(
        call["fun"].space,
        call.get("method", DEFAULT_METHOD),
        call.get("budget"),
        None,
        call["rng"],
        call.get("population_size"),
    )


def _solve_group(calls: list[dict[str, Any]], members: list[int]) -> Iterator[tuple[int, _Ended]]:
    """Solve problems of one structure in one program; each evaluation is counted and recorded as if it came alone."""
    from l2e.core.traced.together import solve_together

    setups = [_setup(calls[i]) for i in members]
    first = setups[0]
    problems, keys = [calls[i]["fun"] for i in members], [setup.key for setup in setups]
    for i, setup, solved in zip(
        members, setups, solve_together(first.searcher, problems, keys, first.budget), strict=True
    ):
        meter = Meter(setup.space, setup.budget)
        if len(solved.values):
            meter.count_all(solved.points, solved.values)
        over = meter.remaining <= 0
        message = f"all {setup.budget} evaluations are used" if over else "the method expects no further improvement"
        result = collect(meter, setup.method, "budget" if over else "converged", message)
        yield i, _Ended(recommend(result, None, told=False))


class _Line:
    """One line that says how many problems are solved."""

    def __init__(self, wanted: bool | None, count: int):
        self._count, self._done, self._failed = count, 0, 0
        self._wanted = seen_by_somebody() if wanted is None else wanted
        self._live: Any = None

    def __enter__(self) -> "_Line":
        if self._wanted:
            self._live = shown_line(self.text)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            with contextlib.suppress(Exception):
                self._live.stop()

    def count(self, failed: bool) -> None:
        self._done, self._failed = self._done + 1, self._failed + failed

    def text(self) -> str:
        failed = f" | {self._failed} failed" if self._failed else ""
        return f"l2e: {self._done} of {self._count} problems{failed}"

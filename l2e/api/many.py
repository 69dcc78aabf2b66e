"""`minimize_many`: many problems, one after the other or on several processes."""

import multiprocessing
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from l2e.api.minimize import minimize
from l2e.api.setup import whole_number
from l2e.core.keys import as_key, fold_in

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


def minimize_many(
    problems: Iterable[Any], *, rng: Any = None, workers: int | None = None, **options: Any
) -> "list[OptimizeResult]":
    """Minimise many problems with the same options, each with a seed of its own.

    ```python
    shifts = range(100)
    results = l2e.minimize_many([Bowl(shift) for shift in shifts], bounds=[(-5, 5)] * 3, budget=60, rng=0, workers=8)
    ```

    **Arguments:** `problems`: functions or problems, or dictionaries of `minimize`'s arguments (`fun`, `bounds`, `x0`
    and so on), which go before the options; `rng`: as in `minimize`, and problem i has the same seed whatever the
    others are; `workers`: how many processes, each of which has one problem at a time; the functions must then
    be importable, so no lambdas; `options`: of `minimize`, for all problems.

    **Returns:** the results, in the order of the problems. The first error of a search is raised.
    """
    key = as_key(rng)
    calls = [_call(one, options) | {"rng": fold_in(key, i)} for i, one in enumerate(problems)]
    if workers is None or not calls:
        return [_solve(call) for call in calls]
    size = min(whole_number("workers", workers), len(calls))
    with ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_solve, calls))


def _call(problem: Any, options: dict[str, Any]) -> dict[str, Any]:
    own = dict(problem) if isinstance(problem, Mapping) else {"fun": problem}
    if "rng" in own:
        raise ValueError("seeds are made from rng of minimize_many, one for each problem")
    return {**options, **own}


def _solve(call: dict[str, Any]) -> "OptimizeResult":
    return minimize(**call)

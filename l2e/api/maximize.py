"""`maximize`: the same searches for the largest value."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from l2e.api.constrain import Returned
from l2e.api.minimize import minimize
from l2e.core.problem import AbstractProblem

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


def maximize(
    fun: Callable[..., Any] | AbstractProblem,
    x0: Any = None,
    *,
    target: float | None = None,
    known: Any = None,
    callback: "Callable[[OptimizeResult], Any] | None" = None,
    **options: Any,
) -> "OptimizeResult":
    """Maximise a function: `minimize` of its negative, told and answered in the function's own values.

    ```python
    result = l2e.maximize(lambda x: 5 - ((x - 1) ** 2).sum(), bounds=[(-5, 5)] * 4, budget=200, rng=0)
    result.fun  # 5, the largest value
    ```

    **Arguments:** as of `minimize`; `target`: stop at the first value at or above it.
    """
    if isinstance(fun, AbstractProblem):
        raise TypeError("problems are minimised; give a function")
    try:
        return _turned(
            minimize(
                _Negative(fun, isinstance(options.get("constraints"), Returned)),
                x0,
                target=None if target is None else -target,
                known=None if known is None else (known[0], [None if y is None else -y for y in known[1]], *known[2:]),
                callback=None if callback is None else (lambda seen: callback(_turned(seen))),
                **options,
            )
        )
    except BaseException as error:
        result = getattr(error, "result", None)
        if result is not None:
            error.result = _turned(result)  # pyright: ignore[reportAttributeAccessIssue]
        raise


class _Negative:
    """The negative of a function; it can be sent to another process, and has the function's signature."""

    def __init__(self, fun: Callable[..., Any], with_constraints: bool = False):
        functools.update_wrapper(self, fun)
        self.fun, self.with_constraints = fun, with_constraints

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        value = self.fun(*args, **kwargs)
        if self.with_constraints:
            return -np.asarray(value[0], dtype=np.float64), value[1]
        return [-one for one in value] if isinstance(value, list | tuple) else -value


def _turned(result: "OptimizeResult") -> "OptimizeResult":
    result.fun = -result.fun
    if "values_of_points" in result:
        result.values_of_points = -result.values_of_points
    if "evaluations" in result:
        result.evaluations.f = -result.evaluations.f
    if "history" in result:
        result.history = result.history._replace(fun=-np.asarray(result.history.fun))
    if result.get("noise") is not None:
        said = result.noise.sentence
        result.noise = result.noise._replace(values=tuple(-value for value in result.noise.values))
        result.message = result.message.replace(said, result.noise.sentence)
        result.warnings = [warning.replace(said, result.noise.sentence) for warning in result.warnings]
    return result

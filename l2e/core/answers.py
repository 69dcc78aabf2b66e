"""What an objective answered, as numbers."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from l2e.core.stops import ObjectiveError


class Pair(NamedTuple):
    """What a function answered that returns further numbers with each value: the answer, and how many there are."""

    answer: Any
    further: int


@dataclasses.dataclass(frozen=True)
class Paired:
    """A function of points that returns `(f, c)`, so many further numbers with each value; it can be sent to another
    process.
    """

    function: Callable[[Any], Any]
    count: int

    def __call__(self, points: Any) -> Pair:
        return Pair(self.function(points), self.count)


def values_and_rows(answer: Any, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The answer for n points as n floats, and the further numbers of each, shape (n, count), if it is a `Pair`.

    **Raises:** `ObjectiveError` that says what was answered instead.
    """
    if not isinstance(answer, Pair):
        return as_numbers(answer, n), None
    pair, count = answer
    try:
        f, c = pair
    except (TypeError, ValueError) as error:
        raise ObjectiveError(
            f"the objective must return a pair (f, c), its value and {count} constraints, it returned "
            f"{description(pair)}"
        ) from error
    values = as_numbers(f, n)
    try:
        rows = _as_array(c)
    except Exception as error:
        raise ObjectiveError(
            f"the objective must return {count} constraints as real numbers, it returned {description(c)}"
        ) from error
    if rows.size != n * count or (n > 1 and rows.shape[0] != n):
        raise ObjectiveError(
            f"the objective must return {count} constraints for each point, it returned an array of shape {rows.shape}"
        )
    return values, rows.reshape(n, count)


def as_numbers(answer: Any, n: int) -> np.ndarray:
    """The answer for n points as n floats.

    Arrays of any library and any real type are taken, of shape (n,), or of any shape of one element where n is 1. A
    number too large for a float is an infinity.

    **Raises:** `ObjectiveError` that says what was answered instead.
    """
    if n == 1 and isinstance(answer, float):  # the common case, and the fast one; numpy's float64 is a float
        return np.array([answer], dtype=np.float64)
    try:
        array = _as_array(answer)
    except Exception as error:
        raise ObjectiveError(
            f"the objective must return {_wanted(n)}, it returned {description(answer)} ({description(error)})"
        ) from error
    if array.size != n or array.ndim > 2:
        raise ObjectiveError(f"the objective must return {_wanted(n)}, it returned an array of shape {array.shape}")
    return array.ravel()


def _wanted(n: int) -> str:
    return "one real number" if n == 1 else f"{n} real numbers"


def description(thing: Any, longest: int = 200) -> str:
    """`repr`, cut off, of objects of which even that may fail."""
    try:
        text = repr(thing)
    except Exception:  # noqa: BLE001 - it is someone else's repr
        text = f"<{type(thing).__name__}, which has no readable text>"
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _as_array(answer: Any) -> np.ndarray:
    if hasattr(answer, "detach"):  # a tensor of PyTorch, perhaps one that requires a gradient
        answer = answer.detach().cpu().double().numpy()
    array = np.asarray(answer)
    if array.dtype.kind == "O":
        return np.asarray([_as_float(value) for value in array.ravel()]).reshape(array.shape)
    if array.dtype.kind not in "biuf" and "float" not in str(array.dtype):  # bfloat16 and its like have kind V
        raise TypeError(f"not of a real type: {array.dtype}")
    return array.astype(np.float64)


def _as_float(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError("text is not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf

"""What an objective answered, as numbers."""

import math
from typing import Any

import numpy as np

from l2e.core.stops import ObjectiveError


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

"""A search on disk: the optimizer's state and the meter, in one checkpoint file."""

import os
from typing import Any

import equinox as eqx
import jax
import numpy as np

from l2e import checkpoint
from l2e.checkpoint import CheckpointError
from l2e.driver import AbstractDriver
from l2e.evaluator import Failure, History, Meter
from l2e.program import Told


class _Arrays(eqx.Module):
    state: Any
    best_x: np.ndarray
    best_f: np.ndarray
    failure_x: np.ndarray
    history_nfev: np.ndarray
    history_fun: np.ndarray


def save_run(path: str | os.PathLike[str], state: Any, meter: Meter, facts: dict[str, Any]) -> None:
    """Write a search; `facts` are what makes it this search and no other."""
    dimension = len(facts["bounds"])
    nowhere = np.full(dimension, np.nan)
    arrays = _Arrays(
        state=state,
        best_x=nowhere if meter.best_x is None else meter.best_x,
        best_f=np.asarray(meter.best_f),
        failure_x=np.asarray([failure.x for failure in meter.failures]).reshape(-1, dimension),
        history_nfev=meter.history.nfev,
        history_fun=np.asarray(meter.history.fun, dtype=np.float64),
    )
    counts = {
        "used": meter.used,
        "batches": meter.batches,
        "failed": meter.failed,
        "failures": [[failure.evaluation, failure.reason] for failure in meter.failures],
        "improvements": len(meter.history.nfev),
        "told": len(state.values) if isinstance(state, Told) else None,
    }
    checkpoint.save_tree(path, arrays, {"search": facts, "meter": counts})


def saved_search(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts of the search in a file."""
    return _stored(path)["search"]


def saved_key(path: str | os.PathLike[str]) -> jax.Array:
    """The key with which the search in a file began."""
    return jax.numpy.asarray(saved_search(path)["key"], dtype=jax.numpy.uint32)


def _stored(path: str | os.PathLike[str]) -> dict[str, Any]:
    stored = checkpoint.load_facts(path)
    if "search" not in stored:
        raise CheckpointError(f"{path} does not hold a search")
    return stored


def load_run(path: str | os.PathLike[str], driver: AbstractDriver, facts: dict[str, Any]) -> Meter:
    """Put a saved search into a driver of the same search and return its meter."""
    stored = _stored(path)
    different = sorted(name for name in facts if stored["search"].get(name) != facts[name])
    if different:
        name = different[0]
        raise CheckpointError(
            f"{path} belongs to another search: {', '.join(different)} differ "
            f"({name} is {stored['search'].get(name)!r} there and {facts[name]!r} here); "
            "remove the file or name another"
        )
    counts, dimension = stored["meter"], len(facts["bounds"])
    like = _Arrays(
        state=driver.state if counts.get("told") is None else Told(np.empty(counts["told"])),
        best_x=np.empty(dimension),
        best_f=np.empty(()),
        failure_x=np.empty((len(counts["failures"]), dimension)),
        history_nfev=np.empty(counts["improvements"], np.int64),
        history_fun=np.empty(counts["improvements"]),
    )
    arrays = checkpoint.load_tree(path, like)
    driver.restore(arrays.state)
    failures = zip(counts["failures"], arrays.failure_x, strict=True)
    return Meter(
        used=counts["used"],
        batches=counts["batches"],
        best_x=None if np.isnan(arrays.best_x).any() else arrays.best_x,
        best_f=float(arrays.best_f),
        failed=counts["failed"],
        failures=tuple(Failure(evaluation, x, reason) for (evaluation, reason), x in failures),
        history=History(arrays.history_nfev, arrays.history_fun),
    )

"""From what the user gives as `workers` to a crew."""

import inspect
import os
from collections.abc import Callable
from typing import Any

from l2e.core.errors import require
from l2e.core.workers.contract import AbstractCrew
from l2e.core.workers.futures import Futures
from l2e.core.workers.mapping import Mapping, joblib_map
from l2e.core.workers.processes import Processes
from l2e.core.workers.ray_tasks import RayTasks

ALLOWED = (
    "workers must be a number of processes, a concurrent.futures executor, a function like map, joblib.Parallel, a "
    "Dask client or the module ray; or such a thing with the number of points it takes at once, (executor, 8)"
)


def crew_size(workers: Any) -> int:
    """How many points are evaluated at once; 1 without workers.

    **Raises:** `TypeError` or `ValueError` that says what is allowed.
    """
    if workers is None:
        return 1
    if isinstance(workers, tuple):
        thing, count = _pair(workers)
        _kind(thing)
        return count
    if _is_count(workers):
        return _count(workers)
    return _SIZES[_kind(workers)](workers)


def make_crew(workers: Any, function: Callable[[Any], Any], timeout: float | None) -> AbstractCrew:
    """The crew that evaluates a function of one point."""
    size = crew_size(workers)
    thing = workers[0] if isinstance(workers, tuple) else workers
    if _is_count(thing):
        return Processes(function, size, timeout)
    kind = _kind(thing)
    if kind in ("map", "joblib"):
        if timeout is not None:
            raise ValueError("timeout needs workers that can be given up: a number of processes, or an executor")
        return Mapping(joblib_map(thing) if kind == "joblib" else thing, function, size)
    if kind == "ray":
        return RayTasks(function, size, timeout)
    return Futures(thing, function, size, timeout, {"pure": False} if kind == "dask" else None)


def _is_count(workers: Any) -> bool:
    return not isinstance(workers, bool) and hasattr(workers, "__index__")


def _count(workers: Any) -> int:
    count = int(workers)
    if count == -1:  # as in scipy and joblib: all there are
        return _cores()
    if count < 1:
        raise ValueError(f"workers must be at least 1, or -1 for one per core, got {count}")
    return count


def _pair(workers: tuple[Any, ...]) -> tuple[Any, int]:
    if len(workers) != 2 or not _is_count(workers[1]) or int(workers[1]) < 1:
        raise TypeError(f"{ALLOWED}; got {workers!r}")
    return workers[0], int(workers[1])


def _kind(workers: Any) -> str:
    package = (getattr(type(workers), "__module__", "") or "").partition(".")[0]
    if (inspect.ismodule(workers) and workers.__name__ == "ray") or package == "ray":
        return "ray"
    if package == "joblib" and hasattr(workers, "n_jobs"):
        return "joblib"
    if hasattr(workers, "submit"):
        return "dask" if package == "distributed" else "executor"
    if callable(workers):
        return "map"
    raise TypeError(f"{ALLOWED}; got {type(workers).__name__}")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _of_pool(workers: Any) -> int:
    """The size of the pool whose method or instance this is, if it says; else one per core."""
    pool = getattr(workers, "__self__", workers)
    size = getattr(pool, "_max_workers", None) or getattr(pool, "_processes", None)
    return size if isinstance(size, int) and size > 0 else _cores()


def _of_dask(client: Any) -> int:
    return max(1, sum(client.nthreads().values()))


def _of_ray(_: Any) -> int:
    ray = require("ray", "ray")
    if not ray.is_initialized():
        raise ValueError("start or join a cluster first: ray.init()")
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _of_joblib(parallel: Any) -> int:
    return max(1, require("joblib", "joblib").effective_n_jobs(parallel.n_jobs))


_SIZES: dict[str, Callable[[Any], int]] = {
    "executor": _of_pool,
    "map": _of_pool,
    "dask": _of_dask,
    "ray": _of_ray,
    "joblib": _of_joblib,
}

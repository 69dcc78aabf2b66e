"""What one evaluation costs besides itself: a function that does nothing, by each kind of workers, two at once.

    python benchmarks/task_overhead.py --evaluations 400 --dimension 20

Wall time and CPU time of this process for each evaluation; the random search asks for large batches, so that the
method is not what takes the time. Engines that are not installed are left out. The number of bytes is that of the
pickled message to a worker process and of its answer.
"""

import argparse
import contextlib
import importlib.util
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

import l2e
from l2e.core.workers.contract import measured


def nothing(x: np.ndarray) -> float:
    """The sum: some microseconds."""
    return float(x.sum())


@contextlib.contextmanager
def dask() -> Iterator[Any]:
    """A client of two processes."""
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def ray() -> Iterator[Any]:
    """A cluster of two processes."""
    import ray as engine  # pyright: ignore[reportMissingImports]

    engine.init(num_cpus=2, log_to_driver=False)
    try:
        yield engine
    finally:
        engine.shutdown()


KINDS: dict[str, Any] = {
    "(map, 2)": lambda: contextlib.nullcontext((map, 2)),
    "threads": lambda: ThreadPoolExecutor(2),
    "workers=2": lambda: contextlib.nullcontext(2),
    "ProcessPoolExecutor": lambda: ProcessPoolExecutor(2),
    "Dask": dask,
    "Ray": ray,
}
NEEDED = {"Dask": "distributed", "Ray": "ray"}


def cost(workers: Any, dimension: int, evaluations: int) -> tuple[float, float]:
    """Microseconds of wall time and of our CPU time for each evaluation, without the start of the workers."""
    times: list[tuple[float, float]] = []
    l2e.minimize(
        nothing,
        bounds=[(-5.0, 5.0)] * dimension,
        budget=evaluations,
        rng=0,
        method="random-search",
        workers=workers,
        callback=lambda state: times.append((time.perf_counter(), time.process_time())),
    )
    batches = len(times) - 1
    done = evaluations * batches / len(times)
    wall, cpu = (1e6 * (last - first) / done for first, last in zip(times[0], times[-1], strict=True))
    return wall, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=400)
    parser.add_argument("--dimension", type=int, default=20)
    given = parser.parse_args()
    point = np.zeros(given.dimension)
    sent = len(pickle.dumps((0, point)))
    back = len(pickle.dumps(("done", measured(nothing, 0, point))))
    print(f"{given.dimension} dimensions: {sent} bytes to a process of ours, {back} back")
    print("workers              microseconds per evaluation  of our CPU time")
    for name, make in KINDS.items():
        if name in NEEDED and importlib.util.find_spec(NEEDED[name]) is None:
            continue
        with make() as workers:
            wall, cpu = cost(workers, given.dimension, given.evaluations)
        print(f"{name:19}  {wall:27.0f}  {cpu:15.0f}", flush=True)


if __name__ == "__main__":
    main()

"""How busy population methods keep their workers: the ideal number of rounds over the number used.

    python benchmarks/populations.py --workers 8 --dimension 10 --budget 4000
    python benchmarks/populations.py --methods cmaes,lshade --budget 400 --seconds 0.2

A batch of n points takes n / workers rounds, rounded up. With `--seconds` the evaluations really sleep that long in
processes of ours, and the time of all rounds is compared with the ideal time; it begins with the second batch, when
processes and compiled programs are warm.
"""

import argparse
import functools
import time
from typing import Any

import numpy as np

import l2e

METHODS = "random-search,de,de-pbest,pso,sahlpso,lshade,cmaes,cmaes-ipop,cmaes-bipop,sep-cmaes,lm-ma-es,pycma,scipy-de"


def bowl(x: np.ndarray, seconds: float = 0.0) -> float:
    if seconds:
        time.sleep(seconds)
    return float(((x - 1) ** 2 * np.arange(1, len(x) + 1)).sum() + 10 * np.sin(3 * x).sum())


def search(method: str, given: argparse.Namespace, workers: Any, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of the batches, and when each was done."""
    sizes, times = [], []

    def note(state: Any) -> None:
        sizes.append(len(state.points))
        times.append(time.monotonic())

    l2e.minimize(
        functools.partial(bowl, seconds=seconds),
        bounds=[(-5, 5)] * given.dimension,
        budget=given.budget,
        rng=0,
        method=method,
        workers=workers,
        callback=note,
    )
    return np.asarray(sizes), np.asarray(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--budget", type=int, default=4000)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--seconds", type=float, default=0.0, help="that an evaluation really takes")
    given = parser.parse_args()
    print("method          batches  points in them  of ideal" + ("  of ideal time" if given.seconds else ""))
    for method in given.methods.split(","):
        workers = given.workers if given.seconds else (map, given.workers)
        sizes, times = search(method, given, workers, given.seconds)
        ideal = sizes.sum() / given.workers / np.ceil(sizes / given.workers).sum()
        line = f"{method:14}  {len(sizes):7}  {sizes.min():5} to {sizes.max():5}  {ideal:8.3f}"
        if given.seconds:
            spent = times[-1] - times[0]
            line += f"  {sizes[1:].sum() / given.workers * given.seconds / spent:13.3f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()

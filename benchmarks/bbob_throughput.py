"""BBOB throughput: CPU time per point of `l2e.problems.bbob` and of ioh's batch evaluation, side by side.

    python benchmarks/bbob_throughput.py --points 1000 --dimension 10 --repeats 50

Both get the same float64 numpy batch and give back plain values. The two are measured in turn, repeat by repeat, so a
busy machine disturbs both alike; compilation is not counted, CPU time (all threads) is.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import ioh
import numpy as np

from l2e.problems._bbob.suite import NAMES, bbob


def main() -> None:
    """Print one row per function and the geometric mean of the ratios."""
    arguments = _parse()
    points = np.random.default_rng(0).uniform(-5, 5, (arguments.points, arguments.dimension))
    print(f"{arguments.points} points, {arguments.dimension}-D, CPU time, median of {arguments.repeats} repeats")
    print(f"{'function':<34}{'ioh us/point':>14}{'l2e us/point':>14}{'ratio':>8}")
    ratios = []
    for function, name in enumerate(NAMES, start=1):
        theirs, ours = _measure(function, points, arguments.repeats)
        ratios.append(theirs / ours)
        print(f"f{function:<3}{name:<30}{1e6 * theirs:>14.3f}{1e6 * ours:>14.3f}{ratios[-1]:>8.2f}")
    print(f"{'geometric mean of the ratios':<62}{statistics.geometric_mean(ratios):>8.2f}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1000, help="points per batch (default 1000)")
    parser.add_argument("--dimension", type=int, default=10, help="coordinates per point (default 10)")
    parser.add_argument("--repeats", type=int, default=50, help="batches per function (default 50)")
    return parser.parse_args()


def _measure(function: int, points: np.ndarray, repeats: int) -> tuple[float, float]:
    """CPU seconds per point of both, after one call each that is not counted; the values must agree."""
    dimension = points.shape[1]
    theirs: Any = ioh.get_problem(function, 1, dimension, ioh.ProblemClass.BBOB)
    ours = bbob(function, 1, dimension)
    np.testing.assert_allclose(ours(points), np.asarray(theirs(points)), rtol=1e-7)
    times = [(_seconds(theirs, points), _seconds(ours, points)) for _ in range(repeats)]
    per_point = np.median(np.asarray(times), axis=0) / len(points)
    return float(per_point[0]), float(per_point[1])


def _seconds(problem: Callable[[Any], Any], points: np.ndarray) -> float:
    start = time.process_time()
    problem(points)
    return time.process_time() - start


if __name__ == "__main__":
    main()

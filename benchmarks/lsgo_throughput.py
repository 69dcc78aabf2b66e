"""LSGO throughput: CPU time per point of `l2e.problems.lsgo` in batches and of C++ code point by point, side by side.

    python benchmarks/lsgo_throughput.py --points 100 --repeats 20

The C++ side is `lsgo_reference.cpp` beside this file: our own plain implementation of the report's formulas, compiled
here with g++ -O2, not the competition's code (which is GPL and no dependency of ours). Both sides get the same points
and must give the same values. They are measured in turn, function by function, in CPU time; compilation is not counted.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from l2e.problems._lsgo.suite import LSGO, NAMES, lsgo

SOURCE = Path(__file__).parent / "lsgo_reference.cpp"
ELLIPTIC, RASTRIGIN, ACKLEY, SCHWEFEL, SPHERE, ROSENBROCK = range(1, 7)
GROUPED = {4: ELLIPTIC, 5: RASTRIGIN, 6: ACKLEY, 7: SCHWEFEL, 8: ELLIPTIC, 9: RASTRIGIN, 10: ACKLEY}
GROUPED |= dict.fromkeys((11, 13, 14), SCHWEFEL)
UNGROUPED = {1: ELLIPTIC, 2: RASTRIGIN, 3: ACKLEY, 4: ELLIPTIC, 5: RASTRIGIN, 6: ACKLEY, 7: SPHERE, 12: ROSENBROCK}
UNGROUPED |= {15: SCHWEFEL}


def main() -> None:
    """Print one row per function and the geometric mean of the ratios."""
    arguments = _parse()
    with tempfile.TemporaryDirectory() as folder:
        program = _compiled(Path(folder))
        print(f"{arguments.points} points, CPU time, median of {arguments.repeats} repeats")
        print(f"{'function':<54}{'C++ us/point':>14}{'l2e us/point':>14}{'ratio':>8}")
        ratios = []
        for function, name in enumerate(NAMES, start=1):
            theirs, ours = _measure(program, function, arguments.points, arguments.repeats)
            ratios.append(theirs / ours)
            print(f"f{function:<3}{name:<50}{1e6 * theirs:>14.2f}{1e6 * ours:>14.2f}{ratios[-1]:>8.2f}", flush=True)
    print(f"{'geometric mean of the ratios':<82}{statistics.geometric_mean(ratios):>8.2f}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100, help="points per batch (default 100)")
    parser.add_argument("--repeats", type=int, default=20, help="batches per function (default 20)")
    return parser.parse_args()


def _compiled(folder: Path) -> Path:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        sys.exit("no C++ compiler found: this benchmark compiles its reference with g++; install one and run it again")
    program = folder / "lsgo_reference"
    subprocess.run([compiler, "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


def _measure(program: Path, function: int, points: int, repeats: int) -> tuple[float, float]:
    """CPU seconds per point of both; the values must agree."""
    problem = lsgo(function)
    half = problem.space.upper[0]
    batch = np.random.default_rng(0).uniform(-half, half, (points, problem.dimension))
    theirs, values = _reference(program, problem, batch, repeats)
    np.testing.assert_allclose(problem(batch), values, rtol=1e-9)
    return theirs / points, statistics.median(_seconds(problem, batch) for _ in range(repeats)) / points


def _reference(program: Path, problem: LSGO, batch: np.ndarray, repeats: int) -> tuple[float, np.ndarray]:
    """Median CPU seconds of a batch, and its values."""
    parts = _parts(problem)
    head = np.asarray([problem.dimension, len(parts), len(batch), repeats])
    sent = [head, *(array for part in parts for array in part), batch]
    stream = np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in sent]).tobytes()
    told = subprocess.run([str(program)], input=stream, capture_output=True, check=True).stdout.split()
    numbers = np.asarray([float(word) for word in told])
    return float(np.median(numbers[:repeats])), numbers[repeats:]


def _parts(problem: LSGO) -> list[list[np.ndarray]]:
    """Each group, and the variables that belong to none, as the C++ side reads them."""
    parts = []
    for groups in problem.parameters.groups:
        for members, optimum, weight in zip(groups.members, groups.optima, groups.weights, strict=True):
            head = np.asarray([GROUPED[problem.function], weight, len(members), 1])
            parts.append([head, members, optimum, groups.rotation])
    if problem.function in UNGROUPED:
        rest = problem.parameters.rest
        members = np.arange(problem.dimension) if rest is None else np.asarray(rest)
        optimum = np.asarray(problem.parameters.x_opt)[members]
        parts.append([np.asarray([UNGROUPED[problem.function], 1, len(members), 0]), members, optimum])
    return parts


def _seconds(problem: LSGO, batch: np.ndarray) -> float:
    start = time.process_time()
    problem(batch)
    return time.process_time() - start


if __name__ == "__main__":
    main()

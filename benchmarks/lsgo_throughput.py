"""LSGO throughput: CPU time per point of `l2e.problems.lsgo` in batches and of C++ code point by point, side by side.

    python benchmarks/lsgo_throughput.py --points 100 --repeats 20 --official-python PATH

The C++ side is `lsgo_reference.cpp` beside this file: our own plain implementation of the report's formulas, compiled
here with g++ -O2. With `--official-python` the competition's own C++ code is measured, too: it is GPL and no dependency
of ours, so it runs in the interpreter that is named, into which you have installed it (Python up to 3.12):

    python -m venv official
    official/bin/pip install cython wheel numpy "setuptools<81"
    official/bin/pip install --no-build-isolation --no-deps cec2013lsgo

All sides get the same points and must give the same values. They are measured in turn, function by function, in CPU
time; compilation is not counted.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np

from l2e.problems._lsgo.suite import LSGO, NAMES, lsgo

SOURCE = Path(__file__).parent / "lsgo_reference.cpp"
OFFICIAL = Path(__file__).parent / "lsgo_official.py"
Rival: TypeAlias = Callable[[LSGO, np.ndarray], tuple[float, np.ndarray]]
"""CPU seconds of a batch, and its values."""
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
        rivals = {"C++": lambda problem, batch: _reference(program, problem, batch, arguments.repeats)}
        data = None
        if arguments.official_python is not None:
            command = [arguments.official_python, str(OFFICIAL)]
            data = subprocess.run([*command, "data"], capture_output=True, check=True, text=True).stdout.strip()
            rivals["official"] = lambda problem, batch: _official(command, problem, batch, arguments.repeats)
        print(f"{'us/point of':<54}{'l2e':>9}" + "".join(f"{name:>10}{'ratio':>8}" for name in rivals))
        ratios: dict[str, list[float]] = {name: [] for name in rivals}
        for function, name in enumerate(NAMES, start=1):
            ours, theirs = _measure(lsgo(function, data=data), rivals, arguments.points, arguments.repeats)
            for rival, seconds in theirs.items():
                ratios[rival].append(seconds / ours)
            cells = "".join(f"{1e6 * seconds:>10.2f}{seconds / ours:>8.2f}" for seconds in theirs.values())
            print(f"f{function:<3}{name:<50}{1e6 * ours:>9.2f}{cells}", flush=True)
    means = "".join(f"{statistics.geometric_mean(found):>18.2f}" for found in ratios.values())
    print(f"{'geometric mean of the ratios':<63}{means}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100, help="points per batch (default 100)")
    parser.add_argument("--repeats", type=int, default=20, help="batches per function (default 20)")
    parser.add_argument("--official-python", help="an interpreter in which cec2013lsgo is installed")
    return parser.parse_args()


def _compiled(folder: Path) -> Path:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        sys.exit("no C++ compiler found: this benchmark compiles its reference with g++; install one and run it again")
    program = folder / "lsgo_reference"
    subprocess.run([compiler, "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


def _measure(problem: LSGO, rivals: dict[str, Rival], points: int, repeats: int) -> tuple[float, dict[str, float]]:
    """CPU seconds per point of ours and of each rival; the values must agree."""
    half = problem.space.upper[0]
    batch = np.random.default_rng(0).uniform(-half, half, (points, problem.dimension))
    told = {name: rival(problem, batch) for name, rival in rivals.items()}
    for name, (_, values) in told.items():
        np.testing.assert_allclose(problem(batch), values, rtol=1e-9, err_msg=name)
    ours = statistics.median(_seconds(problem, batch) for _ in range(repeats)) / points
    return ours, {name: seconds / points for name, (seconds, _) in told.items()}


def _reference(program: Path, problem: LSGO, batch: np.ndarray, repeats: int) -> tuple[float, np.ndarray]:
    """Median CPU seconds of a batch, and its values."""
    parts = _parts(problem)
    head = np.asarray([problem.dimension, len(parts), len(batch), repeats])
    sent = [head, *(array for part in parts for array in part), batch]
    return _told([str(program)], sent, repeats)


def _official(command: list[str], problem: LSGO, batch: np.ndarray, repeats: int) -> tuple[float, np.ndarray]:
    """The same of the competition's code."""
    return _told(command, [np.asarray([problem.function, len(batch), repeats]), batch], repeats)


def _told(command: list[str], sent: list[np.ndarray], repeats: int) -> tuple[float, np.ndarray]:
    """What a program says of the numbers that it is sent: CPU seconds of each repeat, then the values."""
    stream = np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in sent]).tobytes()
    told = subprocess.run(command, input=stream, capture_output=True, check=True).stdout.split()
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

"""What the default method makes of several workers, on random landscapes of the training families.

    python benchmarks/parallel.py --workers 8 --per-dimension 50 --dimensions 2,5,10,20 --each 2

For each landscape two searches with the same number of evaluations, one serial and one told of the workers: rounds (a
batch of n points takes n / workers of them, rounded up) over the ideal number, and the share of the targets
f* + 10^2, ..., f* + 10^-8 that are reached. The third number is what the serial search has reached after as many
rounds as the other one needs in the ideal case, one point in each.
"""

import argparse
import zlib
from collections.abc import Callable

import numpy as np

from l2e.core.program import ProgramSearch
from l2e.portfolio.method import Portfolio
from l2e.problems.landscapes import FAMILIES, draw_landscape
from l2e.report.targets import TARGETS


def share(gap: float) -> float:
    """The share of targets at or above a gap."""
    return float(np.mean(gap <= TARGETS))


def play(method: Portfolio, values: Callable[[np.ndarray], np.ndarray], space, budget: int, seed: int):
    """The batches of a search, and the best value after each."""
    search = ProgramSearch(method, space, seed, budget, None)
    sizes, best = [], []
    lowest = np.inf
    while sum(sizes) < budget:
        points = search.ask()[: budget - sum(sizes)]
        got = values(points)
        lowest = min(lowest, float(got.min()))
        sizes.append(len(points))
        best.append(lowest)
        search.tell(got)
    return np.asarray(sizes), np.asarray(best)


def compare(family: str, dimension: int, number: int, per_dimension: int, workers: int) -> np.ndarray:
    """Rounds over the ideal, share of targets with workers, serial, and serial after as many rounds."""
    # crc32 and not hash, which differs from process to process
    rng = np.random.default_rng((zlib.crc32(family.encode()), dimension, number))
    landscape = draw_landscape(rng, family, dimension)
    budget, method = per_dimension * dimension, Portfolio.trained()

    def values(points: np.ndarray) -> np.ndarray:
        return np.asarray(landscape.values(np, points))

    serial, serial_best = play(method, values, landscape.space, budget, number)
    sizes, best = play(method.with_workers(workers), values, landscape.space, budget, number)
    ideal = budget / workers
    few = serial_best[max(np.searchsorted(np.cumsum(serial), ideal, side="right") - 1, 0)]
    f_opt = landscape.optimum.f
    shares = [share(value - f_opt) for value in (best[-1], serial_best[-1], few)]
    serial_rounds = np.ceil(serial / workers).sum()
    return np.asarray([np.ceil(sizes / workers).sum() / ideal, serial_rounds / ideal, *shares])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--per-dimension", type=int, default=50)
    parser.add_argument("--dimensions", default="2,5,10,20")
    parser.add_argument("--each", type=int, default=2, help="landscapes of each family and dimension")
    parser.add_argument("--first", type=int, default=0, help="number of the first of them")
    given = parser.parse_args()
    print("dimension  rounds/ideal  (serial's batches)  targets  serial  difference  serial in as many rounds")
    everything = []
    for dimension in (int(d) for d in given.dimensions.split(",")):
        rows = np.asarray(
            [
                compare(family, dimension, given.first + k, given.per_dimension, given.workers)
                for family in FAMILIES
                for k in range(given.each)
            ]
        )
        everything.append(rows)
        say(str(dimension), rows)
    say("all", np.concatenate(everything))


def say(name: str, rows: np.ndarray) -> None:
    """One line: means, and the standard error of the difference."""
    rounds, before, ours, serial, few = rows.mean(axis=0)
    error = (rows[:, 2] - rows[:, 3]).std(ddof=1) / np.sqrt(len(rows))
    print(
        f"{name:>9}  {rounds:12.2f}  {before:18.2f}  {ours:7.3f}  {serial:6.3f}  {ours - serial:+.3f} +- {error:.3f}"
        f"  {few:9.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()

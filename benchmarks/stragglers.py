"""A thousand workers that straggle and die, in virtual time: what order="asked" and order="arrival" cost.

    python benchmarks/stragglers.py --workers 1000 --evaluations 1000000

The code that hands out points, retries and counts is the real one (`Evaluator`, `Desk`); only the workers are made up:
an evaluation takes a log-normal time of mean 1, and a share of them dies halfway and is done again. Population of
uniform random points, a multiple of the workers, so that the method itself is never the bottleneck.
"""

import argparse
import heapq
import math
import time

import numpy as np

from l2e.core.box import box
from l2e.core.desk import Desk
from l2e.core.evaluator import Evaluator
from l2e.core.search import AbstractSearch
from l2e.core.stops import StopSearch
from l2e.core.workers.contract import AbstractCrew, Outcome


class VirtualCrew(AbstractCrew):
    """Workers in virtual time: `now` is the clock."""

    def __init__(self, size: int, spread: float, deaths: float, seed: int):
        self.size, self.now, self.busy = size, 0.0, 0.0
        self._rng, self._spread, self._deaths = np.random.default_rng(seed), spread, deaths
        self._running: list[tuple[float, int, bool]] = []

    @property
    def free(self) -> int:
        return self.size - len(self._running)

    def submit(self, number: int, point: np.ndarray) -> None:
        takes = math.exp(self._spread * self._rng.standard_normal() - self._spread**2 / 2)
        dies = bool(self._rng.random() < self._deaths)
        takes *= 0.5 if dies else 1.0
        self.busy += takes
        heapq.heappush(self._running, (self.now + takes, number, dies))

    def wait(self, seconds: float | None = None) -> list[Outcome]:
        if not self._running:
            return []
        self.now, number, dies = heapq.heappop(self._running)
        if dies:
            return [Outcome(number, math.nan, "ended its process: simulated", died=True)]
        return [Outcome(number, 1.0)]

    def abandon(self) -> None:
        self._running = []

    def close(self) -> None:
        self.abandon()


class Uniform(AbstractSearch):
    """Batches of uniform random points."""

    def __init__(self, size: int, seed: int):
        self._rng, self._size = np.random.default_rng(seed), size
        self._points = self._rng.uniform(-1, 1, (size, 2))

    def tell(self, values: np.ndarray) -> None:
        self._points = self._rng.uniform(-1, 1, (self._size, 2))


def asked(crew: VirtualCrew, evaluations: int, batch: int) -> Evaluator:
    """Batch by batch."""
    evaluate, search = Evaluator(lambda x: 0.0, box([(-1.0, 1.0)] * 2), evaluations, crew=crew), Uniform(batch, 0)
    while evaluate.remaining:
        search.tell(evaluate(search.ask()[: evaluate.remaining]))
    return evaluate


def arrival(crew: VirtualCrew, evaluations: int, batch: int) -> Evaluator:
    """Each value as it arrives; free workers have points of companions."""
    evaluate = Evaluator(lambda x: 0.0, box([(-1.0, 1.0)] * 2), evaluations, crew=crew)
    desk, apart = Desk(Uniform(batch, 0), lambda k: Uniform(batch, k)), evaluate.apart
    assert apart is not None
    try:
        while evaluate.remaining:
            while apart.free > 0 and evaluate.remaining > desk.out:
                apart.submit(desk.next())
            for number, value in apart.arrived():
                desk.tell(number, value)
    except StopSearch:
        pass
    return evaluate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--deaths", type=float, default=0.001)
    given = parser.parse_args()
    print("times          order    of ideal time  workers busy  failed  microseconds of ours per evaluation")
    for name, spread in (("spread 0.1", 0.1), ("spread 1", 1.0)):
        for run in (asked, arrival):
            crew = VirtualCrew(given.workers, spread, given.deaths, 0)
            began = time.process_time()
            evaluate = run(crew, given.evaluations, 4 * given.workers)
            ours = (time.process_time() - began) / given.evaluations * 1e6
            ideal = given.evaluations / given.workers
            busy = crew.busy / (crew.now * given.workers)
            shown = f"{name:13}  {run.__name__:7}  {crew.now / ideal:13.2f}  {busy:12.2f}  {evaluate.failed:6d}"
            print(f"{shown}  {ours:.0f}", flush=True)


if __name__ == "__main__":
    main()

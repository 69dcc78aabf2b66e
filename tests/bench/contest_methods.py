"""Methods that misbehave, named in experiments as `contest_methods:name`; workers find them through PYTHONPATH."""

import dataclasses
import os
import time
from pathlib import Path

import numpy as np

from l2e.core.adapter import AbstractAdapter
from l2e.core.stops import StopSearch


@dataclasses.dataclass(frozen=True)
class Misbehaving(AbstractAdapter):
    how: str

    def run(self, evaluate, space, seed, start=None) -> str:
        evaluate(np.full((3, space.dimension), 0.5))
        if self.how == "raises":
            raise RuntimeError("something broke inside the method")
        if self.how == "hangs":
            time.sleep(600)
        if self.how == "nan":
            evaluate(np.full((2, space.dimension), np.nan))
        if self.how == "dies":
            os._exit(7)
        if self.how == "greedy":  # ignores the refusal, and would like to go on
            for _ in range(100):
                try:
                    evaluate(np.full((5, space.dimension), 1.0))
                except StopSearch:
                    continue
        if self.how == "talkative":
            raise RuntimeError(1_000_000 * "x")
        if self.how == "waits":
            wait_after_two_runs(Path(os.environ["CONTEST_GO"]))
        return "done"


def wait_after_two_runs(go: Path) -> None:
    """Leave a mark for each run, and wait for the file `go` when there are two."""
    while len(marks := list(go.parent.glob("mark-*"))) >= 2 and not go.exists():
        time.sleep(0.02)
    (go.parent / f"mark-{len(marks)}").touch()


def raises(dimension, budget):
    return Misbehaving("raises")


def hangs(dimension, budget):
    return Misbehaving("hangs")


def nan(dimension, budget):
    return Misbehaving("nan")


def dies(dimension, budget):
    return Misbehaving("dies")


def greedy(dimension, budget):
    return Misbehaving("greedy")


def talkative(dimension, budget):
    return Misbehaving("talkative")


def waits(dimension, budget):
    return Misbehaving("waits")

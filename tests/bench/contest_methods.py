"""Methods that misbehave, named in experiments as `contest_methods:name`; workers find them through PYTHONPATH."""

import os
import time

import numpy as np

from l2e.contestant import AbstractContestant
from l2e.evaluator import StopSearch


class Misbehaving(AbstractContestant):
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
        if self.how == "slow":
            time.sleep(0.3)
        return "done"


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


def slow(dimension, budget):
    return Misbehaving("slow")

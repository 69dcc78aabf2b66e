"""One of several processes of a training: python shared_training.py coordinator processes process folder."""

import sys
from pathlib import Path

import jax
from rich.console import Console

from helpers.toy import shifted_bowls, toy
from l2e.meta import FullBPTT, LogGap, TrainSpec
from l2e.meta.distributed import connect
from l2e.meta.run import run


def specification():
    return TrainSpec(
        toy(),
        shifted_bowls(2),
        LogGap(),
        FullBPTT(),
        steps=4,
        batch=2,
        generations=5,
        learning_rate=0.03,
        validate_every=2,
        validation_batch=2,
    )


def main():
    coordinator, processes, process, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    connect(coordinator, processes, process)
    assert jax.process_count() == processes
    finished = run(specification(), 3, folder, {}, Console(quiet=True), show=False)
    print(float(finished.state.weights.optimizer.weights.sum()))


if __name__ == "__main__":
    main()

"""A search that is killed and goes on: the same call with the same checkpoint file resumes it."""

import multiprocessing
import os
import tempfile
from pathlib import Path

import numpy as np

import l2e

PROBLEM = {"bounds": [(-5, 5)] * 5, "budget": 500, "rng": 0}


def objective(x: np.ndarray) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def search_and_die(checkpoint: Path) -> None:
    """Search in a process that dies without a word at evaluation 200, as under kill -9 or a power cut."""
    calls = 0

    def dying(x: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        if calls == 200:
            os._exit(9)
        return objective(x)

    l2e.minimize(dying, checkpoint=checkpoint, **PROBLEM)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "run.l2e"
        process = multiprocessing.get_context("spawn").Process(target=search_and_die, args=(checkpoint,))
        process.start()
        process.join()
        print(f"the process died with exit code {process.exitcode}; saved: {checkpoint.stat().st_size} bytes")

        calls = 0

        def counted(x: np.ndarray) -> float:
            nonlocal calls
            calls += 1
            return objective(x)

        resumed = l2e.minimize(counted, checkpoint=checkpoint, **PROBLEM)
        print(f"resumed: f = {resumed.fun:.3e} after {resumed.nfev} evaluations, {calls} of them made now")
    whole = l2e.minimize(objective, **PROBLEM)
    print(f"uninterrupted: f = {whole.fun:.3e}; the same point: {np.array_equal(whole.x, resumed.x)}")


if __name__ == "__main__":
    main()

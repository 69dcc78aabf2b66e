"""Records as a runner would write them, made of known numbers."""

import numpy as np

from l2e.bench.record import RunRecord, RunSpec, now, versions
from l2e.problems import bbob


def made(method: str, function: int, seed: int, gaps, at=None, budget: int = 100, error=None, dimension: int = 2):
    """A run on instance 1 that reached these gaps at these evaluations."""
    spec = RunSpec(f"bbob:f{function}:i1:d{dimension}", method, "digest", seed, budget)
    at = np.arange(1, len(gaps) + 1) if at is None else np.asarray(at)
    values = np.asarray(gaps, float) + bbob(function=function, instance=1, dimension=dimension).optimum.f
    reason = "budget" if error is None else "error"
    return RunRecord(spec, at, values, budget, 0, reason, 0.5, 0.6, "host", versions(), error, now())


def contest(methods=("good", "middle", "bad"), functions=(1, 6, 10, 15, 21), seeds: int = 4) -> list[RunRecord]:
    """Methods that differ by factors of 100 at the end, on some functions."""
    rng = np.random.default_rng(0)
    records = []
    for place, method in enumerate(methods):
        for function in functions:
            for seed in range(seeds):
                last = 10.0 ** (2 * place - 3) * np.exp(0.2 * rng.standard_normal())
                records.append(made(method, function, seed, np.geomspace(500, last, 12), np.arange(1, 97, 8)))
    return records

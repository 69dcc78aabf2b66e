"""Drive experts on plain functions of one point."""

import numpy as np

from l2e.portfolio.run import Run


def drive(program, function, limit):
    """Answer a program's batches until it ends or `limit` evaluations are used; its value, or None."""
    used, values = 0, None
    while True:
        try:
            points = program.send(values)
        except StopIteration as end:
            return end.value
        if used + len(points) > limit:
            return None
        used += len(points)
        values = np.asarray([function(x) for x in points])


def fresh_run(dimension, budget, seed=0, policy=None):
    return Run(dimension, budget, np.random.default_rng(seed), policy)


def rotation(dimension, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dimension, dimension)))[0]


def valley(x):
    y = rotation(len(x)) @ np.asarray(x)
    return float((100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2).sum())


def searched(router, function, start, budget, seed=0, policy=None):
    """The points that a router's search asks for, and what it knows in the end."""
    seen = []

    def watched(x):
        seen.append(np.asarray(x).copy())
        return function(x)

    run = fresh_run(len(start), budget, seed, policy)
    drive(router.search(run, start), watched, budget)
    return np.asarray(seen), run

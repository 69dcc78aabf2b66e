"""What tests of the search beyond 100 dimensions share: a run without a counter, and a bowl."""

import numpy as np

from l2e.portfolio.run import Run

D = 120
PLACE = np.random.default_rng(2).uniform(-3, 3, D)


def drive(steps, function):
    """Play a generator to its end; how many rows the largest batch had, and what it returned."""
    values, largest = None, 0
    try:
        while True:
            points = steps.send(values)
            assert (np.abs(points) <= 5).all()
            largest = max(largest, len(points))
            values = function(points)
    except StopIteration as end:
        return largest, end.value


def begun(function, budget=10**6, dimension=D):
    run = Run(dimension, budget, np.random.default_rng(0))
    drive(run.evaluate_aside(np.zeros(dimension)), function)
    return run


def bowl(points):
    return ((points - PLACE[: points.shape[1]]) ** 2).sum(axis=1)

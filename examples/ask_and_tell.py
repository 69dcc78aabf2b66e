"""The loop in your own hands: evaluate a batch however you like, here with a pool of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import l2e


def slow_simulation(x: np.ndarray) -> float:
    return float(np.abs(x).sum() + np.sin(5 * x).sum())


opt = l2e.Optimizer(bounds=[(-3, 3)] * 4, method="lshade", budget=1500, rng=1)
with ThreadPoolExecutor() as pool:
    while not opt.stop():
        points = opt.ask()
        opt.tell(points, list(pool.map(slow_simulation, points)))
print(opt.stop(), opt.result().fun)

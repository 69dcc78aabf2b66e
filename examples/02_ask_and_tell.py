"""Keep the loop in your own hands: evaluate each batch in a pool of processes."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import l2e


def simulate(x: np.ndarray) -> float:
    """Stands for a simulator that keeps one core busy."""
    return float(np.abs(x).sum() + np.sin(5 * x).sum())


def main() -> None:
    # Batches are as large as the method makes them. Many of the default method's are a single point; with many workers
    # take method="lshade" or "cmaes" (pip install '.[jax]'), which ask for whole generations.
    opt = l2e.Optimizer(bounds=[(-3, 3)] * 4, budget=600, rng=1)
    sizes = []
    # "spawn" starts fresh processes; a forked child could inherit threads that do not survive the fork.
    with ProcessPoolExecutor(max_workers=2, mp_context=multiprocessing.get_context("spawn")) as pool:
        while not opt.stop():
            points = opt.ask()  # shape (n, d); the same batch until it is told
            sizes.append(len(points))
            opt.tell(points, list(pool.map(simulate, points)))
    result = opt.result()
    print(f"stopped by {opt.stop()} after {len(sizes)} batches of 1 to {max(sizes)} points")
    print(f"f = {result.fun:.6f} at {result.x.round(4)}")


if __name__ == "__main__":  # spawned processes import this file
    main()

"""A simulator that takes a while, evaluated by four processes at once."""

import time

import l2e


def simulate(x):
    time.sleep(0.01)
    return float(((x - 0.3) ** 2).sum())


if __name__ == "__main__":
    began = time.perf_counter()
    result = l2e.minimize(simulate, bounds=[(-1, 1)] * 6, budget=80, rng=0, workers=4, timeout=30)
    print(f"{result.fun:.2g} after {result.nfev} evaluations in {time.perf_counter() - began:.1f} s")

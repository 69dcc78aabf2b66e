"""What happens when the objective raises, returns NaN, hangs, or is noisy."""

import time
import warnings

import numpy as np

import l2e

BOUNDS = [(-5, 5)] * 4
random = np.random.default_rng(0)


def fragile(x: np.ndarray) -> float:
    """Fails in three ways in three corners of the box."""
    if x[0] > 4:
        raise ArithmeticError("the solver diverged")
    if x[1] > 4:
        return float("nan")
    if x[2] > 4:
        time.sleep(0.2)
    return float(((x - 1) ** 2).sum())


def exact(x: np.ndarray) -> float:
    return float(((x - 1) ** 2).sum())


def noisy(x: np.ndarray) -> float:
    """The same function, measured with an error of 0.1."""
    return exact(x) + 0.1 * random.standard_normal()


def main() -> None:
    warnings.simplefilter("ignore", RuntimeWarning)  # the first failure of a search is also a RuntimeWarning

    result = l2e.minimize(fragile, bounds=BOUNDS, budget=400, rng=0, timeout=0.1)
    print(f"fragile: f = {result.fun:.1e}, {result.n_failed} of {result.nfev} evaluations failed, for example:")
    for reason in sorted({failure.reason for failure in result.failures}):
        print(f"  {reason}")

    try:
        l2e.minimize(fragile, bounds=BOUNDS, budget=400, rng=0, timeout=0.1, on_error="raise")
    except l2e.ObjectiveError as error:
        found = error.result
        print(f"raised: {error}; the best until then was {found.fun if found else None}")

    result = l2e.minimize(noisy, bounds=BOUNDS, budget=400, rng=0)
    print(f"noisy: {result.message}")
    print(f"  recommended: {result.fun:.3f} ± {result.fun_error:.3f}; the true value there is {exact(result.x):.3f}")
    lucky = result.evaluations.x[np.argmin(result.evaluations.f)]
    print(f"  the luckiest value seen is {result.evaluations.f.min():.3f}; the true value there is {exact(lucky):.3f}")
    for warning in result.warnings:
        print(f"  {warning}")


if __name__ == "__main__":  # with a timeout the function is called in a process of its own, which imports this file
    main()

"""Hundreds of small problems: one program for all of them beside one search after the other.

    python benchmarks/many.py

Shifted and scaled bowls in JAX, in 3-D, 300 evaluations each, native CMA-ES and DE. CPU seconds of everything after a
first call of the same shapes, which compiles; and of that first call. The ratio is what `together` saves.
"""

import argparse
import time

import jax.numpy as jnp
import numpy as np

import l2e

DIMENSION = 3


def bowl(x, numbers):
    return jnp.sum(jnp.exp(numbers[1]) * (x - numbers[0]) ** 2)


def problems(count: int, seed: int) -> list[l2e.JAXFunction]:
    rng = np.random.default_rng(seed)
    space = l2e.box([(-5, 5)] * DIMENSION)
    return [l2e.JAXFunction(bowl, space, rng.uniform(-2, 2, (2, DIMENSION))) for _ in range(count)]


def seconds(count: int, together: bool, method: str, seed: int, budget: int) -> tuple[float, float]:
    """CPU seconds, and the median of the values found."""
    began = time.process_time()
    results = l2e.minimize_many(problems(count, seed), rng=0, budget=budget, method=method, together=together)
    return time.process_time() - began, float(np.median([result.fun for result in results]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", nargs="+", type=int, default=[20, 200])
    parser.add_argument("--methods", nargs="+", default=["cmaes", "de"])
    parser.add_argument("--budget", type=int, default=300)
    args = parser.parse_args()
    for method in args.methods:
        for count in args.counts:
            first = {how: seconds(count, how, method, 0, args.budget)[0] for how in (False, True)}
            again = {how: seconds(count, how, method, 1, args.budget) for how in (False, True)}
            ratio = again[False][0] / again[True][0]
            print(
                f"{method:6} {count:4} problems: alone {again[False][0]:.2f} s, together {again[True][0]:.2f} s, ratio "
                f"{ratio:.1f}; first call {first[False]:.1f} s and {first[True]:.1f} s; "
                f"medians {again[False][1]:.2g} and {again[True][1]:.2g}"
            )


if __name__ == "__main__":
    main()

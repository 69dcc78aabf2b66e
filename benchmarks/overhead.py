"""CPU microseconds per evaluation that a method itself takes, on a trivial objective, beside pycma and scipy.

    python benchmarks/overhead.py [--dimension 10] [--evaluations 3000] [--repeats 5]

Batch mode: the objective is one numpy expression per batch. All methods are interleaved in one process, compilation is
done before the clock starts, and the median of the repeats is shown with the ratio to pycma. The last lines are 100
runs at once: our CMA-ES under `vmap` in one compiled scan, against the same 100 runs of pycma one after the other
(measured on a tenth of them).
"""

import argparse
import functools
import time
import warnings

import cma
import jax
import numpy as np
import scipy.optimize

import l2e
from l2e.algorithms import CMAES
from l2e.api import catalog
from l2e.core.traced import pack, runtime
from l2e.core.traced.loop import unroll
from l2e.core.traced.problem import JAXFunction


def sphere(points: np.ndarray) -> np.ndarray:
    return (points**2).sum(axis=1)


def native(method: str, dimension: int, evaluations: int, seed: int) -> int:
    bounds = [(-5, 5)] * dimension
    result = l2e.minimize(sphere, bounds=bounds, budget=evaluations, method=method, rng=seed, vectorized=True)
    return result.nfev


def pycma(dimension: int, evaluations: int, seed: int) -> int:
    options = {"bounds": [-5, 5], "verbose": -9, "seed": seed + 1, "maxfevals": evaluations}
    strategy = cma.CMAEvolutionStrategy([0.0] * dimension, 2.0, options)
    while not strategy.stop():
        points = strategy.ask()
        strategy.tell(points, sphere(np.asarray(points)).tolist())
    return int(strategy.countevals)


def scipy_de(dimension: int, evaluations: int, seed: int) -> int:
    generations = evaluations // (15 * dimension)
    used = 0

    def counted(columns: np.ndarray) -> np.ndarray:  # scipy's own count is of calls, not of points
        nonlocal used
        used += columns.shape[1]
        return sphere(columns.T)

    scipy.optimize.differential_evolution(
        counted,
        [(-5, 5)] * dimension,
        maxiter=generations,
        tol=0,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=seed,
    )
    return used


def cpu_per_evaluation(run, seed: int) -> float:
    began = time.process_time()
    used = run(seed)
    return (time.process_time() - began) / used * 1e6


@functools.partial(jax.jit, static_argnums=(0, 3))
def _many(static, arrays, keys, generations):
    optimizer = pack.join(arrays, static)
    problem = JAXFunction(lambda x: (x**2).sum(), l2e.box([(-5, 5)] * DIMENSION))

    def one(key):
        state = optimizer.init(problem.space, key)
        return unroll(optimizer, problem, state, key, generations)[1].nfev[-1]

    return jax.vmap(one)(keys)


def vmapped(evaluations: int, seed: int) -> int:
    optimizer = CMAES(CMAES.default_population(DIMENSION))
    arrays, static = pack.split(optimizer)
    with runtime.float64():
        keys = jax.random.split(jax.random.key(seed), 100)
        return int(np.asarray(_many(static, arrays, keys, evaluations // optimizer.population_size)).sum())


def main() -> None:
    global DIMENSION
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    DIMENSION, evaluations = arguments.dimension, arguments.evaluations
    runs = {
        "pycma": functools.partial(pycma, DIMENSION, evaluations),
        "scipy differential_evolution": functools.partial(scipy_de, DIMENSION, evaluations),
    }
    for method in [name for name, entry in catalog.METHODS.items() if entry.kind in ("default", "native")]:
        runs[f"l2e {method}"] = functools.partial(native, method, DIMENSION, evaluations)
    runs["l2e cmaes, 100 vmapped runs"] = functools.partial(vmapped, evaluations)
    for run in runs.values():
        run(0)
    times = {name: [] for name in runs}
    for seed in range(arguments.repeats):
        for name, run in runs.items():
            times[name].append(cpu_per_evaluation(run, seed))
    reference = np.median(times["pycma"])
    print(f"CPU us per evaluation, {DIMENSION}-D, {evaluations} evaluations, median of {arguments.repeats}")
    for name, values in times.items():
        print(f"{name:32s} {np.median(values):8.2f}   {np.median(values) / reference:6.3f} x pycma")


if __name__ == "__main__":
    main()

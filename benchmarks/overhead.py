"""CPU microseconds per evaluation that a method itself takes, on a trivial objective, beside pycma and scipy.

    python benchmarks/overhead.py [--dimension 10] [--evaluations 3000] [--repeats 5]
    python benchmarks/overhead.py --kinds --out benchmarks/recorded/overhead.jsonl

Batch mode: the objective is one numpy expression per batch. All methods are interleaved in one process, compilation is
done before the clock starts, and the median of the repeats is shown with the ratio to pycma. The last lines are 100
runs at once: our CMA-ES under `vmap` in one compiled scan, against the same 100 runs of pycma one after the other
(measured on a tenth of them).

With `--kinds`: the default method beside pycma with 20, 50 and 200 evaluations per dimension on functions of several
kinds, called point by point; their own cost, a few microseconds, is in both numbers. The ratio is that of one run. Set
OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1.
"""

import argparse
import functools
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


SHIFT = np.random.default_rng(1).uniform(-3, 3, 100)
TURN = np.random.default_rng(3).standard_normal((100, 100))


def turned(x: np.ndarray) -> np.ndarray:
    """A point around the minimum, on axes that are not those of the box."""
    axes = _axes(len(x))
    return axes @ (x - SHIFT[: len(x)])


@functools.cache
def _axes(dimension: int) -> np.ndarray:
    return np.linalg.qr(TURN[:dimension, :dimension])[0]


def bowl(x: np.ndarray) -> float:
    return float(((x - SHIFT[: len(x)]) ** 2).sum())


def rosenbrock(x: np.ndarray) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def rastrigin(x: np.ndarray) -> float:
    y = x - SHIFT[: len(x)]
    return float((y**2 - 10 * np.cos(2 * np.pi * y) + 10).sum())


def ellipsoid(x: np.ndarray) -> float:
    return float((10.0 ** np.linspace(0, 6, len(x)) * turned(x) ** 2).sum())


def plateau(x: np.ndarray) -> float:
    return float(np.floor(10 * np.abs(turned(x))).sum())


KINDS = {"sphere": bowl, "Rosenbrock": rosenbrock, "Rastrigin": rastrigin, "ellipsoid": ellipsoid, "plateau": plateau}
BUDGETS = (20, 50, 200)
"""Evaluations per dimension."""


def default_on(function: Callable[[np.ndarray], float], dimension: int, evaluations: int, seed: int) -> int:
    return l2e.minimize(function, bounds=[(-5, 5)] * dimension, budget=evaluations, rng=seed).nfev


def pycma_on(function: Callable[[np.ndarray], float], dimension: int, evaluations: int, seed: int) -> int:
    options = {"bounds": [-5, 5], "verbose": -9, "seed": seed + 1, "maxfevals": evaluations}
    strategy = cma.CMAEvolutionStrategy([0.0] * dimension, 2.0, options)
    while not strategy.stop():
        points = strategy.ask()
        strategy.tell(points, [function(point) for point in points])
    return int(strategy.countevals)


def measure_kinds(path: Path, dimension: int, repeats: int) -> None:
    """Append one line for each kind and budget, and print them."""
    for name, function in KINDS.items():
        default_on(function, dimension, 20 * dimension, 0)
        pycma_on(function, dimension, 20 * dimension, 0)
        for budget in BUDGETS:
            pairs = [
                [
                    cpu_per_evaluation(functools.partial(run, function, dimension, budget * dimension), seed)
                    for run in (default_on, pycma_on)
                ]
                for seed in range(repeats)
            ]
            ours, theirs = np.median(pairs, axis=0)
            ratio = float(np.median([one / other for one, other in pairs]))
            row = {"kind": name, "dimension": dimension, "budget": budget, "us": round(float(ours), 1)}
            row |= {"pycma us": round(float(theirs), 1), "ratio": round(ratio, 2), "repeats": repeats}
            with open(path, "a") as file:
                file.write(json.dumps(row) + "\n")
    print(kinds_table([json.loads(line) for line in path.read_text().splitlines()]))


def kinds_table(rows: list[dict[str, Any]]) -> str:
    """Microseconds, and in brackets how many times those of pycma, of the latest lines."""
    latest = {(row["kind"], row["budget"]): row for row in rows}
    lines = ["| | " + " | ".join(f"{b}·d" for b in BUDGETS) + " |", "|---" * (len(BUDGETS) + 1) + "|"]
    for name in KINDS:
        cells = [latest[name, budget] for budget in BUDGETS]
        lines.append(f"| {name} | " + " | ".join(f"{row['us']:.0f} ({row['ratio']:.1f})" for row in cells) + " |")
    means = [np.mean([latest[name, budget]["us"] for name in KINDS]) for budget in BUDGETS]
    return "\n".join([*lines, "| mean | " + " | ".join(f"{mean:.0f}" for mean in means) + " |"])


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
    parser.add_argument("--kinds", action="store_true", help="the default method on functions of several kinds")
    parser.add_argument("--out", type=Path, help="with --kinds: where its lines are appended")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.kinds:
        if arguments.out is None:
            parser.error("--kinds needs --out")
        measure_kinds(arguments.out, arguments.dimension, arguments.repeats)
        return
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

"""The default method on COCO's bbob-mixint beside others that know integers.

    python benchmarks/mixed_integer.py --out benchmarks/recorded/mixed-integer.jsonl

Four fifths of the variables have 2, 4, 8 and 16 places, one fifth is continuous. A line of the file is one run: the
smallest gap to the optimum within the budget. The score is the share of the targets 10^2, 10^1.8, ..., 10^-8 that was
reached. Nothing was tuned on the functions with odd numbers, nor on instances 1 to 5: the margins, pauses and
populations of `l2e.portfolio.mixed` were chosen on even functions, instances 11 to 13. Runs that are in the file
already are not made again.

The others, as their documentation recommends: scipy's `differential_evolution` with `integrality`, and popsize 5 below
100 evaluations per dimension; pycma with `integer_variables`, restarted at random; cmaes' CatCMA with margin, binary
variables as categories, restarted when it stops; Optuna's TPE, multivariate.
"""

import argparse
import contextlib
import importlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocoex
import numpy as np

import l2e

TARGETS = 10.0 ** np.arange(2, -8.01, -0.2)
Objective = Callable[[Any], float]


class Spent(Exception):  # noqa: N818 - a signal
    """The budget is used."""


def counted(problem: Any, budget: int, optimum: float, found: list[float]) -> Objective:
    used = 0

    def f(x: Any) -> float:
        nonlocal used
        if used >= budget:
            raise Spent
        used += 1
        value = float(problem(np.asarray(x, dtype=float)))
        found[0] = min(found[0], value - optimum)
        return value

    return f


def by_l2e(f: Objective, problem: Any, budget: int, seed: int) -> None:
    bounds = list(zip(problem.lower_bounds, problem.upper_bounds, strict=True))
    l2e.minimize(f, bounds=bounds, integrality=_integers(problem), budget=budget, rng=seed)


def by_scipy(f: Objective, problem: Any, budget: int, seed: int) -> None:
    from scipy.optimize import differential_evolution

    d = problem.dimension
    differential_evolution(
        f,
        list(zip(problem.lower_bounds, problem.upper_bounds, strict=True)),
        integrality=_integers(problem),
        rng=seed,
        maxiter=10**6,
        tol=0,
        polish=False,
        popsize=15 if budget >= 100 * d else 5,
    )


def by_pycma(f: Objective, problem: Any, budget: int, seed: int) -> None:
    import cma

    integers = np.flatnonzero(_integers(problem))
    lower, upper = problem.lower_bounds.copy(), problem.upper_bounds.copy()
    lower[integers] -= 0.5
    upper[integers] += 0.5

    def rounded(x: Any) -> float:
        x = np.array(x)
        x[integers] = np.clip(np.round(x[integers]), problem.lower_bounds[integers], problem.upper_bounds[integers])
        return f(x)

    rng = np.random.default_rng(seed)
    start = (lower + upper) / 2
    while True:
        options = {
            "integer_variables": integers.tolist(),
            "bounds": [lower, upper],
            "CMA_stds": (upper - lower) * 0.2,
            "verbose": -9,
            "seed": int(rng.integers(1, 2**31)),
        }
        cma.fmin2(rounded, start, 1.0, options)
        start = rng.uniform(lower, upper)


def by_catcma(f: Objective, problem: Any, budget: int, seed: int) -> None:
    cmaes = importlib.import_module("cmaes")  # pip install cmaes

    lower, upper = problem.lower_bounds, problem.upper_bounds
    integers = np.flatnonzero(_integers(problem))
    binary = [i for i in integers if upper[i] - lower[i] == 1]
    stepped = [i for i in integers if upper[i] - lower[i] > 1]
    continuous = [i for i in range(problem.dimension) if i not in set(integers)]
    rng = np.random.default_rng(seed)
    while True:
        search = cmaes.CatCMAwM(
            x_space=[[lower[i], upper[i]] for i in continuous],
            z_space=[list(range(int(lower[i]), int(upper[i]) + 1)) for i in stepped],
            c_space=[2] * len(binary),
            seed=int(rng.integers(2**31)),
        )
        while not search.should_stop():
            told = []
            for _ in range(search.population_size):
                one = search.ask()
                x = np.empty(problem.dimension)
                x[continuous], x[stepped], x[binary] = one.x, one.z, np.argmax(one.c, axis=1)
                told.append((one, f(x)))
            search.tell(told)


def by_tpe(f: Objective, problem: Any, budget: int, seed: int) -> None:
    optuna = importlib.import_module("optuna")  # pip install optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    integers = _integers(problem)

    def objective(trial: Any) -> float:
        x = [
            trial.suggest_int(f"x{i}", int(low), int(high)) if whole else trial.suggest_float(f"x{i}", low, high)
            for i, (low, high, whole) in enumerate(
                zip(problem.lower_bounds, problem.upper_bounds, integers, strict=True)
            )
        ]
        return f(x)

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
    optuna.create_study(sampler=sampler).optimize(objective, n_trials=budget)


METHODS = {"l2e": by_l2e, "scipy-de": by_scipy, "pycma": by_pycma, "catcma": by_catcma, "tpe": by_tpe}


def _integers(problem: Any) -> np.ndarray:
    return np.arange(problem.dimension) < problem.number_of_integer_variables


def optimum_of(problem: Any) -> float:
    """COCO writes the best point into a file of the working folder."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            problem._best_parameter("print")
            best = np.loadtxt(next(Path(folder).iterdir()))
        finally:
            os.chdir(here)
    return float(problem(np.atleast_1d(best)[: problem.dimension]))


def one_run(method: str, problem: Any, per_dimension: int) -> dict[str, Any]:
    found = [np.inf]
    f = counted(problem, per_dimension * problem.dimension, optimum_of(problem), found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Spent):
            METHODS[method](f, problem, per_dimension * problem.dimension, problem.id_instance)
    where = {"function": problem.id_function, "instance": problem.id_instance, "dimension": problem.dimension}
    return {"method": method, **where, "per_dimension": per_dimension, "gap": float(f"{max(found[0], 0):.4g}")}


def share(runs: list[dict[str, Any]]) -> float:
    return float(np.mean([np.mean(run["gap"] <= TARGETS) for run in runs]))


def table(runs: list[dict[str, Any]]) -> None:
    """Shares by dimension and budget; each method is compared with l2e on the problems that both have."""
    for d in sorted({run["dimension"] for run in runs}):
        for k in sorted({run["per_dimension"] for run in runs}):
            here = [run for run in runs if run["dimension"] == d and run["per_dimension"] == k]
            ours = {(run["function"], run["instance"]): run for run in here if run["method"] == "l2e"}
            for method in METHODS:
                theirs = [run for run in here if run["method"] == method]
                both = [ours[key] for run in theirs if (key := (run["function"], run["instance"])) in ours]
                if theirs and both:
                    here_ours = f"l2e on the same {share(both):.3f}  ({len(both)} runs)"
                    print(f"{d:3}-D {k:4} per dimension {method:9} {share(theirs):.3f}  {here_ours}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--functions", nargs="+", type=int, default=list(range(1, 25, 2)))
    parser.add_argument("--instances", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--dimensions", nargs="+", type=int, default=[5, 10])
    parser.add_argument("--per-dimension", nargs="+", type=int, default=[50, 200])
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.touch()
    runs = [json.loads(line) for line in args.out.read_text().splitlines()]
    keys = ("method", "function", "instance", "dimension", "per_dimension")
    done = {tuple(run[key] for key in keys) for run in runs}
    choice = [
        f"{name}: {','.join(map(str, numbers))}"
        for name, numbers in (
            ("dimensions", args.dimensions),
            ("function_indices", args.functions),
            ("instance_indices", args.instances),
        )
    ]
    for k in args.per_dimension:
        for method in args.methods:
            for problem in cocoex.Suite("bbob-mixint", "", " ".join(choice)):
                if (method, problem.id_function, problem.id_instance, problem.dimension, k) not in done:
                    runs.append(one_run(method, problem, k))
                    with open(args.out, "a") as file:
                        file.write(json.dumps(runs[-1]) + "\n")
    table(runs)


if __name__ == "__main__":
    main()

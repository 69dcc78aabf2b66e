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

import importlib
from typing import Any

import numpy as np
from coco_runs import Objective, Search, compare

import l2e

TARGETS = 10.0 ** np.arange(2, -8.01, -0.2)


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


METHODS: dict[str, Search] = {
    "l2e": by_l2e,
    "scipy-de": by_scipy,
    "pycma": by_pycma,
    "catcma": by_catcma,
    "tpe": by_tpe,
}


def _integers(problem: Any) -> np.ndarray:
    return np.arange(problem.dimension) < problem.number_of_integer_variables


if __name__ == "__main__":
    compare("bbob-mixint", METHODS, list(range(1, 25, 2)), TARGETS, __doc__ or "")

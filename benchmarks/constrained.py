"""The default method on COCO's bbob-constrained beside others that know constraints.

    python benchmarks/constrained.py --out benchmarks/recorded/constrained.jsonl

Constraints are cheap here: their evaluations are not counted for anyone. Every method begins at COCO's initial
solution, which is allowed. The score is the share of the targets 10^2, 10^1.8, ..., 10^-6 that an allowed point
reached. Nothing was tuned on the functions with odd numbers, nor on instances 1 to 3: what was tuned (the margin of
`l2e.portfolio.constrained.sqp`) was on even functions, instance 11. The others: scipy's SLSQP, COBYQA and trust-constr,
restarted from random points when they end, and pycma's `fmin_con2`.
"""

from typing import Any

import numpy as np
from coco_runs import Objective, Search, compare

import l2e

TARGETS = 10.0 ** np.arange(2, -6.01, -0.2)


def by_l2e(f: Objective, problem: Any, budget: int, seed: int) -> None:
    bounds = [(-5, 5)] * problem.dimension
    l2e.minimize(f, problem.initial_solution, bounds=bounds, constraints=problem.constraint, budget=budget, rng=seed)


def _by_scipy(method: str, **options: Any) -> Search:
    def search(f: Objective, problem: Any, budget: int, seed: int) -> None:
        from scipy.optimize import NonlinearConstraint, minimize

        rng, start = np.random.default_rng(seed), problem.initial_solution
        limit = NonlinearConstraint(problem.constraint, -np.inf, 0)
        while True:
            bounds = [(-5, 5)] * problem.dimension
            minimize(f, start, method=method, bounds=bounds, constraints=[limit], options=options)
            start = rng.uniform(-5, 5, problem.dimension)

    return search


def by_pycma(f: Objective, problem: Any, budget: int, seed: int) -> None:
    import cma

    rng, start = np.random.default_rng(seed), problem.initial_solution
    while True:
        options = {"bounds": [-5, 5], "verbose": -9, "seed": int(rng.integers(1, 2**31))}
        cma.fmin_con2(f, start, 1.0, constraints=lambda x: list(problem.constraint(np.asarray(x))), options=options)
        start = rng.uniform(-5, 5, problem.dimension)


METHODS: dict[str, Search] = {
    "l2e": by_l2e,
    "slsqp": _by_scipy("SLSQP", maxiter=1000, ftol=1e-12),
    "trust-constr": _by_scipy("trust-constr", maxiter=1000),
    "cobyqa": _by_scipy("COBYQA"),
    "pycma": by_pycma,
}


if __name__ == "__main__":
    compare("bbob-constrained", METHODS, list(range(1, 55, 2)), TARGETS, __doc__ or "")

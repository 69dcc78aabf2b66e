"""The default method on COCO's bbob-noisy beside pycma with its noise handling, and without.

    python benchmarks/noisy.py --out benchmarks/recorded/noisy.jsonl

All 30 functions: two shapes under moderate (f101 to f106) and eight under severe noise (f107 to f130), each with
Gaussian, uniform and Cauchy noise. Every method begins at the same random point of [-4, 4]^d, and recommends one point
in the end. What counts is the value of that point without noise: the share of the targets 10^2, 10^1.8, ..., 10^-6
above the minimum that it reaches. `best` is the same of the best point that was evaluated at all, whether the method
knew it or not, as COCO's own statistics count. COCO tells nobody values without noise, but f103, f106, f109, ..., f130
have the same shapes, and their noise leaves most values exact but for a constant: the commonest of some values is one.

Nothing was tuned on this suite: parts and numbers of `l2e.portfolio.noisy` were chosen on random landscapes
(`l2e.problems.landscapes`) with such noise. pycma: CMA-ES from a step of 2, begun again with twice the population
from where it stands when it ends; its mean is the recommendation, as its documentation says; with `NoiseHandler` as in
`fmin` (one evaluation per point), and with up to 30 evaluations per point as in the handler's own example.
"""

import contextlib
import functools
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cma
import cocoex
import numpy as np
from appended import all_runs
from coco_runs import KEYS, Objective, Spent, options

import l2e

TARGETS = 10.0 ** np.arange(2, -6.01, -0.2)
FUNCTIONS = list(range(101, 131))
FIRST_SEVERE = 107
KINDS = {0: "cauchy", 1: "gauss", 2: "uniform"}
"""Of noise, by the rest of (function - 100) / 3."""

SIBLING_SAMPLES = 9
Search = Callable[[Objective, np.ndarray, int, int], np.ndarray]
"""From an objective, a start, a budget and a seed to the recommended point."""


def by_l2e(noisy: bool | None) -> Search:
    def search(f: Objective, start: np.ndarray, budget: int, seed: int) -> np.ndarray:
        return l2e.minimize(f, start, bounds=[(-5, 5)] * len(start), budget=budget, rng=seed, noisy=noisy).x

    return search


def by_pycma(most: int) -> Search:
    """With up to so many evaluations of a point; 0 for no handling of noise."""

    def search(f: Objective, start: np.ndarray, budget: int, seed: int) -> np.ndarray:
        options = {"bounds": [-5, 5], "verbose": -9, "seed": seed + 1}
        strategy = cma.CMAEvolutionStrategy(start, 2.0, options)
        handler = cma.NoiseHandler(len(start), maxevals=[1, 1, most]) if most else None
        found = start
        with contextlib.suppress(Spent):
            while True:
                if strategy.stop():
                    larger = options | {"popsize": 2 * strategy.popsize}
                    strategy = cma.CMAEvolutionStrategy(found, 2.0, larger)
                times = 1 if handler is None else handler.evaluations
                points, values = strategy.ask_and_eval(f, evaluations=times)  # pyright: ignore[reportArgumentType]
                strategy.tell(points, values)
                found = np.clip(strategy.result.xfavorite, -5, 5)
                if handler is not None:
                    strategy.sigma *= handler(points, values, f, strategy.ask)
        return found

    return search


METHODS: dict[str, Search] = {
    "l2e-noisy": by_l2e(True),
    "l2e": by_l2e(None),
    "pycma-noise": by_pycma(1),
    "pycma-noise-30": by_pycma(30),
    "pycma": by_pycma(0),
}


class Truth:
    """Values of one problem without noise, above the minimum.

    **Arguments:** `function`, `dimension`, `instance`: of bbob-noisy.
    """

    def __init__(self, function: int, dimension: int, instance: int):
        sibling = function + (-(function - 100)) % 3
        self._problem = problem_of(sibling, dimension, instance)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            self._problem._best_parameter("print")
            best = np.loadtxt(next(Path(folder).iterdir()))
        self._least = self._commonest(np.atleast_1d(best)[:dimension])

    def _commonest(self, x: np.ndarray) -> float:
        while True:
            value, times = Counter(self._problem(x) for _ in range(SIBLING_SAMPLES)).most_common(1)[0]
            if times > 1:
                return float(value)

    def __call__(self, x: np.ndarray) -> float:
        return max(self._commonest(x) - self._least, 0.0)


def problem_of(function: int, dimension: int, instance: int) -> Any:
    chosen = f"dimensions: {dimension} function_indices: {function - 100} instance_indices: {instance}"
    return next(iter(cocoex.Suite("bbob-noisy", "", chosen)))


def one_run(name: str, function: int, dimension: int, instance: int, per_dimension: int) -> dict[str, Any]:
    """The gap of the point that a method recommends, and of the best one it saw."""
    problem, truth = problem_of(function, dimension, instance), Truth(function, dimension, instance)
    budget, seen = per_dimension * dimension, []

    def f(x: Any) -> float:
        if len(seen) >= budget:
            raise Spent
        seen.append(np.array(x, dtype=float))
        return float(problem(seen[-1]))

    start = np.random.default_rng([function, instance]).uniform(-4, 4, dimension)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = METHODS[name](f, start, budget, instance)
    best = min(truth(x) for x in seen)
    where = {"method": name, "function": function, "instance": instance, "dimension": dimension}
    gaps = {"gap": float(f"{truth(np.asarray(found)):.4g}"), "best": float(f"{best:.4g}")}
    return {**where, "per_dimension": per_dimension, **gaps}


def table(runs: list[dict[str, Any]]) -> None:
    """Shares by dimension, budget and kind of noise, with the standard error over problems of the difference to l2e."""
    for d, k in sorted({(run["dimension"], run["per_dimension"]) for run in runs}):
        here = [run for run in runs if (run["dimension"], run["per_dimension"]) == (d, k)]
        print(f"\n{d}-D, {k} evaluations per dimension")
        for name in [method for method in METHODS if any(run["method"] == method for run in here)]:
            own = {(run["function"], run["instance"]): run for run in here if run["method"] == name}
            ours = {(run["function"], run["instance"]): run for run in here if run["method"] == "l2e-noisy"}
            row = [f"{name:15} {_share(own.values(), 'gap'):.3f} best {_share(own.values(), 'best'):.3f}"]
            both = sorted(own.keys() & ours.keys())
            ahead = [_reached(ours[key]["gap"]) - _reached(own[key]["gap"]) for key in both]
            if name != "l2e-noisy" and len(ahead) > 1:
                row.append(f"l2e-noisy ahead by {np.mean(ahead):+.3f} +- {np.std(ahead) / np.sqrt(len(ahead)):.3f}")
            for severe in (False, True):
                for rest in (1, 2, 0):
                    chosen = [one for (f, _), one in own.items() if (f - 100) % 3 == rest]
                    chosen = [one for one in chosen if (one["function"] >= FIRST_SEVERE) == severe]
                    if chosen:
                        row.append(f"{'severe' if severe else 'moderate'} {KINDS[rest]} {_share(chosen, 'gap'):.3f}")
            print("; ".join(row), f"({len(own)} runs)")


def _reached(gap: float) -> float:
    return float(np.mean(gap <= TARGETS))


def _share(runs: Any, what: str) -> float:
    return float(np.mean([_reached(run[what]) for run in runs]))


def main() -> None:
    args = options(METHODS, FUNCTIONS, [200], __doc__ or "")
    wanted = (
        ((method, function, instance, d, k), functools.partial(one_run, method, function, d, instance, k))
        for k in args.per_dimension
        for d in args.dimensions
        for instance in args.instances
        for function in args.functions
        for method in args.methods
    )
    table(all_runs(args.out, KEYS, wanted))


if __name__ == "__main__":
    main()

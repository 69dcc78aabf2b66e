"""Other libraries' transfer on the families of `measure_families.py`: warm-started CMA-ES, and Optuna's source trials.

    python -m venv rivals && rivals/bin/pip install cmaes optuna numpy scipy safetensors threadpoolctl
    PYTHONPATH=. rivals/bin/python tools/measure_family_rivals.py truss --learn runs/families --out results/families

Both are given fifty evaluations of each of the forty members' journaled searches, evenly by rank; the values are ranks
within a member, since values of different members do not compare. They are not told the budget, so that one run of 50
evaluations per dimension shows all smaller budgets. Records go to the file of the family, beside ours.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cmaes  # pyright: ignore[reportMissingImports]
import numpy as np
import optuna  # pyright: ignore[reportMissingImports]

from l2e.core.journal import read_journal
from l2e.problems.families import FAMILIES

BUDGETS = (5, 10, 20, 50)
TESTED, FIRST_TESTED, TRAINED = 20, 1000, 40
PER_MEMBER = 50


def sources(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Points of the unit cube from all journals, and their ranks within their member, 0 for the best."""
    space = FAMILIES[name](0).space
    points, ranks = [], []
    for path in sorted((folder / f"{name}-{TRAINED}").glob("first-*.l2e")):
        rows = [row for row in read_journal(path).evaluations if row.reason is None]
        order = np.argsort([row.value for row in rows], kind="stable")
        chosen = np.unique(np.linspace(0, len(rows) - 1, PER_MEMBER).round().astype(int))
        points += [np.clip(space.to_unit(rows[order[i]].x), 0, 1) for i in chosen]
        ranks += [i / len(rows) for i in chosen]
    return np.array(points), np.array(ranks)


def warm_started(points: np.ndarray, ranks: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Points that warm-started CMA-ES asks for; it is sent their values."""
    mean, sigma, covariance = cmaes.get_warm_start_mgd(list(zip(points, ranks.tolist(), strict=True)))
    bounds = np.tile([0.0, 1.0], (points.shape[1], 1))
    search = cmaes.CMA(mean=mean, sigma=sigma, bounds=bounds, cov=covariance, seed=seed)
    while True:
        batch = []
        for _ in range(search.population_size):
            x = search.ask()
            batch.append((x, (yield x)))
        search.tell(batch)


def source_trials(points: np.ndarray, ranks: np.ndarray) -> list[Any]:
    """What Optuna is given."""
    distribution = optuna.distributions.FloatDistribution(0.0, 1.0)
    distributions: dict[str, Any] = {f"x{i:02d}": distribution for i in range(points.shape[1])}
    return [
        optuna.trial.create_trial(
            params=dict(zip(distributions, map(float, point), strict=True)),
            distributions=distributions,
            value=float(rank),
        )
        for point, rank in zip(points, ranks, strict=True)
    ]


def with_cmaes(function: Callable[[np.ndarray], float], given: Any, budget: int, seed: int) -> list[float]:
    """All values of one search."""
    points, ranks = given
    search: Any = warm_started(points, ranks, seed)
    values, x = [], next(search)
    while len(values) < budget:
        values.append(function(x))
        x = search.send(values[-1])
    return values


def with_optuna(function: Callable[[np.ndarray], float], given: Any, budget: int, seed: int) -> list[float]:
    """All values of one search."""
    trials, dimension = given
    sampler = optuna.samplers.CmaEsSampler(source_trials=trials, seed=seed, warn_independent_sampling=False)
    study = optuna.create_study(sampler=sampler)
    values: list[float] = []

    def objective(trial: Any) -> float:
        values.append(function(np.array([trial.suggest_float(f"x{i:02d}", 0.0, 1.0) for i in range(dimension)])))
        return values[-1]

    study.optimize(objective, n_trials=budget)
    return values


def run(name: str, folder: Path, out: Path, chosen: list[str]) -> None:
    """Measure one family."""
    path = out / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    done = {(row["method"], row["member"]) for row in rows}
    defaults = {row["member"]: row["fun"] for row in rows if row["method"] == "default" and row["budget"] == 50}
    points, ranks = sources(name, folder)
    dimension = points.shape[1]
    methods = {
        "ws-cma": (with_cmaes, (points, ranks)),
        "optuna-source": (with_optuna, (source_trials(points, ranks), dimension)),
    }
    for method, (search, given) in methods.items():
        for member in range(FIRST_TESTED, FIRST_TESTED + TESTED):
            if (method, member) in done or (chosen and method not in chosen):
                continue
            problem = FAMILIES[name](member)

            def function(x: np.ndarray, problem: Any = problem) -> float:
                return float(problem(problem.space.from_unit(np.clip(x, 0, 1))))

            values = np.minimum.accumulate(search(function, given, BUDGETS[-1] * dimension, member))
            new = [{"method": method, "member": member, "budget": b, "fun": values[b * dimension - 1]} for b in BUDGETS]
            at = np.flatnonzero(values <= defaults[member])
            new[-1]["reached"] = int(at[0]) + 1 if at.size else None
            with path.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in new)
        print(name, method, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=[])
    parser.add_argument("--learn", type=Path, default=Path("runs/families"))
    parser.add_argument("--out", type=Path, default=Path("results/families"))
    parser.add_argument("--methods", nargs="*", default=[])
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name in chosen.families or FAMILIES:
        run(name, chosen.learn, chosen.out, chosen.methods)


if __name__ == "__main__":
    main()

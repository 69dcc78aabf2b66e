"""Our sampler for Optuna beside CMA-ES, TPE and the Gaussian process, at equal trials.

    python benchmarks/optuna_samplers.py --out benchmarks/recorded/optuna-samplers.json

Six problems: an SVM on scikit-learn's breast-cancer data (C, gamma, kernel, class weights; the value is the error of a
three-fold cross-validation), and five continuous functions in 5-D with shifted optima: a bowl, a rotated ellipsoid of
condition 10^4, Rosenbrock's, Rastrigin's, and a sharp ridge. Every sampler has the same number of trials and its
defaults; ours is told that number. A sampler that cannot be imported here is left out, and so it is said.
"""

import argparse
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from l2e.integrations.optuna import L2ESampler

optuna: Any = importlib.import_module("optuna")
ROTATION = np.linalg.qr(np.random.default_rng(5).standard_normal((5, 5)))[0]
SHIFT = np.random.default_rng(6).uniform(-3, 3, 5)


def bowl(z: np.ndarray) -> float:
    return float((z**2).sum())


def ellipsoid(z: np.ndarray) -> float:
    return float((10.0 ** np.linspace(0, 4, 5) * (ROTATION @ z) ** 2).sum())


def rosenbrock(z: np.ndarray) -> float:
    z = z + 1
    return float((100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2).sum())


def rastrigin(z: np.ndarray) -> float:
    return float(50 + (z**2 - 10 * np.cos(2 * np.pi * z)).sum())


def ridge(z: np.ndarray) -> float:
    turned = ROTATION @ z
    return float(turned[0] ** 2 + 100 * np.sqrt((turned[1:] ** 2).sum()))


def continuous(f: Callable[[np.ndarray], float]) -> Callable[[Any], float]:
    def objective(trial: Any) -> float:
        return f(np.asarray([trial.suggest_float(f"x{i}", -5, 5) for i in range(5)]) - SHIFT)

    return objective


def svm(trial: Any) -> float:
    datasets = importlib.import_module("sklearn.datasets")
    selection = importlib.import_module("sklearn.model_selection")
    preprocessing, pipeline = (importlib.import_module(f"sklearn.{name}") for name in ("preprocessing", "pipeline"))
    model = importlib.import_module("sklearn.svm").SVC(
        C=trial.suggest_float("C", 1e-3, 1e3, log=True),
        gamma=trial.suggest_float("gamma", 1e-5, 10, log=True),
        kernel=trial.suggest_categorical("kernel", ["rbf", "poly", "sigmoid"]),
        degree=trial.suggest_int("degree", 2, 5),
        class_weight=trial.suggest_categorical("weights", [None, "balanced"]),
    )
    x, y = datasets.load_breast_cancer(return_X_y=True)
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), model)
    folds = selection.StratifiedKFold(3, shuffle=True, random_state=0)
    return 1 - float(selection.cross_val_score(steps, x, y, cv=folds, scoring="roc_auc").mean())


PROBLEMS = {f.__name__: continuous(f) for f in (bowl, ellipsoid, rosenbrock, rastrigin, ridge)} | {"svm": svm}


def samplers(trials: int, seed: int) -> dict[str, Callable[[], Any]]:
    theirs = optuna.samplers
    return {
        "L2ESampler": lambda: L2ESampler(trials, seed=seed),
        "CmaEsSampler": lambda: theirs.CmaEsSampler(seed=seed),
        "TPESampler": lambda: theirs.TPESampler(seed=seed),
        "GPSampler": lambda: theirs.GPSampler(seed=seed),
    }


def best(problem: Callable[[Any], float], make: Callable[[], Any], trials: int) -> float:
    study = optuna.create_study(sampler=make())
    study.optimize(problem, n_trials=trials)
    return float(study.best_value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--samplers", nargs="+", default=list(samplers(1, 0)), choices=list(samplers(1, 0)))
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: dict[str, dict[str, list[float]]] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.problems:
        for sampler in args.samplers:
            try:
                values = [
                    best(PROBLEMS[name], samplers(args.trials, seed)[sampler], args.trials)
                    for seed in range(args.seeds)
                ]
            except ImportError as error:
                print(f"{sampler} is left out: {error}")
                continue
            found.setdefault(name, {})[sampler] = [float(f"{value:.4g}") for value in values]
            print(f"{name:12} {sampler:14} median {np.median(values):.3g}, worst {max(values):.3g}", flush=True)
            args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

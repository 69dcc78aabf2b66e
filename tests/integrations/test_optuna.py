"""The sampler for Optuna: all kinds of parameters, exact restoring, parallel studies, pruned and failed trials."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")
optuna.logging.set_verbosity(optuna.logging.ERROR)

from l2e.integrations.optuna import L2ESampler  # noqa: E402 - needs optuna


def objective(trial: Any) -> float:
    """0 at x = (1, 1), lr 1e-3, n 7, option b, s .3."""
    x = np.asarray([trial.suggest_float(f"x{i}", -5, 5) for i in range(2)])
    lr, n = trial.suggest_float("lr", 1e-6, 1, log=True), trial.suggest_int("n", 1, 20)
    option, s = trial.suggest_categorical("c", ["a", "b", None]), trial.suggest_float("s", 0, 1, step=0.1)
    worse = {"a": 1.0, "b": 0.0, None: 2.0}[option]
    return float(((x - 1) ** 2).sum() + (np.log10(lr) + 3) ** 2 + 0.1 * (n - 7) ** 2 + worse + (s - 0.3) ** 2)


def params(study: Any) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def test_finds_the_minimum_among_all_kinds_of_parameters() -> None:
    study = optuna.create_study(sampler=L2ESampler(120, seed=0))
    study.optimize(objective, n_trials=120)
    assert study.best_value < 1e-6
    assert study.best_params["c"] == "b"


def storage_of(kind: str, folder: Path) -> Any:
    if kind == "rdb":
        return f"sqlite:///{folder}/study.db"
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder / "journal.log")))


@pytest.mark.parametrize("kind", ["rdb", "journal"])
def test_a_study_that_is_loaded_goes_on_exactly(kind: str, tmp_path: Path) -> None:
    def storage() -> Any:
        return storage_of(kind, tmp_path)

    whole = optuna.create_study(sampler=L2ESampler(30, seed=3))
    whole.optimize(objective, n_trials=45)
    half = optuna.create_study(sampler=L2ESampler(30, seed=3), storage=storage(), study_name="s")
    half.optimize(objective, n_trials=2)  # in the midst of the random trials
    more = optuna.load_study(sampler=L2ESampler(30, seed=3), storage=storage(), study_name="s")
    more.optimize(objective, n_trials=18)
    rest = optuna.load_study(sampler=L2ESampler(30, seed=3), storage=storage(), study_name="s")
    rest.optimize(objective, n_trials=25)
    assert params(rest) == params(whole)


@pytest.mark.parametrize(("kind", "count"), [("rdb", 14), ("journal", 30)])
def test_workers_on_one_storage_share_a_search(kind: str, count: int, tmp_path: Path) -> None:
    """Two samplers that know of each other only by the storage, with three trials out each, told in odd order."""
    optuna.create_study(storage=storage_of(kind, tmp_path), study_name="s")
    workers = [
        optuna.load_study(sampler=L2ESampler(30, seed=1), storage=storage_of(kind, tmp_path), study_name="s")
        for _ in range(2)
    ]
    out: list[tuple[Any, Any, float]] = []
    for turn in range(count):
        study = workers[turn % 2]
        trial = study.ask()
        out.append((study, trial, objective(trial)))
        while len(out) > (6 if turn < count - 1 else 0):
            owner, done, found = out.pop(turn % len(out))
            owner.tell(done, found)
    trials = workers[0].trials
    assert len(trials) == count
    places = [tuple(trial.system_attrs["l2e:place"]) for trial in trials if "l2e:place" in trial.system_attrs]
    assert len(places) >= count // 3
    assert len(set(places)) == len(places)
    assert kind == "rdb" or any(row < 0 for _, _, row in places)  # ahead of a batch, by a constant liar


def test_a_tenth_of_the_trials_is_random_and_the_search_begins_at_the_best() -> None:
    study = optuna.create_study(sampler=L2ESampler(50, seed=0))
    study.optimize(objective, n_trials=8)
    ours = ["l2e:place" in trial.system_attrs for trial in study.trials]
    assert ours == [False] * 5 + [True] * 3
    assert len({tuple(trial.params.values()) for trial in study.trials[:5]}) == 5


def test_points_that_are_out_are_not_given_twice() -> None:
    study = optuna.create_study(sampler=L2ESampler(60, seed=0))
    study.optimize(objective, n_trials=6)
    asked = []
    for _ in range(12):
        trial = study.ask()
        asked.append((trial, objective(trial)))
    points = [tuple(trial.params.items()) for trial, _ in asked]
    assert len(set(points)) == len(points)
    for trial, value in reversed(asked):
        study.tell(trial, value)
    study.optimize(objective, n_trials=60, n_jobs=3)
    assert study.best_value < 0.1


def test_failed_and_pruned_trials_do_no_harm() -> None:
    def fragile(trial: Any) -> float:
        value = objective(trial)
        if trial.number % 7 == 3:
            raise RuntimeError("broken")
        trial.report(value, 0)
        if trial.number % 7 == 5:
            raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=L2ESampler(100, seed=0))
    study.optimize(fragile, n_trials=100, catch=(RuntimeError,))
    assert study.best_value < 1.0


def test_the_largest_value_is_searched_for_where_the_study_says_so() -> None:
    study = optuna.create_study(sampler=L2ESampler(80, seed=0), direction="maximize")
    study.optimize(lambda trial: -objective(trial), n_trials=80)
    assert study.best_value > -0.01


def test_a_search_begins_where_it_is_told_and_needs_no_random_trial_in_a_known_space() -> None:
    space = {"x": optuna.distributions.FloatDistribution(-5, 5), "n": optuna.distributions.IntDistribution(0, 9)}
    sampler = L2ESampler(20, seed=0, n_startup_trials=0, search_space=space, x0={"x": 2.0, "n": 3})
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_int("n", 0, 9), n_trials=20)
    assert study.trials[0].params == {"x": 2.0, "n": 3}
    assert study.best_value < 1e-6


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(sampler=L2ESampler(seed=0), directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="one objective"):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1.0), n_trials=2)

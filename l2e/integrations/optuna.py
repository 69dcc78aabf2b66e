"""The default method as a sampler of Optuna.

    study = optuna.create_study(sampler=l2e.integrations.optuna.L2ESampler(n_trials=200, seed=0))

The state of the search is in the study: every trial has a system attribute that says which point it is, and the sampler
makes its search again from there. So a study that is loaded from a storage goes on exactly, and several workers share
one search.
"""

import threading
import warnings
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from l2e.core.errors import require
from l2e.core.parameters import Choice, Float, Int, Log, Parameter
from l2e.core.space import Space
from l2e.integrations.replay import Place, Replay, Valued, guess_of

optuna: Any = require("optuna", "optuna")

PLACE, SEED, BEGAN, AHEAD = "l2e:place", "l2e:seed", "l2e:search", "l2e:ahead"
"""System attributes: of a trial, which point it is; of a study, the seed, with what each search began, and what was
evaluated ahead of a batch."""

PLANNED = 100
"""Trials that the method plans with if it is not told."""

STARTUP, MOST_STARTUP = 0.1, 10
"""The share of the trials that are random before the search begins, and at most how many: with few trials, where a
search begins decides in which minimum it ends."""


class L2ESampler(optuna.samplers.BaseSampler):
    """The default method of l2e for floats, logarithms, integers, steps and categories.

    **Arguments:** as of `CmaEsSampler`, where they are the same.

    - `n_trials`: how many trials there will be, with which the method plans; when they are over, it begins another
      search with twice as many that knows all trials.
    - `x0`: parameters at which the search begins.
    - `n_startup_trials`: trials by the independent sampler before, which the search knows, and begins at the best of
      them; a tenth of `n_trials` if not given, at most 10.
    - `independent_sampler`: for parameters that are not in all trials; random by default.
    - `warn_independent_sampling`: whether to warn when it is used.
    - `seed`: of the search; drawn and kept in the study if not given.
    - `consider_pruned_trials`: whether the last value that a pruned trial reported counts as its value; else it counts
      as failed.
    - `search_space`: distributions by name, if they are known beforehand; with `n_startup_trials=0` there is then no
      random trial.
    """

    def __init__(
        self,
        n_trials: int = PLANNED,
        *,
        x0: dict[str, Any] | None = None,
        n_startup_trials: int | None = None,
        independent_sampler: Any = None,
        warn_independent_sampling: bool = True,
        seed: int | None = None,
        consider_pruned_trials: bool = True,
        search_space: Mapping[str, Any] | None = None,
    ):
        if n_startup_trials is None:
            n_startup_trials = 0 if x0 is not None else min(max(int(STARTUP * n_trials), 1), MOST_STARTUP)
        if n_trials < 1 or n_startup_trials < 0:
            raise ValueError("n_trials must be at least 1 and n_startup_trials at least 0")
        self._planned, self._x0, self._startup = int(n_trials), x0, int(n_startup_trials)
        self._independent = independent_sampler
        self._warns = warn_independent_sampling
        self._seed = seed
        self._pruned = consider_pruned_trials
        self._given = None if search_space is None else dict(search_space)
        self._spaces = optuna.search_space.IntersectionSearchSpace(include_pruned=True)
        self._replays: dict[tuple[int, int], Replay] = {}
        self._turn = threading.Lock()

    def reseed_rng(self) -> None:
        """In another process: the search itself has no random state that processes could share."""
        if self._independent is not None:
            self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        if len(study.directions) > 1:
            raise ValueError("L2ESampler has one objective; for several take NSGAIISampler or TPESampler")
        space = self._spaces.calculate(study) if self._given is None else self._given
        return {name: one for name, one in space.items() if not one.single()}

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
        if not search_space:
            return {}
        with self._turn:  # a study may call from several threads
            return self._sample(study, trial, search_space)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_replays": {}, "_turn": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _turn=threading.Lock())

    def _sample(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
        finished = [one for one in trials if one.state.is_finished() and self._fits(one, search_space)]
        ours = any(PLACE in one.system_attrs for one in trials)
        if not ours and len(finished) < self._startup:
            return {}
        names = list(search_space)
        number, replay = self._present(study, names, search_space, trials, finished)
        values = self._values(study, finished, number)
        replay.advance(values, lambda batch: self._beside(study, number, batch, search_space, finished))
        if replay.over:  # begin another search, which knows everything
            self._begin(study, number + 1, names, search_space, finished)
            number, replay = self._present(study, names, search_space, trials, finished)
        out = {place for one in trials if (place := _place(one)) is not None and place.search == number}
        found = self._free(replay, number, out, values)
        if found is None:
            return {}
        place, params = found
        study._storage.set_trial_system_attr(trial._trial_id, PLACE, list(place))
        return {name: params[f"p{i}"] for i, name in enumerate(names)}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        if self._warns and PLACE in trial.system_attrs:
            warnings.warn(
                f"the parameter {param_name!r} is not in all trials, so L2ESampler leaves it to "
                f"{self._independent.__class__.__name__ if self._independent else 'a random sampler'}",
                UserWarning,
                stacklevel=2,
            )
        sampler = self._independent
        if sampler is None:  # random, and the same in every process that restores the study
            words = [self._study_seed(study), trial.number, zlib.crc32(param_name.encode())]
            sampler = optuna.samplers.RandomSampler(seed=int(np.random.SeedSequence(words).generate_state(1)[0]))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _study_seed(self, study: Any) -> int:
        """The seed of the study, drawn and kept in it the first time."""
        storage, identity = study._storage, study._study_id
        if SEED not in storage.get_study_system_attrs(identity):
            seed = self._seed if self._seed is not None else int(np.random.SeedSequence().generate_state(1)[0])
            storage.set_study_system_attr(identity, SEED, int(seed))
        return int(storage.get_study_system_attrs(identity)[SEED])

    def before_trial(self, study: Any, trial: Any) -> None:
        """Nothing to prepare."""

    def after_trial(self, study: Any, trial: Any, state: Any, values: Sequence[float] | None) -> None:
        """Nothing to keep: the study has it all."""

    def _beside(self, study: Any, number: int, batch: int, space: dict[str, Any], finished: list[Any]) -> list[Valued]:
        """Points ahead of a batch that were finished when the batch was; which ones is written down the first time."""
        storage, name = study._storage, f"{AHEAD}:{number}:{batch}"
        by_number = {one.number: one for one in finished}
        ahead = storage.get_study_system_attrs(study._study_id).get(name)
        if ahead is None:
            places = [(_place(one), one) for one in finished]
            ahead = [one.number for place, one in places if place and place[:2] == (number, batch) and place.row < 0]
            if ahead:
                storage.set_study_system_attr(study._study_id, name, ahead)
        known = [self._known(study, by_number[i], space) for i in ahead if i in by_number]
        return [(params, value) for params, value in known if np.isfinite(value)]

    def _free(
        self, replay: Replay, number: int, out: set[Place], values: Mapping[tuple[int, int], float]
    ) -> tuple[Place, dict[str, Any]] | None:
        """A point that nobody has: of the batch, or, if all of it is out, one ahead of it."""
        points = replay.points()
        for row, params in enumerate(points):
            place = Place(number, replay.batch, row)
            if place not in out:
                return place, params
        ahead = sum(place.batch == replay.batch and place.row < 0 for place in out)
        params = replay.ahead(values, guess_of(values.values()), ahead)
        return None if params is None else (Place(number, replay.batch, -1 - ahead), params)

    def _present(
        self, study: Any, names: list[str], space: dict[str, Any], trials: list[Any], finished: list[Any]
    ) -> tuple[int, Replay]:
        """The latest search of the study in this space, made again if need be."""
        attributes = study._storage.get_study_system_attrs(study._study_id)
        number = sum(f"{BEGAN}:{i}" in attributes for i in range(len(trials) + 1)) - 1
        if number < 0 or attributes[f"{BEGAN}:{number}"]["names"] != names:
            self._begin(study, number + 1, names, space, finished)
            return self._present(study, names, space, trials, finished)
        if (study._study_id, number) not in self._replays:
            how = attributes[f"{BEGAN}:{number}"]
            by_number = {one.number: one for one in trials}
            known = [self._known(study, by_number[i], space) for i in how["known"]]
            start = None if self._x0 is None or number else {f"p{i}": self._x0[name] for i, name in enumerate(names)}
            seed = int(attributes[SEED]) + number
            self._replays[study._study_id, number] = Replay(_space_of(space), how["budget"], seed, known, start)
        return number, self._replays[study._study_id, number]

    def _begin(self, study: Any, number: int, names: list[str], space: dict[str, Any], finished: list[Any]) -> None:
        """Write down with what a search begins."""
        storage, identity = study._storage, study._study_id
        self._study_seed(study)
        known = [one.number for one in finished if np.isfinite(self._value(study, one))]
        planned = self._planned * 2**number
        if not number:  # random trials are part of the plan
            planned = max(planned - min(len(finished), self._startup), 1)
        how = {"names": names, "known": known, "budget": planned}
        storage.set_study_system_attr(identity, f"{BEGAN}:{number}", how)

    def _known(self, study: Any, trial: Any, space: dict[str, Any]) -> Valued:
        return {f"p{i}": trial.params[name] for i, name in enumerate(space)}, self._value(study, trial)

    def _values(self, study: Any, finished: list[Any], number: int) -> dict[tuple[int, int], float]:
        """Values of the points of a search, by batch and row."""
        places = [(place, one) for one in finished if (place := _place(one)) is not None and place.search == number]
        return {(place.batch, place.row): self._value(study, one) for place, one in places if place.row >= 0}

    def _value(self, study: Any, trial: Any) -> float:
        """What is minimised; NaN for a trial without a value."""
        state = optuna.trial.TrialState
        value = trial.value if trial.state == state.COMPLETE else None
        if trial.state == state.PRUNED and self._pruned and trial.intermediate_values:
            value = trial.intermediate_values[max(trial.intermediate_values)]
        if value is None or not np.isfinite(value):
            return float("nan")
        return float(value) if study.direction == optuna.study.StudyDirection.MINIMIZE else -float(value)

    def _fits(self, trial: Any, space: dict[str, Any]) -> bool:
        """Whether a trial has a value for each parameter that this space allows."""
        if not all(name in trial.params for name in space):
            return False
        return all(one._contains(one.to_internal_repr(trial.params[name])) for name, one in space.items())


def _place(trial: Any) -> Place | None:
    stored = trial.system_attrs.get(PLACE)
    return None if stored is None else Place(*stored)


def _space_of(space: Mapping[str, Any]) -> Space:
    """Distributions as a space; names may be anything in Optuna, so they are numbered here."""
    return Space({f"p{i}": _parameter(one) for i, one in enumerate(space.values())})


def _parameter(distribution: Any) -> Parameter:
    kinds = optuna.distributions
    if isinstance(distribution, kinds.CategoricalDistribution):
        return Choice(*distribution.choices)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, kinds.IntDistribution):
        return Int(low, high, step, distribution.log)
    return Log(low, high) if distribution.log else Float(low, high, step)

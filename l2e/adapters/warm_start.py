"""CMA-ES warm-started by evaluations of similar problems (Nomura et al., AAAI 2021): of `cmaes`, and through Optuna."""

import dataclasses
from typing import Any

import numpy as np

from l2e.adapters.sources import Sources
from l2e.adapters.unit_cube import NothingFiniteError, UnitMeter, quiet
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.errors import require
from l2e.core.evaluator import Evaluator

SEEDS = 2**31 - 1


@dataclasses.dataclass(frozen=True, eq=False)
class WarmCMA(AbstractAdapter):
    """CMA-ES of the package `cmaes`, which begins with the mixture of Gaussians that `get_warm_start_mgd` fits.

    It restarts from the same distribution with a doubled population when it has converged.

    **Arguments:** `sources`: solved members; they are told by rank within their member.
    """

    sources: Sources

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        cmaes = require("cmaes", "bench")
        self.sources.check(space.dimension)
        meter = UnitMeter(evaluate, space)
        if start is not None:
            meter(meter.to_unit(start))
        told = list(zip(self.sources.points, self.sources.ranks.tolist(), strict=True))
        mean, sigma, covariance = cmaes.get_warm_start_mgd(told)
        bounds = np.tile([0.0, 1.0], (space.dimension, 1))
        size, rng = None, np.random.default_rng(seed)
        while True:
            number = int(rng.integers(SEEDS))
            search = cmaes.CMA(mean, sigma, bounds, seed=number, cov=covariance, population_size=size)
            while not search.should_stop():
                points = [search.ask() for _ in range(search.population_size)]
                try:
                    values = meter.finite(np.array(points))
                except NothingFiniteError:
                    continue
                search.tell(list(zip(points, values.tolist(), strict=True)))
            size = 2 * search.population_size


@dataclasses.dataclass(frozen=True, eq=False)
class OptunaSource(AbstractAdapter):
    """Optuna's `CmaEsSampler(source_trials=...)`, asked and told.

    **Arguments:** `sources`: solved members, which become completed trials with their rank for a value.
    """

    sources: Sources

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        optuna = require("optuna", "optuna")
        require("cmaes", "bench")  # Optuna imports it when it first samples
        self.sources.check(space.dimension)
        meter = UnitMeter(evaluate, space)
        if start is not None:
            meter(meter.to_unit(start))
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        named = self._distributions(optuna)
        trials = [
            optuna.trial.create_trial(params=dict(zip(named, point, strict=True)), distributions=named, value=rank)
            for point, rank in zip(self.sources.points.tolist(), self.sources.ranks.tolist(), strict=True)
        ]
        number = int(np.random.default_rng(seed).integers(SEEDS))
        with quiet("optuna"):
            sampler = optuna.samplers.CmaEsSampler(source_trials=trials, seed=number, warn_independent_sampling=False)
            study = optuna.create_study(sampler=sampler)
            while True:
                trial = study.ask(named)
                value = float(meter(np.array([trial.params[name] for name in named])))
                study.tell(trial, value if np.isfinite(value) else None, state=_state(optuna, value))

    def _distributions(self, optuna: Any) -> dict[str, Any]:
        one = optuna.distributions.FloatDistribution(0.0, 1.0)
        return {f"x{i:04d}": one for i in range(self.sources.dimension)}


def _state(optuna: Any, value: float) -> Any:
    states = optuna.trial.TrialState
    return states.COMPLETE if np.isfinite(value) else states.FAIL

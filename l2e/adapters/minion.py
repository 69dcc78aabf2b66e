"""minionpy (https://github.com/khoirulmuzakka/Minion, MIT): adaptive differential evolution in C++."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from l2e.adapters.unit_cube import UnitMeter, small_seed
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.errors import require, unknown
from l2e.core.evaluator import Evaluator

POPULATION_SIZES: dict[str, Callable[[int], int]] = {
    "LSHADE": lambda d: 18 * d,
    "JADE": lambda d: 30 if d <= 10 else 100 if d <= 30 else 200 if d <= 50 else 300 if d <= 70 else 400,
    "jSO": lambda d: max(10, int(25 * math.log(d) * math.sqrt(d))),
    "NLSHADE_RSP": lambda d: 30 * d,
    "NLSHADE_LBC": lambda d: 23 * d,
    "LSHADE_cnEpSin": lambda d: 18 * d,
    "LSRTDE": lambda d: 20 * d,
    "IMODE": lambda d: min(5000, max(18 * d, 6 * d * d)),
    "ARRDE": lambda d: 0,  # derives it from the budget, which is part of the method
}
"""Initial population sizes of the algorithms, after their papers."""

UNLIMITED_TOLD = 10_000
"""Evaluations per dimension told to the algorithm when there is no budget, as in the CEC competitions."""


@dataclasses.dataclass(frozen=True)
class Minion(AbstractAdapter):
    """One of minionpy's differential evolutions, told the evaluations that are left.

    Their populations shrink with the share of the budget that is used. Without a budget each run is told 10 000
    evaluations per dimension and followed by another. Their tests of convergence are off, as in the papers, so all of
    the budget is used. JADE keeps its population constant, as in its paper; minionpy would shrink it. `start` is the
    first member of the first population, and so the first evaluation. Failed evaluations are told as `+inf`, which
    ranks last.

    **Arguments:**

    - `algorithm`: one of `POPULATION_SIZES`.
    - `population_size`: of the first generation; None is the size of the algorithm's paper.
    """

    algorithm: str = "LSHADE"
    population_size: int | None = None

    def __post_init__(self) -> None:
        if self.algorithm not in POPULATION_SIZES:
            raise unknown("minion algorithm", self.algorithm, POPULATION_SIZES)
        if self.population_size is not None and self.population_size < 10:
            raise ValueError(f"population_size must be at least 10, got {self.population_size}")

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        minionpy = require("minionpy", "bench")
        meter = UnitMeter(evaluate, space)
        rng = np.random.default_rng(seed)
        size = self.population_size or POPULATION_SIZES[self.algorithm](meter.dimension)
        first = None if start is None else [meter.to_unit(start).tolist()]
        while True:
            told = UNLIMITED_TOLD * meter.dimension if evaluate.budget is None else evaluate.remaining
            objective = _Objective(meter)
            minimizer = minionpy.Minimizer(
                objective,
                [(0.0, 1.0)] * meter.dimension,
                x0=first,
                algo=self.algorithm,
                # With less than about two generations minionpy's shrinking populations become negative, and some of
                # its algorithms end the process. The evaluator stops at the true budget all the same.
                maxevals=max(told, 3 * max(size, 10)),
                seed=small_seed(rng),
                options=self._options(size),
            )
            objective.watch(minimizer.optimize)
            meter.check()
            first = None

    def _options(self, size: int) -> dict[str, Any]:
        options: dict[str, Any] = {"population_size": size, "x_tol": -1.0, "f_tol": -1.0}
        if self.algorithm == "JADE":
            options["minimum_population_size"] = size
        return options


class _Objective:
    """The meter as a C++ caller can use it, which turns any exception into a `RuntimeError` or returns normally."""

    def __init__(self, meter: UnitMeter):
        self._meter = meter
        self._error: BaseException | None = None

    def __call__(self, points: list[list[float]]) -> list[float]:
        if self._error is not None:
            raise self._error
        try:
            return self._meter(np.asarray(points)).tolist()
        except BaseException as error:
            self._error = error
            raise

    def watch(self, optimize: Callable[[], Any]) -> None:
        """Run the optimizer; whatever ended the objective comes out as itself."""
        try:
            optimize()
        except Exception:
            if self._error is None:
                raise
        if self._error is not None:
            raise self._error

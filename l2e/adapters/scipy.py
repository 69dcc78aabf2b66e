"""scipy.optimize's global searchers, and SLSQP, L-BFGS-B and COBYQA restarted at random points, in the unit cube."""

import contextlib
import dataclasses
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import differential_evolution, dual_annealing, minimize

from l2e.adapters.unit_cube import NothingFiniteError, UnitMeter, quiet
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.evaluator import Evaluator

ENDLESS = 10**9
"""An iteration limit that no run reaches: the evaluator decides when a search is over."""


@dataclasses.dataclass(frozen=True)
class ScipyDE(AbstractAdapter):
    """`scipy.optimize.differential_evolution`, one generation per batch, without polishing.

    It ends when all members have equal values and is then started anew, until the evaluator refuses. `start` is the
    first member of the first population, and so the first evaluation. Failed evaluations are told as `+inf`, which
    scipy ranks last.

    **Arguments:**

    - `strategy`, `init`: as in scipy.
    - `population_factor`: scipy's `popsize`, members per dimension.
    - `tolerance`: the spread of values, relative to their mean, at which a population has converged. scipy's 0.01
      would end a run early on any function whose minimum is far from zero.
    """

    strategy: str = "best1bin"
    init: str = "latinhypercube"
    population_factor: int = 15
    tolerance: float = 0.0

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space)
        rng = np.random.default_rng(seed)
        first = None if start is None else meter.to_unit(start)
        with quiet("scipy"):
            while True:
                differential_evolution(
                    lambda columns: meter(np.transpose(columns)),
                    [(0.0, 1.0)] * meter.dimension,
                    strategy=self.strategy,
                    maxiter=ENDLESS,
                    popsize=self.population_factor,
                    tol=self.tolerance,
                    rng=rng,
                    polish=False,
                    init=self.init,
                    updating="deferred",
                    x0=first,
                    vectorized=True,
                )
                meter.check()
                first = None


@dataclasses.dataclass(frozen=True)
class ScipyDualAnnealing(AbstractAdapter):
    """`scipy.optimize.dual_annealing`: generalised simulated annealing, with local searches by L-BFGS-B.

    It anneals again and again until the evaluator refuses, one point at a time. `start` is the first evaluation.
    Failed evaluations are told as worse than all values so far; before any success it begins again elsewhere.

    **Arguments:** `no_local_search`: plain annealing only.
    """

    no_local_search: bool = False

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space)
        rng = np.random.default_rng(seed)
        first = None if start is None else meter.to_unit(start)
        with quiet("scipy"):
            while True:
                with contextlib.suppress(NothingFiniteError):
                    dual_annealing(
                        meter.finite,
                        [(0.0, 1.0)] * meter.dimension,
                        maxiter=ENDLESS,
                        maxfun=ENDLESS,
                        rng=rng,
                        no_local_search=self.no_local_search,
                        x0=first,
                    )
                meter.check()
                first = None


@dataclasses.dataclass(frozen=True)
class ScipySLSQP(AbstractAdapter):
    """Sequential quadratic programming with finite differences (`scipy.optimize.minimize`, Kraft 1988), restarted.

    The first run starts at `start` or at the centre of the box, the following ones at uniformly random points, until
    the evaluator refuses. Each gradient costs d evaluations, all inside the box. Failed evaluations are told as worse
    than all values so far; before any success it begins again elsewhere.

    **Arguments:** `tolerance`: scipy's `ftol`, the precision of the value at which a run has converged.
    """

    tolerance: float = 1e-11

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space)
        options: dict[str, Any] = {"ftol": self.tolerance, "maxiter": ENDLESS}
        begin = np.full(meter.dimension, 0.5) if start is None else meter.to_unit(start)
        return restarted("SLSQP", meter, begin, seed, options)


@dataclasses.dataclass(frozen=True)
class ScipyLBFGSB(AbstractAdapter):
    """L-BFGS-B with finite differences (`scipy.optimize.minimize`, Byrd, Lu, Nocedal and Zhu 1995), restarted.

    As `ScipySLSQP`, and of linear cost in the dimension. The d points of a gradient are one batch.

    **Arguments:** `tolerance`: scipy's `ftol`, the relative gain at which a run has converged; `difference`: the step
    of forward differences, as a share of the box's width.
    """

    tolerance: float = 1e-14
    difference: float = 1e-9

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space)
        options: dict[str, Any] = {"ftol": self.tolerance, "gtol": 0.0, "maxiter": ENDLESS, "maxfun": ENDLESS}
        begin = np.full(meter.dimension, 0.5) if start is None else meter.to_unit(start)

        def both(x: np.ndarray) -> tuple[float, np.ndarray]:
            value = meter.finite(x)
            steps = np.where(x + self.difference > 1, -self.difference, self.difference)
            return value, (meter.finite(x + np.diag(steps)) - value) / steps

        return restarted("L-BFGS-B", meter, begin, seed, options, both)


@dataclasses.dataclass(frozen=True)
class ScipyCOBYQA(AbstractAdapter):
    """A trust region with quadratic models of 2 d + 1 points (`scipy.optimize.minimize`, Ragonneau 2022), restarted.

    The first run starts at `start` or at the centre of the box, the following ones at uniformly random points, until
    the evaluator refuses, one point at a time, all inside the box. Failed evaluations are told as worse than all values
    so far; before any success it begins again elsewhere. COBYQA moves a start that lies nearer to a face than its first
    radius; one that the user named is evaluated before. Its own cost grows with the cube of the dimension.

    **Arguments:** `first_radius`, `final_radius`: of the trust region, as shares of the box's width.
    """

    first_radius: float = 0.2
    final_radius: float = 1e-8

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space)
        options: dict[str, Any] = {
            "initial_tr_radius": self.first_radius,
            "final_tr_radius": self.final_radius,
            "maxiter": ENDLESS,
            "maxfev": ENDLESS,
        }
        begin = np.full(meter.dimension, 0.5) if start is None else meter.to_unit(start)
        if start is not None and self._moves(begin):
            meter(begin)
        return restarted("COBYQA", meter, begin, seed, options)

    def _moves(self, begin: np.ndarray) -> bool:
        """Whether COBYQA would begin somewhere else."""
        room = np.minimum(begin, 1 - begin)
        return bool(((room > 0) & (room < self.first_radius)).any())


def restarted(
    method: str, meter: UnitMeter, begin: np.ndarray, seed: int, options: dict[str, Any], both: Any = None
) -> NoReturn:
    """A local method of scipy from a point, then from random ones, until the evaluator refuses.

    **Arguments:** `both`: gives value and gradient of a point, for methods that take them together.
    """
    rng = np.random.default_rng(seed)
    bounds = [(0.0, 1.0)] * meter.dimension
    with quiet("scipy"):
        while True:
            with contextlib.suppress(NothingFiniteError):
                minimize(
                    both or meter.finite,
                    begin,
                    method=method,
                    jac=True if both else None,
                    bounds=bounds,
                    options=options,
                )
            meter.check()
            begin = rng.uniform(size=meter.dimension)

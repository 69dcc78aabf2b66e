"""pycma (Hansen et al., https://github.com/CMA-ES/pycma): CMA-ES and lq-CMA-ES, with and without restarts."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from l2e.adapters.unit_cube import NothingFiniteError, UnitMeter, quiet
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.cma_defaults import default_population
from l2e.core.errors import require, unknown
from l2e.core.evaluator import Evaluator

Restarts = Literal["none", "ipop", "bipop"]
Generation = Callable[[Any], None]


@dataclasses.dataclass(frozen=True)
class PyCMA(AbstractAdapter):
    """CMA-ES in the unit cube with pycma's own bound handling (a smooth transformation at the faces).

    The first run starts at `start`, which is evaluated first, or at the centre of the box; restarts begin at uniformly
    random points and go on until the evaluator refuses. Each run ends with an evaluation of its final mean. Failed
    evaluations are told as worse than all values so far; a generation before any success is sampled anew. Random
    numbers come from a generator of its own, never from numpy's global one.

    **Arguments:**

    - `restarts`: "none" (return at pycma's own convergence), "ipop" (double the population at each restart; Auger
      and Hansen, CEC 2005) or "bipop" (large populations in turn with small ones; Hansen, BBOB 2009).
    - `sigma`: the initial step size as a share of the width of the box.
    - `population_size`: of the first run; None is the usual 4 + floor(3 ln d).
    """

    restarts: Restarts = "none"
    sigma: float = 0.2
    population_size: int | None = None

    def __post_init__(self) -> None:
        _check(self)

    @staticmethod
    def default_population(dimension: int) -> int:
        """4 + floor(3 ln d)."""
        return default_population(dimension)

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        def prepare(meter: UnitMeter) -> Generation:
            def generation(strategy: Any) -> None:
                points = strategy.ask()
                strategy.tell(points, meter.finite(np.asarray(points)))

            return generation

        return _search(self, UnitMeter(evaluate, space), seed, start, prepare)


@dataclasses.dataclass(frozen=True)
class LQCMA(AbstractAdapter):
    """lq-CMA-ES: CMA-ES on a linear-quadratic surrogate, which decides how many points of a generation are evaluated.

    Hansen, "A global surrogate assisted CMA-ES", GECCO 2019. Strong where a global quadratic model fits; it evaluates
    one point at a time, and the model costs about 1 ms per evaluation in 5 to 10 dimensions, 6 ms in 20. Each restart
    begins with an empty model, and the model's minimum is injected into the next generation, as in `cma.fmin_lq_surr2`.

    **Arguments:** as for `PyCMA`; the default is to restart with doubled populations.
    """

    restarts: Restarts = "ipop"
    sigma: float = 0.2
    population_size: int | None = None

    def __post_init__(self) -> None:
        _check(self)

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        def prepare(meter: UnitMeter) -> Generation:
            surrogate = require("cma.fitness_models", "bench").SurrogatePopulation(meter.finite)

            def generation(strategy: Any) -> None:
                points = strategy.ask()
                strategy.tell(points, surrogate(points))
                strategy.countevals = surrogate.evaluations  # so that pycma, too, counts only true evaluations
                strategy.inject([surrogate.model.xopt])

            return generation

        return _search(self, UnitMeter(evaluate, space), seed, start, prepare)


class _Plan(NamedTuple):
    """Settings of one run."""

    population_size: int
    sigma: float
    iterations: float = math.inf


def _search(
    method: PyCMA | LQCMA,
    meter: UnitMeter,
    seed: int,
    start: np.ndarray | None,
    prepare: Callable[[UnitMeter], Generation],
) -> str:
    """Run once, or again and again; `prepare` gives what one run does in each generation."""
    cma = require("cma", "bench")
    if meter.dimension < 2:
        raise ValueError("pycma does not support one dimension; the box must have at least two coordinates")
    rng = np.random.default_rng(seed)
    mean = np.full(meter.dimension, 0.5)
    if start is not None:
        mean = meter.to_unit(start)
        meter(mean)
    reason = ""
    with quiet("cma"):
        for plan in _plans(method, meter, rng):
            strategy = cma.CMAEvolutionStrategy(mean, plan.sigma, _options(plan, rng))
            reason = _run_once(strategy, meter, plan, prepare(meter))
            mean = rng.uniform(size=meter.dimension)
    return f"converged: {reason}"


def _run_once(strategy: Any, meter: UnitMeter, plan: _Plan, generation: Generation) -> str:
    while not strategy.stop() and strategy.countiter < plan.iterations:
        try:
            generation(strategy)
        except NothingFiniteError:
            continue  # no ranking can be told, but asking again samples other points
    meter(strategy.result.xfavorite)
    return ", ".join(strategy.stop(check=False))


def _plans(method: PyCMA | LQCMA, meter: UnitMeter, rng: np.random.Generator) -> Iterator[_Plan]:
    """The first run, then its restarts. A run's evaluations are known when the next plan is asked for."""
    smallest = method.population_size or default_population(meter.dimension)
    yield _Plan(smallest, method.sigma)
    if method.restarts == "none":
        return
    # BIPOP gives the next run to the regime that has used less; the first run counts as a small one.
    small, large, doublings = meter.used, 0, 0
    while True:
        begun = meter.used
        if method.restarts == "bipop" and small < large:
            size = int(smallest * 2 ** (doublings * rng.uniform() ** 2))
            yield _Plan(size, method.sigma * 10 ** (-2 * rng.uniform()), max(1, large // (2 * size)))
            small += meter.used - begun
        else:
            doublings += 1
            yield _Plan(smallest * 2**doublings, method.sigma)
            large += meter.used - begun


def _options(plan: _Plan, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "bounds": [0.0, 1.0],
        "popsize": plan.population_size,
        "randn": lambda *shape: rng.standard_normal(shape),
        "seed": np.nan,  # leaves numpy's global generator alone; `randn` is seeded
        "verbose": -10,  # silent, and deaf to the signals file pycma would read from the current folder
        "verb_log": 0,
        "verb_disp": 0,
    }


def _check(method: PyCMA | LQCMA) -> None:
    if method.restarts not in get_args(Restarts):
        raise unknown("restarts", method.restarts, get_args(Restarts))
    if not 0 < method.sigma <= 1:
        raise ValueError(f"sigma is a share of the width of the box, between 0 and 1; got {method.sigma}")
    if method.population_size is not None and method.population_size < 4:
        raise ValueError(f"population_size must be at least 4, got {method.population_size}")

"""evosax (Lange, https://github.com/RobertTLange/evosax): learned evolution strategies with their bundled weights."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from l2e.adapters.evotf import with_kept_encodings
from l2e.adapters.unit_cube import NothingFiniteError, UnitMeter, quiet
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import Box
from l2e.core.errors import require, unknown
from l2e.core.evaluator import Evaluator
from l2e.core.traced import runtime
from l2e.core.traced.keys import as_key

HALF_WIDTH = 5.0
"""The box is mapped to [-5, 5]^d, the domain of the BBOB functions on which LES was meta-trained."""

LARGEST = 1e15
"""Values are told in float32, so they are damped beyond this: their squares must stay below 1e38."""

STRATEGIES = {"LES": "LearnedES", "EvoTF": "EvoTF_ES", "CMAAnchoredLES": "CMAAnchoredLES"}
"""The distribution-based methods, and the names of their classes in evosax."""


@dataclasses.dataclass(frozen=True)
class EvosaxES(AbstractAdapter):
    """A learned evolution strategy: LES (Lange et al., ICLR 2023), EvoTF (2024) or CMA-anchored LES (evosax 0.3.2).

    evosax knows no bounds. Points are clipped to the box before they are evaluated, and the clipped points are what
    the method is told, so value and point belong together; the mean is clipped as well, else a method could drift to
    where every sample is clipped to the same face. The mean starts at `start`, which is evaluated first, or at the
    centre. Failed evaluations are told as worse than all values so far. The methods never end by themselves.

    They run in float64, unlike evosax's default, in which differences of values below 1e-7 of their size are not seen:
    on the BBOB sphere in 10 dimensions, whose minimum is 79.48, CMAAnchoredLES ended 1e-6 above it after 4000
    evaluations in float32, and at it in float64.

    **Arguments:**

    - `algorithm`: "LES", "EvoTF" or "CMAAnchoredLES".
    - `population_size`: points per generation.
    - `standard_deviation`: of the first sample, in a box of width 10. evosax's own default for CMAAnchoredLES is
      0.05, which did worse on 16 BBOB functions in 10 dimensions with 2000 evaluations.
    """

    algorithm: str = "LES"
    population_size: int = 16
    standard_deviation: float = 1.0

    def __post_init__(self) -> None:
        if self.algorithm not in STRATEGIES:
            raise unknown("evosax algorithm", self.algorithm, STRATEGIES)
        _check(self.population_size, self.standard_deviation)

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space, LARGEST)
        algorithm = _build(STRATEGIES[self.algorithm], self.population_size, meter.dimension)
        params = algorithm.default_params.replace(std_init=self.standard_deviation)
        key = as_key(seed)
        mean = np.zeros(meter.dimension)
        if start is not None:
            mean = _scaled(meter.to_unit(start))
            meter(meter.to_unit(start))
        with quiet("evosax", "flax", "jax"), runtime.float64():
            while True:
                key, init_key, run_key, mean_key = jax.random.split(key, 4)
                state = algorithm.init(init_key, jnp.asarray(mean), params)
                _generations(algorithm, params, state, meter, run_key, _clip_mean)
                mean = np.asarray(
                    jax.random.uniform(mean_key, (meter.dimension,), minval=-HALF_WIDTH, maxval=HALF_WIDTH)
                )


@dataclasses.dataclass(frozen=True)
class EvosaxLGA(AbstractAdapter):
    """The learned genetic algorithm LGA (Lange et al., GECCO 2023).

    Its first population is uniform in the box, evaluated and counted; `start` is its first member, and so the first
    evaluation. Bounds, failures and precision as for `EvosaxES`: children are clipped to the box, and the clipped
    ones are evaluated and told. evosax takes other weights beyond 50 dimensions.

    **Arguments:**

    - `population_size`: points per generation.
    - `standard_deviation`: of the first mutations, in a box of width 10.
    """

    population_size: int = 16
    standard_deviation: float = 1.0

    def __post_init__(self) -> None:
        _check(self.population_size, self.standard_deviation)

    def run(self, evaluate: Evaluator, space: Box, seed: int, start: np.ndarray | None = None) -> str:
        meter = UnitMeter(evaluate, space, LARGEST)
        algorithm = _build("LearnedGA", self.population_size, meter.dimension)
        params = algorithm.default_params.replace(std_init=self.standard_deviation)
        key = as_key(seed)
        shape = (self.population_size, meter.dimension)
        with quiet("evosax", "flax", "jax"), runtime.float64():
            while True:
                key, init_key, run_key, sample_key = jax.random.split(key, 4)
                points = np.array(jax.random.uniform(sample_key, shape, minval=-HALF_WIDTH, maxval=HALF_WIDTH))
                if start is not None:
                    points[0], start = _scaled(meter.to_unit(start)), None
                try:
                    values = meter.finite(_unit(points))
                except NothingFiniteError:
                    continue
                state = algorithm.init(init_key, points, jnp.asarray(values, points.dtype), params)
                _generations(algorithm, params, state, meter, run_key, lambda state: state)


def _generations(
    algorithm: Any, params: Any, state: Any, meter: UnitMeter, key: Any, repair: Callable[[Any], Any]
) -> None:
    """Ask, evaluate and tell until the evaluator refuses; return only if the numbers of the method break down."""
    while True:
        key, ask_key, tell_key = jax.random.split(key, 3)
        asked, asking = algorithm.ask(ask_key, state, params)
        points = np.clip(np.asarray(asked), -HALF_WIDTH, HALF_WIDTH)
        if not np.isfinite(points).all():
            return
        try:
            values = meter.finite(_unit(points))
        except NothingFiniteError:
            continue  # no ranking can be told; the next sample is another one
        state, _ = algorithm.tell(tell_key, points, jnp.asarray(values, points.dtype), asking, params)
        state = repair(state)


def _clip_mean(state: Any) -> Any:
    return state.replace(mean=np.clip(np.asarray(state.mean), -HALF_WIDTH, HALF_WIDTH))


@functools.lru_cache(maxsize=64)
def _build(name: str, population_size: int, dimension: int) -> Any:
    """The algorithm, made once for each shape: evosax compiles anew for each object, equal or not."""
    with quiet("evosax", "flax", "jax"), runtime.float64():
        algorithms = require("evosax.algorithms", "bench")
        algorithm = getattr(algorithms, name)(population_size, jnp.zeros(dimension))
        return with_kept_encodings(algorithm) if name == STRATEGIES["EvoTF"] else algorithm


def _unit(points: np.ndarray) -> np.ndarray:
    return (points.astype(np.float64) + HALF_WIDTH) / (2 * HALF_WIDTH)


def _scaled(unit: np.ndarray) -> np.ndarray:
    return unit * (2 * HALF_WIDTH) - HALF_WIDTH


def _check(population_size: int, standard_deviation: float) -> None:
    if population_size < 4:
        raise ValueError(f"population_size must be at least 4, got {population_size}")
    if not 0 < standard_deviation <= 2 * HALF_WIDTH:
        raise ValueError(f"standard_deviation must be between 0 and {2 * HALF_WIDTH}, got {standard_deviation}")

"""The 24 noiseless BBOB functions of COCO, in JAX: any instance, any dimension.

Hansen, Finck, Ros, Auger (2009), RR-6829. The instances are COCO's official ones, so results compare with
published COCO data; unlike COCO's, these can be compiled, mapped over instances and differentiated.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.box import Box, box
from l2e.core.problem import Optimum
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Key, Points, Values
from l2e.problems._bbob import generator as generator
from l2e.problems._bbob.functions import FORMULAS, LUNACEK_FUNNEL, SCHWEFEL_PEAK
from l2e.problems._bbob.parameters import PEAKED, Parameters, parameters, peaks_around, stretch

NAMES = (
    "Sphere",
    "Ellipsoid separable",
    "Rastrigin separable",
    "Bueche-Rastrigin",
    "Linear slope",
    "Attractive sector",
    "Step ellipsoid",
    "Rosenbrock",
    "Rosenbrock rotated",
    "Ellipsoid rotated",
    "Discus",
    "Bent cigar",
    "Sharp ridge",
    "Different powers",
    "Rastrigin rotated",
    "Weierstrass",
    "Schaffers F7",
    "Schaffers F7 ill-conditioned",
    "Griewank-Rosenbrock",
    "Schwefel",
    "Gallagher 101 peaks",
    "Gallagher 21 peaks",
    "Katsuura",
    "Lunacek bi-Rastrigin",
)
"""The names of f1, f2, ..., f24."""

GROUPS = {
    "separable": (1, 2, 3, 4, 5),
    "moderate": (6, 7, 8, 9),
    "ill-conditioned": (10, 11, 12, 13, 14),
    "multi-modal": (15, 16, 17, 18, 19),
    "weakly structured": (20, 21, 22, 23, 24),
}
"""The five groups in which BBOB results are reported."""


class BBOB(AbstractTraceableProblem):
    """One instance of a BBOB function, on the box [-5, 5]^d and defined everywhere.

    The parameters are array leaves: instances of one function and dimension share one compilation, and can be
    stacked with `l2e.core.traced.problem.stack` and mapped over. Values are computed in the dtype of the points.
    """

    space: Box
    parameters: Parameters
    function: int = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        points = jnp.asarray(points)
        parameters = jax.tree.map(lambda leaf: jnp.asarray(leaf, points.dtype), self.parameters)
        return FORMULAS[self.function - 1](points.T, parameters) + parameters.f_opt

    @property
    def optimum(self) -> Optimum:
        """The minimum and where it is."""
        return Optimum(np.asarray(self.parameters.x_opt), float(self.parameters.f_opt))


def bbob(function: int, instance: int = 1, dimension: int = 10) -> BBOB:
    """An official BBOB instance of COCO.

    ```python
    problem = l2e.problems.bbob(function=10, instance=3, dimension=20)
    problem(np.zeros(20))  # the value COCO gives
    ```

    **Arguments:** `function`: 1 to 24; `instance`: from 1; `dimension`: from 2 (COCO itself offers up to 40).

    **Raises:** `ValueError` or `TypeError` for anything else.
    """
    function, dimension = check_function(function), check_integer("dimension", dimension, 2)
    instance = check_integer("instance", instance, 1)
    seed = generator.seed_of(function, instance)
    rotations = generator.rotations(function, dimension, seed)
    peaks = None
    if function in PEAKED:
        raw = generator.gallagher_peaks(function, dimension, seed)
        peaks, x_opt = peaks_around(*raw, rotations[0]), raw.places[0]
    elif function in (20, 24):
        x_opt = place(function, generator.signs(function, dimension, seed), rotations[0])
    else:
        x_opt = place(function, generator.shift(function, dimension, seed), rotations[0])
    f_opt = np.asarray(generator.offset(function, instance))
    drawn = parameters(function, (x_opt, f_opt), rotations, peaks)
    return BBOB(search_box(dimension), drawn, function, NAMES[function - 1])


def place(function: int, shift: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Where a function has its optimum, given a shift (for f20 and f24: signs)."""
    match function:
        case 4:
            return np.where(np.arange(len(shift)) % 2 == 0, np.abs(shift), shift)
        case 5:
            return np.where(shift < 0, -5.0, 5.0)
        case 8:
            return 0.75 * shift
        case 9 | 19:
            return rotation.T @ np.full(len(shift), 0.5) / stretch(len(shift))
        case 20:
            return 0.5 * SCHWEFEL_PEAK * shift
        case 24:
            return 0.5 * LUNACEK_FUNNEL * shift
        case _:
            return shift


def search_box(dimension: int) -> Box:
    """The box [-5, 5]^d of all BBOB functions."""
    return box([(-5, 5)] * dimension)


def check_function(function: Any) -> int:
    """The number of a BBOB function, or an error that says what is allowed."""
    number = check_integer("function", function, 1)
    if number > len(NAMES):
        raise ValueError(f"function must be between 1 and {len(NAMES)}, got {number}")
    return number


def check_integer(what: str, given: Any, least: int) -> int:
    """An integer that is not too small, or an error that says what is allowed."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(f"{what} must be an integer, got {given!r}")
    if given < least:
        raise ValueError(f"{what} must be at least {least}, got {given}")
    return int(given)

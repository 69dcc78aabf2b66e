"""The 15 functions of the CEC'2013 competition on large-scale global optimization, in JAX.

X. Li, K. Tang, M. N. Omidvar, Z. Yang, K. Qin, "Benchmark Functions for the CEC'2013 Special Session and Competition
on Large-Scale Global Optimization", RMIT University, 2013. With the official data files the values are those of the
competition; without them the data are drawn from a seed by the same recipe.
"""

import itertools
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from l2e.core.box import Box, box
from l2e.core.problem import Optimum
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Key, Points, Values
from l2e.problems._bbob.suite import check_integer
from l2e.problems._lsgo import data as recipe
from l2e.problems._lsgo.formulas import GROUPED, UNGROUPED

DATA_VARIABLE = "L2E_LSGO_DATA"
"""Environment variable: the folder of the official data files."""

NAMES = (
    "Elliptic",
    "Rastrigin",
    "Ackley",
    "7 groups and a separable rest, Elliptic",
    "7 groups and a separable rest, Rastrigin",
    "7 groups and a separable rest, Ackley",
    "7 groups and a separable rest, Schwefel 1.2",
    "20 groups, Elliptic",
    "20 groups, Rastrigin",
    "20 groups, Ackley",
    "20 groups, Schwefel 1.2",
    "Rosenbrock",
    "20 overlapping groups that agree, Schwefel 1.2",
    "20 overlapping groups in conflict, Schwefel 1.2",
    "Schwefel 1.2",
)
"""The names of f1, f2, ..., f15."""

LSGO_GROUPS = {
    "separable": (1, 2, 3),
    "partially separable with a separable rest": (4, 5, 6, 7),
    "partially separable": (8, 9, 10, 11),
    "overlapping": (12, 13, 14),
    "non-separable": (15,),
}
"""The five groups in which LSGO results are reported."""

LSGO_PAPER_TEST = (1, 2, 3, 4, 5, 6)
"""The functions of the L2E paper's LSGO table; it trains on the others."""


class Groups(eqx.Module):
    """The groups of one size.

    **Fields:** `members`: the variables of each group; `optima`: where each group has its minimum; `rotation`: shared
    by all groups of this size; `weights`: of each group in the sum.
    """

    members: Int[Array, "k s"]
    optima: Float[Array, "k s"]
    rotation: Float[Array, "s s"]
    weights: Float[Array, "k"]


class Parameters(eqx.Module):
    """The arrays of one function.

    **Fields:** `x_opt`: the optimum, None for f14, whose groups disagree; `groups`: by size; `rest`: the variables that
    belong to no group, None for none or, if there are no groups, all.
    """

    x_opt: Float[Array, "d"] | None
    groups: tuple[Groups, ...]
    rest: Int[Array, "r"] | None


class LSGO(AbstractTraceableProblem):
    """One function of the suite, on the box [-w, w]^d and defined everywhere.

    The data are array leaves, so the same function with other data shares its compilation. Values are computed in the
    dtype of the points.
    """

    space: Box
    parameters: Parameters
    function: int = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        points = jnp.asarray(points)
        p = jax.tree.map(lambda leaf: _cast(leaf, points.dtype), self.parameters)
        total = jnp.zeros(points.shape[0], points.dtype)
        for groups in p.groups:
            turned = (points[:, groups.members] - groups.optima) @ groups.rotation.T
            total = total + GROUPED[self.function](turned) @ groups.weights
        if self.function not in UNGROUPED:
            return total
        apart = points - p.x_opt if p.rest is None else points[:, p.rest] - p.x_opt[p.rest]
        return total + UNGROUPED[self.function](apart)

    @property
    def optimum(self) -> Optimum | None:
        """The minimum 0 and where it is; None for f14, of which only the lower bound 0 is known."""
        x_opt = self.parameters.x_opt
        return None if x_opt is None else Optimum(np.asarray(x_opt), 0.0)


def lsgo(function: int = 1, data: str | os.PathLike[str] | None = None, instance: int | None = None) -> LSGO:
    """A function of CEC'2013 LSGO: 1000 variables, 905 for f13 and f14.

    ```python
    problem = l2e.problems.lsgo(function=1, data="cec2013lsgo/cdatafiles")
    problem(np.zeros(1000))  # 209833896353.3435, as in the competition
    ```

    **Arguments:**

    - `function`: 1 to 15.
    - `data`: a folder with the official files `F1-xopt.txt`, `F4-p.txt`, ...; if not given, the folder that the
      environment variable `L2E_LSGO_DATA` names.
    - `instance`: draw the data from this seed, from 1, and read nothing; instance 1 is also what you get when neither
      `data` nor the variable names a folder.

    **Raises:** `ValueError` or `TypeError` for other arguments and for malformed files; `FileNotFoundError` for missing
    ones.
    """
    function = check_function(function)
    if data is not None and instance is not None:
        raise ValueError("give either data, for the official functions, or instance, for generated ones")
    folder = data if data is not None or instance is not None else os.environ.get(DATA_VARIABLE)
    if folder:
        return build(function, recipe.read(function, Path(folder).expanduser()))
    return build(function, recipe.generate(function, check_integer("instance", 1 if instance is None else instance, 1)))


def official_lsgo(function: int = 1) -> LSGO:
    """A function of CEC'2013 LSGO with the official data, from the folder that `L2E_LSGO_DATA` names."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise FileNotFoundError(
            f"the official LSGO functions need their data files; name the folder: export {DATA_VARIABLE}=..."
        )
    return lsgo(function, data=folder)


def lsgo_dimension(function: int) -> int:
    """How many variables a function has."""
    return recipe.DIMENSIONS[check_function(function)]


def build(function: int, data: recipe.Data) -> LSGO:
    """Put a function and its data together."""
    width, dimension = recipe.HALF_WIDTHS[function], recipe.DIMENSIONS[function]
    x_opt: Any = None if function == recipe.CONFLICTING else data.places
    groups, rest = ((), None) if data.groups is None else _grouped(function, data.places, data.groups)
    return LSGO(box([(-width, width)] * dimension), Parameters(x_opt, groups, rest), function, NAMES[function - 1])


def check_function(function: Any) -> int:
    """The number of an LSGO function, or an error that says what is allowed."""
    number = check_integer("function", function, 1)
    if number > len(NAMES):
        raise ValueError(f"function must be between 1 and {len(NAMES)}, got {number}")
    return number


def _grouped(function: int, places: np.ndarray, groups: recipe.Groups) -> tuple[tuple[Groups, ...], Any]:
    """The groups of each size, and the variables that are left."""
    overlap = recipe.OVERLAPS.get(function, 0)
    members, optima = [], []
    for i, (size, end) in enumerate(zip(groups.sizes, itertools.accumulate(groups.sizes), strict=True)):
        first = end - size - i * overlap
        members.append(groups.order[first : first + size])
        optima.append(places[end - size : end] if function == recipe.CONFLICTING else places[members[-1]])

    def of_size(size: int, rotation: Any) -> Groups:
        chosen = [i for i, other in enumerate(groups.sizes) if other == size]
        stacked: list[Any] = [np.stack([array[i] for i in chosen]) for array in (members, optima)]
        return Groups(stacked[0], stacked[1], rotation, weights[chosen])

    weights: Any = groups.weights
    left = groups.order[recipe.taken(groups.sizes, overlap) :]
    return tuple(of_size(*item) for item in groups.rotations.items()), left if function in UNGROUPED else None


def _cast(leaf: Any, dtype: Any) -> Array:
    return jnp.asarray(leaf, dtype if jnp.issubdtype(leaf.dtype, jnp.floating) else jnp.int32)

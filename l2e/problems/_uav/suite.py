"""Path planning for a drone as problems: 56 terrains, ten way-points, thirty coordinates."""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from l2e.core.box import Box, box
from l2e.core.problem import as_batch
from l2e.core.traced import runtime
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Key, Points, Values
from l2e.problems._bbob.suite import check_integer
from l2e.problems._uav import cost
from l2e.problems._uav.official import load_terrain
from l2e.problems._uav.terrain import Numbers, Terrain, check_terrain, draw_terrain

DIMENSION = 3 * cost.WAYPOINTS

DATA_VARIABLE = "L2E_UAV_DATA"
"""Environment variable: a file with terrains to use instead of the drawn ones."""

GROUP_SIZE = 8
"""Terrains in each of the seven groups in which the L2E paper reports them."""


class UAV(AbstractTraceableProblem):
    """The cheapest path over one terrain.

    A point is ten triples (distance, climb angle, azimuth). No optimum is known, and reports show the cost itself. All
    terrains are of one structure, so they share one compilation and can be stacked.
    """

    space: Box
    terrain: Terrain
    number: Int[Numbers, ""]

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        return cost.cost(self._terms(jnp.asarray(points))[1])

    def path(self, point: Any) -> Float[np.ndarray, "p 3"]:
        """The path that a point stands for, start and end included: x, y and height above sea level."""
        way, _ = self._on_host(point)
        return np.stack([way.x[0], way.y[0], way.height[0]], axis=1)

    def terms(self, points: Any) -> cost.Terms:
        """The terms of the cost, before they are weighted, of one point or a batch: n numbers each."""
        return self._on_host(points)[1]

    @property
    def name(self) -> str:
        """As the paper calls it."""
        return f"Terrain {int(self.number)}"

    @property
    def group(self) -> str:
        """The group of terrains in which the paper reports it."""
        return group_of(int(self.number))

    def _terms(self, points: Points) -> tuple[cost.Path, cost.Terms]:
        terrain = self.terrain.of_type(points.dtype)
        way = cost.path(points, terrain)
        return way, cost.terms(way, terrain)

    def _on_host(self, points: Any) -> tuple[Any, Any]:
        batch, _ = as_batch(points, self.dimension)
        with runtime.float64():
            return jax.tree.map(np.asarray, _look(self, batch))


@jax.jit
def _look(problem: UAV, points: Points) -> tuple[cost.Path, cost.Terms]:
    return problem._terms(jnp.asarray(points))


def group_of(number: int) -> str:
    """The group of a terrain."""
    first = (number - 1) // GROUP_SIZE * GROUP_SIZE + 1
    return f"Terrain {first}-{first + GROUP_SIZE - 1}"


def uav(terrain: int = 1, seed: int = 0, data: str | os.PathLike[str] | None = None) -> UAV:
    """Plan the path of a drone over a terrain with threats, in 30 dimensions.

    ```python
    problem = l2e.problems.uav(terrain=3)
    result = l2e.minimize(problem, budget=2500)
    problem.path(result.x)  # twelve points, start and end included
    ```

    **Arguments:**

    - `terrain`: 1 to 56; those with odd numbers have 15 threats, the others 30.
    - `seed`: 0 for the terrains of the suite, others for 56 further ones each.
    - `data`: a file with the official terrains, see `l2e.problems._uav.official`; the environment variable
      `L2E_UAV_DATA` if not given, and terrains drawn from the seed if there is neither.

    **Raises:** `ValueError` or `TypeError` for anything else; `FileNotFoundError` for a file that is not there.
    """
    seed = check_integer("seed", seed, 0)
    if data is None and not os.environ.get(DATA_VARIABLE):
        return drawn_uav(terrain, seed)
    if seed != 0:
        raise ValueError(f"terrains read from a file have no seed; leave seed or data ({DATA_VARIABLE}) out")
    return official_uav(terrain, data)


def drawn_uav(terrain: int = 1, seed: int = 0) -> UAV:
    """A problem of the suite `uav`, whether or not there is a file with other terrains."""
    number = check_terrain(terrain)
    return problem(draw_terrain(number, check_integer("seed", seed, 0)), number)


def official_uav(terrain: int = 1, data: str | os.PathLike[str] | None = None) -> UAV:
    """A problem of the suite `official-uav`: a terrain read from a file, by default the one `L2E_UAV_DATA` names."""
    number = check_terrain(terrain)
    source = data if data is not None else os.environ.get(DATA_VARIABLE)
    if not source:
        raise FileNotFoundError(f"the official terrains are a file that is not part of l2e: name it by {DATA_VARIABLE}")
    return problem(load_terrain(source, number), number)


def problem(terrain: Terrain, number: int) -> UAV:
    """The problem of flying over this terrain."""
    way = np.asarray(terrain.end) - np.asarray(terrain.start)
    reach = 2 * np.linalg.norm(way) / cost.WAYPOINTS
    azimuth = np.arctan2(way[1], way[0])
    bounds = [(0, reach), (-np.pi / 4, np.pi / 4), (azimuth - np.pi / 4, azimuth + np.pi / 4)]
    return UAV(box(bounds * cost.WAYPOINTS), terrain, np.asarray(number))

"""Particle swarm optimization with inertia and a global best.

J. Kennedy, R. Eberhart, "Particle swarm optimization", ICNN 1995, 1942-1948; the default constants are those of
M. Clerc, J. Kennedy, "The particle swarm - explosion, stability, and convergence in a multidimensional complex space",
IEEE Transactions on Evolutionary Computation 6 (2002) 58-73.
"""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.population import as_arrays, check_range, check_size, failed_last, first_population, leaf, uniform
from l2e.core import errors
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Values

Walls = Literal["absorb", "clip"]


class PSOState(eqx.Module):
    """The swarm in the unit cube."""

    space: Box
    key: Key
    positions: Points
    velocities: Points  # in box widths per generation
    best_positions: Points  # of each particle
    best_values: Values


class PSO(AbstractAlgorithm[PSOState]):
    """Particles drawn to their own best point and to the best of all.

    ```
    v <- inertia * v + cognitive * r1 * (own best - x) + social * r2 * (global best - x),   x <- x + v
    ```

    with uniform random numbers r1, r2 for each coordinate and |v| held below a limit. All particles move together, so
    they share the global best of the generation before.

    **Arguments:**

    - `population_size`: number of particles.
    - `walls`: a particle that meets a face of the box stays on it, and its velocity across the face becomes zero
      ("absorb") or stays ("clip").
    - `inertia`, `cognitive`, `social`: the weights above.
    - `velocity_limit`: largest speed in a coordinate, as a share of the box; starting velocities are uniform within.
    """

    population_size: int = eqx.field(static=True, default=40)
    walls: Walls = eqx.field(static=True, default="absorb")
    inertia: Any = eqx.field(converter=leaf, default=0.7298)
    cognitive: Any = eqx.field(converter=leaf, default=1.49618)
    social: Any = eqx.field(converter=leaf, default=1.49618)
    velocity_limit: Any = eqx.field(converter=leaf, default=0.2)

    def __check_init__(self) -> None:
        if self.walls not in get_args(Walls):
            raise errors.unknown("walls", self.walls, get_args(Walls))
        check_size("population_size", self.population_size, 2, "a particle and another to learn from")
        check_range("inertia", self.inertia, 0, 1)
        check_range("cognitive", self.cognitive, 0, 4)
        check_range("social", self.social, 0, 4)
        check_range("velocity_limit", self.velocity_limit, 0, 1)

    @classmethod
    def paper(cls) -> "PSO":
        """The PSO of the platform that the L2E paper's tables were made with.

        It has no inertia below 1, so it does not converge: a weak baseline by construction. There each particle sees
        the global best as of the particle before it; here all move together.
        """
        return cls(50, "clip", inertia=1.0, cognitive=2.0, social=2.0, velocity_limit=0.25)

    def init(self, space: Box, key: Key, start: Point | None = None) -> PSOState:
        space = as_arrays(space)
        key, first_key, velocity_key = jax.random.split(key, 3)
        positions = first_population(space, first_key, self.population_size, start)
        limit = jnp.asarray(self.velocity_limit, positions.dtype)
        velocities = (2 * uniform(velocity_key, positions.shape, positions.dtype) - 1) * limit
        values = jnp.full((self.population_size,), jnp.inf, positions.dtype)
        return PSOState(space, key, positions, velocities, positions, values)

    def ask(self, state: PSOState) -> Points:
        return state.space.from_unit(state.positions)

    def wanted(self, state: PSOState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def tell(self, state: PSOState, values: Values) -> PSOState:
        values = failed_last(values, state.best_values)
        better = values < state.best_values
        best_positions = jnp.where(better[:, None], state.positions, state.best_positions)
        best_values = jnp.where(better, values, state.best_values)
        key, move_key = jax.random.split(state.key)
        positions, velocities = self._move(state, best_positions, best_values, move_key)
        return PSOState(state.space, key, positions, velocities, best_positions, best_values)

    def _move(self, state: PSOState, best: Points, best_values: Values, key: Key) -> tuple[Points, Points]:
        x, dtype = state.positions, state.positions.dtype
        inertia, cognitive, social, limit = (
            jnp.asarray(weight, dtype) for weight in (self.inertia, self.cognitive, self.social, self.velocity_limit)
        )
        r1, r2 = uniform(key, (2, *x.shape), dtype)
        leader = best[jnp.argmin(best_values)]
        velocities = inertia * state.velocities + cognitive * r1 * (best - x) + social * r2 * (leader - x)
        velocities = jnp.clip(velocities, -limit, limit)
        positions = jnp.clip(x + velocities, 0, 1)
        if self.walls == "absorb":
            velocities = jnp.where(positions == x + velocities, velocities, 0)
        return positions, velocities

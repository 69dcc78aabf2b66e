"""A tiny learned optimizer: individuals move towards a weighted mean of the population, better ones replace."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.meta import FunctionTasks


class ToyState(eqx.Module):
    space: object
    points: jax.Array
    values: jax.Array
    trials: jax.Array
    key: jax.Array


class Toy(AbstractAlgorithm[ToyState]):
    weights: jax.Array  # greed, step, two of noise
    size: int = eqx.field(static=True, default=12)
    greedy: bool = eqx.field(static=True, default=True)
    alpha: np.ndarray = eqx.field(converter=np.asarray, default=0.9)

    def init(self, space, key, start=None):
        key, first = jax.random.split(key)
        points = jax.random.uniform(first, (self.size, space.dimension), space.lower.dtype)
        return ToyState(space, points, jnp.full(self.size, jnp.inf, points.dtype), points, key)

    def ask(self, state):
        return state.space.from_unit(state.trials)

    def wanted(self, state):
        return jnp.asarray(self.size, jnp.int32)

    def tell(self, state, values):
        better = values < state.values if self.greedy else jnp.ones_like(values, bool)
        points = jnp.where(better[:, None], state.trials, state.points)
        values = jnp.where(better, values, state.values)
        key, noise_key = jax.random.split(state.key)
        finite = jnp.where(jnp.isfinite(values), values, 0)
        z = (finite - finite.mean()) / (finite.std() + 1e-6)
        centre = jax.nn.softmax(-self.weights[0] * z) @ points
        noise = jax.random.normal(noise_key, points.shape, points.dtype)
        spread = points.std(0)
        trials = points + self.alpha * self.weights[1] * (centre - points) + self.weights[2] * spread * noise
        return ToyState(state.space, points, values, jnp.clip(trials, 0, 1), key)


def toy(greedy=True, dtype=jnp.float32, size=12):
    return Toy(jnp.asarray([0.1, 0.1, 0.05], dtype), size=size, greedy=greedy)


class Bowl(AbstractTraceableProblem):
    space: Box
    centre: jax.Array
    power: int = eqx.field(static=True)

    def evaluate(self, points, key=None):
        return jnp.sum(jnp.abs(points - self.centre) ** self.power, axis=1)


def shifted_bowls(families=1, dimension=3):
    """Fresh bowls: quadratic, quartic, ... around random centres."""

    def draw(family, key):
        space = Box(jnp.full(dimension, -2.0), jnp.full(dimension, 2.0))
        return Bowl(space, jax.random.uniform(key, (dimension,), minval=-1, maxval=1), 2 + 2 * family)

    return FunctionTasks([functools.partial(draw, family) for family in range(families)], [0.0] * families)

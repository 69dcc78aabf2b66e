"""LM-MA-ES: a matrix-adaptation evolution strategy that keeps a few direction vectors instead of a matrix.

I. Loshchilov, T. Glasmachers, H.-G. Beyer, "Large Scale Black-Box Optimization by Limited-Memory Matrix Adaptation",
IEEE Transactions on Evolutionary Computation 23 (2019); the constants are those of its Algorithm 2.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.cmaes.linear import AbstractLinearES, LinearState, longer_path
from l2e.algorithms.cmaes.rates import Rates
from l2e.core.cma_defaults import default_population
from l2e.core.traced.types import Points

GROWTH = 1.0
"""The largest change of the logarithm of the step in one generation."""


class LMMAES(AbstractLinearES):
    """Matrix adaptation with 4 + floor(3 ln d) vectors of exponentially different memory, begun anew when converged.

    The rows of its shape are the vectors; each remembers the steps of the mean four times longer than the one before.
    In few dimensions its rates, c_sigma = 2 lambda / d and c_c = lambda / (4^i d), are cut off at 1.

    **Arguments:** `population_size`: at least 4; `sigma`: the first standard deviation as a share of the box.
    """

    def first_shape(self, dimension: int, dtype: jnp.dtype) -> Points:
        return jnp.zeros((default_population(dimension), dimension), dtype)

    def steps(self, state: LinearState, normals: Points) -> Points:
        steps, d = normals, normals.shape[1]
        for i, vector in enumerate(state.shape):
            rate = jnp.where(i < state.generation, 1 / (1.5**i * d), 0.0).astype(normals.dtype)
            steps = (1 - rate) * steps + rate * (steps @ vector)[:, None] * vector
        return steps

    def learned(self, state: LinearState, normals: Points, steps: Points, rate: Rates) -> LinearState:
        d, dtype = steps.shape[1], steps.dtype
        mean_step = rate.positive @ normals
        c_sigma = min(2 * self.population_size / d, 1.0)
        path_sigma = longer_path(state.path_sigma, mean_step, rate, jnp.asarray(c_sigma, dtype))
        powers = 4.0 ** np.arange(state.shape.shape[0])
        c_c = jnp.asarray(np.minimum(self.population_size / (powers * d), 1.0)[:, None], dtype)
        shape = longer_path(state.shape, mean_step, rate, c_c)
        growth = jnp.minimum(c_sigma / 2 * (path_sigma @ path_sigma / d - 1), GROWTH)
        sigma = state.sigma * jnp.exp(growth)
        return eqx.tree_at(lambda s: (s.path_sigma, s.sigma, s.shape), state, (path_sigma, sigma, shape))

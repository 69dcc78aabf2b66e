"""Selection weights and learning rates of CMA-ES as functions of a population size that may change during a run.

Hansen's tutorial (2016), Table 1 and Eq. (49)-(58), with alpha_cov = 2.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.cma_defaults import defaults
from l2e.core.traced.types import Count, Scalar, Values


class Rates(NamedTuple):
    """Weights by rank (zero on padded rows) and rates."""

    positive: Values
    negative: Values
    mu_eff: Scalar
    c_sigma: Scalar
    d_sigma: Scalar
    c_c: Scalar
    c_1: Scalar
    c_mu: Scalar
    chi: float  # expected length of a standard normal vector
    decomposition_gap: Scalar


def rates(population: Count, usable: jax.Array, dimension: int, dtype: jnp.dtype) -> Rates:
    """Weights and rates for `population` of the rows; `usable[i]`: the value of rank i is a finite number.

    A failed row never pulls: where fewer than half of a generation has values, only those get positive weight.
    """
    row = jnp.asarray(_table(usable.shape[0], dimension), dtype)[population]
    entry = dict(zip(TABLE, row, strict=True))
    rank = jnp.arange(1, usable.shape[0] + 1)
    raw = entry["log_middle"] - np.log(np.arange(1, usable.shape[0] + 1)).astype(dtype)  # Eq. (49)
    pull = jnp.where(usable, jnp.maximum(raw, 0), 0)
    push = jnp.where(rank <= population, jnp.minimum(raw, 0), 0)
    return Rates(
        positive=pull / jnp.maximum(jnp.sum(pull), jnp.finfo(dtype).tiny),  # Eq. (53)
        negative=entry["push_scale"] * push,
        chi=dimension**0.5 * (1 - 1 / (4 * dimension) + 1 / (21 * dimension**2)),
        **{name: entry[name] for name in TABLE[2:]},
    )


def always_decomposed(rows: int, dimension: int) -> bool:
    """Whether C is decomposed in every generation, whatever the population."""
    return bool((_table(rows, dimension)[:, TABLE.index("decomposition_gap")] <= 1).all())


TABLE = ("log_middle", "push_scale", "mu_eff", "c_sigma", "d_sigma", "c_c", "c_1", "c_mu", "decomposition_gap")


@functools.cache
def _table(rows: int, dimension: int) -> np.ndarray:
    """What depends on nothing but the population size, for each of 0..rows (below 2: as for 2), by the names `TABLE`.

    Some thirty tiny operations in every generation otherwise.
    """
    table = np.empty((rows + 1, len(TABLE)))
    for population in range(rows + 1):
        size = max(population, 2)
        default = defaults(size, dimension)
        gap = 1 / ((default.c_1 + default.c_mu) * dimension * 10)
        scale = default.bound / -default.push.sum()
        table[population] = (np.log((size + 1) / 2), scale, *default[3:], gap)
    return table

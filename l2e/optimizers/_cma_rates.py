"""Selection weights and learning rates of CMA-ES as functions of a population size that may change during a run.

Hansen's tutorial (2016), Table 1 and Eq. (49)-(58), with alpha_cov = 2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from l2e._types import Count, Scalar, Values


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
    d = dimension
    rank = jnp.arange(1, usable.shape[0] + 1)
    raw = jnp.log((population + 1).astype(dtype) / 2) - jnp.log(rank.astype(dtype))  # Eq. (49)
    pull = jnp.where(usable, jnp.maximum(raw, 0), 0)
    push = jnp.where(rank <= population, jnp.minimum(raw, 0), 0)
    mu_eff = _effective(jnp.maximum(raw, 0))
    mu_eff_minus = _effective(push)
    c_c = (4 + mu_eff / d) / (d + 4 + 2 * mu_eff / d)  # Eq. (56)
    c_sigma = (mu_eff + 2) / (d + mu_eff + 5)  # Eq. (55)
    d_sigma = 1 + 2 * jnp.maximum(0, jnp.sqrt((mu_eff - 1) / (d + 1)) - 1) + c_sigma
    c_1 = 2 / ((d + 1.3) ** 2 + mu_eff)  # Eq. (57)
    c_mu = jnp.minimum(1 - c_1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((d + 2) ** 2 + mu_eff))  # Eq. (58)
    bound = jnp.minimum(1 + c_1 / c_mu, 1 + 2 * mu_eff_minus / (mu_eff + 2))  # Eq. (50), (51)
    bound = jnp.minimum(bound, (1 - c_1 - c_mu) / (d * c_mu))  # Eq. (52)
    return Rates(
        positive=pull / jnp.maximum(jnp.sum(pull), jnp.finfo(dtype).tiny),  # Eq. (53)
        negative=bound * push / jnp.maximum(-jnp.sum(push), jnp.finfo(dtype).tiny),
        mu_eff=mu_eff,
        c_sigma=c_sigma,
        d_sigma=d_sigma,
        c_c=c_c,
        c_1=c_1,
        c_mu=c_mu,
        chi=d**0.5 * (1 - 1 / (4 * d) + 1 / (21 * d**2)),
        decomposition_gap=1 / ((c_1 + c_mu) * d * 10),
    )


def _effective(weights: Values) -> Scalar:
    """(sum |w|)^2 / sum w^2: how many equal weights these are worth."""
    return jnp.sum(jnp.abs(weights)) ** 2 / jnp.maximum(jnp.sum(weights**2), jnp.finfo(weights.dtype).tiny)

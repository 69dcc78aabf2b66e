"""The default weights and rates of CMA-ES as plain numbers: Hansen's tutorial (2016), Table 1 and Eq. (49)-(58)."""

import math
from typing import NamedTuple

import numpy as np


class Defaults(NamedTuple):
    """What follows from the population size and the dimension alone, with alpha_cov = 2."""

    pull: np.ndarray  # Eq. (49), the positive part, by rank
    push: np.ndarray  # and the negative
    bound: float  # what the negative weights sum to, Eq. (50)-(52)
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float


def default_population(dimension: int) -> int:
    """4 + floor(3 ln d)."""
    return 4 + int(3 * math.log(dimension))


def defaults(population: int, dimension: int) -> Defaults:
    """The defaults for a population of at least 2."""
    d = dimension
    raw = math.log((population + 1) / 2) - np.log(np.arange(1, population + 1))  # Eq. (49)
    pull, push = np.maximum(raw, 0), np.minimum(raw, 0)
    mu_eff, mu_eff_minus = _effective(pull), _effective(push)
    c_c = (4 + mu_eff / d) / (d + 4 + 2 * mu_eff / d)  # Eq. (56)
    c_sigma = (mu_eff + 2) / (d + mu_eff + 5)  # Eq. (55)
    d_sigma = 1 + 2 * max(0.0, math.sqrt((mu_eff - 1) / (d + 1)) - 1) + c_sigma
    c_1 = 2 / ((d + 1.3) ** 2 + mu_eff)  # Eq. (57)
    c_mu = min(1 - c_1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((d + 2) ** 2 + mu_eff))  # Eq. (58)
    bound = min(1 + c_1 / c_mu, 1 + 2 * mu_eff_minus / (mu_eff + 2), (1 - c_1 - c_mu) / (d * c_mu))
    return Defaults(pull, push, bound, mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu)


def _effective(weights: np.ndarray) -> float:
    """(sum |w|)^2 / sum w^2: how many equal weights these are worth."""
    return float(np.abs(weights).sum() ** 2 / (weights**2).sum())

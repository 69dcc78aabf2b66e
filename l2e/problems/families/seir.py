"""Fitting an epidemic: eight parameters of a compartment model from noisy counts."""

import math

import numpy as np

from l2e.core.problem import HostFunction
from l2e.problems.families.member import drawn, member

DAYS = 90
PEOPLE = 1e6
PARAMETERS = (
    (math.log(0.15), math.log(1.2)),  # transmission per day
    (math.log(1e-5), math.log(3e-3)),  # exposed at the beginning
    (math.log(0.05), math.log(0.9)),  # share of cases that is reported
    (10.0, 70.0),  # day of the intervention
    (0.1, 1.0),  # transmission after it, relative
    (math.log(0.1), math.log(0.6)),  # from exposed to infectious, per day
    (math.log(0.06), math.log(0.4)),  # recovery per day
    (math.log(0.005), math.log(0.15)),  # share of cases in hospital
)
SMOOTH = 2.0
"""Days over which an intervention takes hold."""


class Epidemic:
    """Counts of one epidemic: transmission, seed, reporting and intervention vary widely, the disease itself little."""

    def __init__(self, rng: np.random.Generator):
        low, high = np.array(PARAMETERS).T
        middle = np.array([0.55, 0.5, 0.5, 0.5, 0.4, 0.45, 0.45, 0.4])
        wide = np.array([0.2, 0.2, 0.2, 0.18, 0.2, 0.04, 0.04, 0.06])
        self.truth = low + np.clip(rng.normal(middle, wide), 0.05, 0.95) * (high - low)
        cases, beds = (np.array(counts) for counts in simulate(self.truth.tolist()))
        self._cases = np.log1p(np.maximum(rng.normal(cases, 0.1 * cases + 1), 0))
        self._beds = np.log1p(np.maximum(rng.normal(beds, 0.1 * beds + 1), 0))

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Mean squared error of the logarithms of both counts."""
        return np.array([self._misfit(point) for point in points.tolist()])

    def _misfit(self, parameters: list[float]) -> float:
        cases, beds = simulate(parameters)
        of_cases, of_beds = np.log1p(np.array(cases)) - self._cases, np.log1p(np.array(beds)) - self._beds
        return float(of_cases @ of_cases + of_beds @ of_beds) / (2 * DAYS)


def simulate(parameters: list[float]) -> tuple[list[float], list[float]]:
    """New reported cases and people in hospital, day by day; exponential steps keep all compartments positive."""
    a, b, c, day, after, e, f, g = parameters
    beta, exposed, reported = math.exp(a), math.exp(b), math.exp(c)
    onset, recovery, severe = 1 - math.exp(-math.exp(e)), 1 - math.exp(-math.exp(f)), math.exp(g)
    susceptible, infectious, hospital = 1 - exposed, 0.5 * exposed, 0.0
    cases, beds = [], []
    for today in range(DAYS):
        x = (today - day) / SMOOTH
        eased = 1 / (1 + math.exp(-x)) if x > -30 else 0.0
        infected = susceptible * (1 - math.exp(-beta * (1 + (after - 1) * eased) * infectious))
        falling_ill, leaving = onset * exposed, recovery * infectious
        susceptible -= infected
        exposed += infected - falling_ill
        infectious += falling_ill - leaving
        hospital += severe * leaving - 0.1 * hospital
        cases.append(PEOPLE * reported * falling_ill)
        beds.append(PEOPLE * hospital)
    return cases, beds


def seir(seed: int) -> HostFunction:
    """Epidemic fit in 8-D: members are the noisy counts of different outbreaks. Smooth and ill-conditioned."""
    return member(Epidemic(drawn(3, seed)), PARAMETERS)

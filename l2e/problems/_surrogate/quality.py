"""How well a network predicts the function that it stands for, on points that nobody has fitted it to."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from l2e.problems._surrogate.suite import Surrogate


class Quality(NamedTuple):
    """How predictions and true values of log10(f - f*) agree.

    **Fields:** `r2`: the share of the variance that is explained, at most 1, 0 for a constant; `spearman`: the
    correlation of the ranks, 0 for a constant.
    """

    r2: float
    spearman: float


def sample(problem: Surrogate, points: int, seed: int) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Predictions and true values of log10(f - f*) at random points of the box."""
    unit = np.random.default_rng(seed).random((points, problem.dimension))
    places = problem.space.from_unit(unit)
    truth = problem.truth
    return np.log10(problem(places)), np.log10(truth(places) - truth.optimum.f)


def quality(predicted: Float[np.ndarray, "n"], true: Float[np.ndarray, "n"]) -> Quality:
    """How well the predictions fit."""
    r2 = 1 - np.mean((predicted - true) ** 2) / np.var(true)
    ranks = rankdata(predicted), rankdata(true)
    constant = np.ptp(predicted) == 0
    return Quality(float(r2), 0.0 if constant else float(np.corrcoef(*ranks)[0, 1]))

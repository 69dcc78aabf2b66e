"""The record of one run, and the numbers drawn from it."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult


@dataclass(frozen=True)
class Run:
    """What a report needs to know of one finished search."""

    problem: str
    method: str
    seed: int
    budget: int
    nfev: int
    improved_at: np.ndarray
    improved_to: np.ndarray
    f_opt: float | None
    seconds: float
    key: str = ""  # of its record in a store
    dimension: int = 0
    group: str = ""
    error: str | None = None

    @classmethod
    def of(
        cls, result: OptimizeResult, problem: str, seed: int, budget: int, f_opt: float | None, seconds: float
    ) -> "Run":
        """The record of a result of `minimize`."""
        history = result.history
        return cls(problem, result.method, seed, budget, result.nfev, history.nfev, history.fun, f_opt, seconds)

    @property
    def final(self) -> float:
        """The final gap to the optimum, or the final value where no optimum is known."""
        return float(self.curve(np.asarray([self.budget]))[0])

    def curve(self, evaluations: np.ndarray) -> np.ndarray:
        """Gap (or value) reached within each of these numbers of evaluations; infinite before the first value."""
        place = np.searchsorted(self.improved_at, evaluations, side="right") - 1
        values = np.append(self.improved_to, np.inf)[place]  # place -1 picks the infinity at the end
        return values if self.f_opt is None else np.maximum(values - self.f_opt, 0.0)


def grid(budget: int, points: int = 120) -> np.ndarray:
    """Numbers of evaluations, evenly spaced on a log axis, from 1 to the budget."""
    return np.unique(np.geomspace(1, budget, points).round().astype(int))

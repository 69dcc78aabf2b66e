"""COCO's way to look at runs: how many of the targets f* + 10², ..., f* + 10⁻⁸ are reached, and when."""

from collections.abc import Sequence

import numpy as np

from l2e.report.records import Run

TARGETS = 10 ** np.linspace(2, -8, 51)
"""COCO's 51 precisions."""

BUDGETS = (50, 200, 1000, 2000)
"""Multiples of the dimension at which shares are reported."""


def hits(run: Run, targets: np.ndarray = TARGETS) -> np.ndarray:
    """The evaluation at which each target was reached, infinite for those that were not."""
    gaps = run.improved_to - (run.f_opt or 0.0)
    place = np.searchsorted(-gaps, -targets, side="left")  # gaps fall, so the first at or below the target
    return np.append(run.improved_at.astype(float), np.inf)[place]


def reached(runs: Sequence[Run], per_dimension: np.ndarray, targets: np.ndarray = TARGETS) -> np.ndarray:
    """The share of all targets of all runs that are reached within each number of evaluations per dimension.

    A run that ended before is counted with what it had reached.
    """
    if not runs:
        return np.full(len(per_dimension), np.nan)
    times = np.sort(np.concatenate([hits(run, targets) / run.dimension for run in runs]))
    return np.searchsorted(times, per_dimension * (1 + 1e-12), side="right") / len(times)


def axis(runs: Sequence[Run], points: int = 60) -> np.ndarray:
    """Evaluations per dimension, evenly spaced on a log axis, up to the largest budget."""
    largest = max(run.budget / run.dimension for run in runs)
    smallest = min(1 / run.dimension for run in runs)
    return np.geomspace(smallest, largest, points)


def shown_budgets(runs: Sequence[Run]) -> list[int]:
    """Those of `BUDGETS` that are less than what the runs had, and what they had."""
    largest = max(int(max(run.budget / run.dimension for run in runs)), 1)
    return [*(budget for budget in BUDGETS if budget < largest), largest]

"""Where a method loses: every group of problems of a contest on which a rival reaches more targets."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from l2e.report.collection import Results
from l2e.report.records import Run
from l2e.report.statistics import mean_and_error
from l2e.report.targets import reached


class Comparison(NamedTuple):
    """Paired shares of targets at the end of the budget: a method's and a rival's, one entry for each problem.

    **Fields:** `setting`: what the contest is about; `budget`: evaluations per dimension; `dimension`, `group`: which
    problems; `rival`: the other method; `ours`, `theirs`: the shares.
    """

    setting: str
    budget: int
    dimension: int
    group: str
    rival: str
    ours: np.ndarray
    theirs: np.ndarray

    @property
    def difference(self) -> float:
        """Mean of ours minus theirs."""
        return mean_and_error(self.ours - self.theirs)[0]

    @property
    def error(self) -> float:
        """The standard error of the difference; infinite for one problem."""
        return mean_and_error(self.ours - self.theirs)[1]

    @property
    def is_clear(self) -> bool:
        """Whether the difference is larger than two standard errors."""
        return abs(self.difference) > 2 * self.error


def comparisons(results: Results, method: str, setting: str) -> list[Comparison]:
    """A method of a contest against each other one, by dimension and group of functions, on problems both ran on."""
    shares: dict[tuple[int, str, str], dict[str, float]] = {}
    for run in results.runs:
        share = float(reached([run], np.asarray([run.budget / run.dimension]))[0])
        shares.setdefault((run.dimension, run.group, run.method), {})[_problem(run)] = share
    budget = round(max(run.budget / run.dimension for run in results.runs))
    found = []
    for (dimension, group, rival), theirs in shares.items():
        ours = shares.get((dimension, group, method), {})
        both = sorted(ours.keys() & theirs.keys())
        if rival != method and both:
            pairs = np.asarray([(ours[problem], theirs[problem]) for problem in both])
            found.append(Comparison(setting, budget, dimension, group, rival, pairs[:, 0], pairs[:, 1]))
    return found


def joined(cells: Iterable[Comparison]) -> list[Comparison]:
    """The groups of each dimension as one."""
    by_dimension: dict[int, list[Comparison]] = {}
    for cell in cells:
        by_dimension.setdefault(cell.dimension, []).append(cell)
    return [
        parts[0]._replace(
            group="all",
            ours=np.concatenate([cell.ours for cell in parts]),
            theirs=np.concatenate([cell.theirs for cell in parts]),
        )
        for _, parts in sorted(by_dimension.items())
    ]


def _problem(run: Run) -> str:
    """The same for all methods on one instance, whose optimum tells it from others."""
    return f"{run.problem} {run.f_opt} {run.seed}"

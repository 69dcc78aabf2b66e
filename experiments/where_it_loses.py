"""Every group of held-out functions on which a rival is ahead of the default method, from the recorded contests.

    python experiments/where_it_loses.py --out results/where-it-loses.md

Groups of functions are compared by the share of targets at the told budget, in each dimension and setting.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from l2e.bench.store import read_store
from l2e.problems.bbob_suite import GROUPS
from l2e.report.collection import collect
from l2e.report.records import Run
from l2e.report.targets import reached

OURS, BIPOP = "l2e", "pycma-bipop"
FAR = 0.05
TOGETHER = (5, 10, 20)
"""Dimensions whose mean is compared with BIPOP's."""


class Shares(NamedTuple):
    """Paired shares of targets in one cell: ours and a rival's, one entry for each problem."""

    budget: int
    setting: str
    dimension: int
    group: str
    rival: str
    ours: np.ndarray
    theirs: np.ndarray

    @property
    def difference(self) -> float:
        """Mean of ours minus theirs."""
        return float(np.mean(self.ours - self.theirs))

    @property
    def error(self) -> float:
        """Its standard error; infinite for one problem."""
        apart = self.ours - self.theirs
        return float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else np.inf

    @property
    def row(self) -> str:
        """A row of the table of what is lost; bold if by more than two standard errors."""
        mark = "**" if self.difference < -2 * self.error else ""
        error = f"± {self.error:.3f}" if np.isfinite(self.error) else ""
        return (
            f"| {mark}{self.difference:+.3f}{mark} | {error} | {np.mean(self.ours):.3f} | {np.mean(self.theirs):.3f} "
            f"| {self.rival} | {self.group} | {self.dimension}-D | {self.budget} D | {self.setting} "
            f"| {len(self.ours)} |"
        )


def main() -> None:
    """Read all contests, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--out", type=Path, default=Path("results/where-it-loses.md"))
    arguments = parser.parse_args()
    cells = [cell for folder in sorted(arguments.results.glob("flagship-*")) for cell in compared(folder)]
    if not cells:
        parser.error(f"no contest of {OURS} in {arguments.results}")
    arguments.out.write_text(page(cells))


def compared(folder: Path) -> Iterator[Shares]:
    """The cells of one recorded contest; ablations are none."""
    name = re.fullmatch(r"flagship-(?:(noise|rounded|plateau|random-start|dimensions)-)?(\d+)d", folder.name)
    if name is None or not folder.is_dir():
        return
    setting = "plain" if name[1] in (None, "dimensions") else name[1].replace("-", " ")
    budget = int(name[2])
    shares: dict[tuple[int, str, str], dict[str, float]] = {}
    for run in collect(read_store(folder)).runs:
        shares.setdefault((run.dimension, run.group, run.method), {})[_problem(run)] = float(
            reached([run], np.asarray([budget]))[0]
        )
    for (dimension, group, rival), theirs in shares.items():
        ours = shares.get((dimension, group, OURS), {})
        both = sorted(ours.keys() & theirs.keys())
        if not rival.startswith(OURS) and both:
            pairs = np.asarray([(ours[key], theirs[key]) for key in both])
            yield Shares(budget, setting, dimension, group, rival, pairs[:, 0], pairs[:, 1])


def _problem(run: Run) -> str:
    """The same for all methods on one instance, whose optimum tells it from others."""
    return f"{run.problem} {run.f_opt} {run.seed}"


def page(cells: list[Shares]) -> str:
    """Markdown: what is lost, worst first; then BIPOP by group."""
    lost = sorted((cell for cell in cells if cell.difference < 0), key=lambda cell: cell.difference)
    clearly = sum(cell.difference < -2 * cell.error for cell in lost)
    ahead = sum(cell.difference > 2 * cell.error for cell in cells)
    lines = [
        "# Where the default method loses",
        "",
        "Shares of targets at the told budget on the held-out BBOB functions, from the records in this folder;",
        f"written by `experiments/where_it_loses.py`. Of {len(cells)} comparisons (a rival, a group of functions, a",
        f"dimension, a budget, a setting) `l2e` is behind in {len(lost)}, in {clearly} of them by more than two",
        f"standard errors (**bold**), and ahead by more than that in {ahead}. With so many, some are luck.",
        "",
        "| difference | | l2e | rival | | functions | | evaluations | setting | problems |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(cell.row for cell in lost),
        "",
        *_against_bipop(cells),
    ]
    return "\n".join(lines) + "\n"


def _against_bipop(cells: list[Shares]) -> list[str]:
    plain = [cell for cell in cells if cell.rival == BIPOP and cell.setting == "plain"]
    lines = [
        f"## Against BIPOP by group, mean of {', '.join(map(str, TOGETHER))}-D",
        "",
        "Where a dimension was not measured at a budget, the mean is of the others.",
        "",
        f"| evaluations | functions | difference | | dimensions | problems behind by more than {FAR} |",
        "|---|---|---|---|---|---|",
    ]
    for budget in sorted({cell.budget for cell in plain}):
        here = [cell for cell in plain if cell.budget == budget and cell.dimension in TOGETHER]
        for group in (*GROUPS, "all"):
            found = _joined(here) if group == "all" else [cell for cell in here if cell.group == group]
            if found:
                difference = np.mean([cell.difference for cell in found])
                error = np.sqrt(np.sum([cell.error**2 for cell in found])) / len(found)
                behind = np.mean(np.concatenate([cell.ours - cell.theirs for cell in found]) < -FAR)
                where = ", ".join(str(cell.dimension) for cell in sorted(found, key=lambda cell: cell.dimension))
                spread = f"± {error:.3f}" if np.isfinite(error) else ""
                lines.append(f"| {budget} D | {group} | {difference:+.3f} | {spread} | {where} | {behind:.0%} |")
    return lines


def _joined(cells: list[Shares]) -> list[Shares]:
    """The cells of each dimension as one."""
    joined = []
    for dimension in sorted({cell.dimension for cell in cells}):
        parts = [cell for cell in cells if cell.dimension == dimension]
        ours, theirs = (np.concatenate([cell[place] for cell in parts]) for place in (-2, -1))
        joined.append(parts[0]._replace(group="all", ours=ours, theirs=theirs))
    return joined


if __name__ == "__main__":
    main()

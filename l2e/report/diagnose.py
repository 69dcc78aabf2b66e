"""`l2e diagnose`: a solver against the paper's theory, on a few of the paper's training functions."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from l2e._version import __version__
from l2e.algorithms.l2e import L2E, Shared
from l2e.algorithms.l2e.diagnostics import Diagnosis, contraction, decay, depth_trend, diagnose_run
from l2e.algorithms.l2e.operators.certified import Certified
from l2e.core.checkpoint import write_whole
from l2e.core.traced import runtime
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.problems import PAPER_TRAIN, paper_bbob
from l2e.report.diagnosis import Report, diagnostics_figure

FUNCTIONS = (1, 2, 15, 21)
"""Convex, ill-conditioned, regular multi-modal, many peaks; all of them are training functions."""

DEPTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Generations K at which the trend is told."""

CONTRACTION = 0.9
"""Bound c of the certified operator that is shown beside the solver."""


def diagnose(
    optimizer: AbstractAlgorithm[Any],
    *,
    name: str,
    out: Path,
    console: Console,
    dimension: int = 10,
    functions: Sequence[int] = FUNCTIONS,
    generations: int = 200,
    samples: int = 20,
    seed: int = 0,
) -> Report:
    """Measure a solver, print a table, write `diagnosis.png` and `diagnosis.json`.

    **Arguments:**

    - `name`: what the solver is called in table and picture.
    - `out`: the folder of both files.
    - `dimension`: of the functions; what the operator's weights are made for.
    - `functions`: numbers of the paper's training functions.
    - `generations`, `samples`: length of a run, and how many generations have their Jacobians looked at.
    - `seed`: the same seed gives the same numbers.
    """
    if not isinstance(optimizer, L2E):
        raise ValueError(f"diagnosis is of L2E's maps; {name} is a {type(optimizer).__name__}")
    foreign = sorted(set(functions) - set(PAPER_TRAIN))
    if foreign or not functions:
        raise ValueError(f"functions must be some of the paper's training functions {PAPER_TRAIN}, got {functions}")
    problems = {f"f{function}": paper_bbob(function, dimension) for function in functions}
    run_key, certified_key = jax.random.split(jax.random.key(seed))
    runs: dict[str, Diagnosis] = {}
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=len(problems) + 1)
        for label, problem in problems.items():
            own_key = jax.random.fold_in(run_key, problem.function)
            runs[label] = diagnose_run(optimizer, problem, own_key, generations, samples)
            progress.advance(task)
        certified = _certified(optimizer, dimension, generations, certified_key)
        progress.advance(task)
    title = f"{name}, alpha = {float(optimizer.alpha):.3g}, N = {optimizer.population_size}, {dimension}-D, seed {seed}"
    report = Report(title, float(optimizer.alpha), runs, certified)
    gaps = {label: runs[label].best - problem.optimum.f for label, problem in problems.items()}
    console.print(table(report, gaps))
    console.print(_about(report), highlight=False)
    diagnostics_figure(report, out / "diagnosis.png")
    facts = {"name": name, "dimension": dimension, "generations": generations, "seed": seed, "version": __version__}
    write_whole(out / "diagnosis.json", json.dumps(facts | as_facts(report, gaps), indent=1).encode())
    console.print(f"picture: {out / 'diagnosis.png'}\nnumbers: {out / 'diagnosis.json'}", highlight=False)
    return report


def table(report: Report, gaps: dict[str, np.ndarray]) -> Table:
    """One row per function."""
    caption = "norms are largest over the run, 'moving': with values that move; residuals are |NU(x) - x|"
    result = Table(title=report.title, caption=caption, box=None, pad_edge=False)
    result.add_column("f")
    for heading in ("|J| O", "|J| NU", "moving", "res. 0", "res. K", "K-law", "Fejer", "taken", "gap K"):
        result.add_column(heading, justify="right", no_wrap=True)
    for label, run in report.runs.items():
        cells = [run.operator_norm.max(), run.map_norm.max(), run.moving_ratio.max(), run.residual[0], run.residual[-1]]
        law = f"K^{decay(run.residual[1:]).exponent:.2f}"
        shares = [f"{run.fejer:.0%}", f"{run.accepted.mean():.0%}"]
        result.add_row(label, *(f"{cell:.3g}" for cell in cells), law, *shares, f"{gaps[label][-1]:.3g}")
    return result


def as_facts(report: Report, gaps: dict[str, np.ndarray]) -> dict[str, Any]:
    """The report in the types of JSON, with the trend over K of each function."""
    facts: dict[str, Any] = {
        "alpha": report.alpha,
        "certified": _plain(dataclasses.asdict(report.certified)),
        "runs": {},
    }
    facts["certified"] |= {"holds": report.certified.holds, "measured_rate": report.certified.measured_rate}
    for label, run in report.runs.items():
        row = _plain(dataclasses.asdict(run))
        row["gap"] = gaps[label].tolist()
        row["trend"] = [dataclasses.asdict(depth) for depth in depth_trend(run.residual, gaps[label], DEPTHS)]
        row["residual_decay"] = _plain(dataclasses.asdict(decay(run.residual[1:])))
        row["frozen"]["measured_rate"] = run.frozen.measured_rate
        facts["runs"][label] = row
    return facts


def _certified(optimizer: L2E, dimension: int, iterations: int, key: Any) -> Any:
    """A certified operator of random weights in the place of the solver's own, on random values."""
    operator_key, points_key, values_key, key = jax.random.split(key, 4)
    size = optimizer.population_size
    solver = L2E(
        Shared(Certified(dimension, contraction=CONTRACTION, key=operator_key)),
        alpha=optimizer.alpha,
        population_size=size,
    )
    with runtime.float64():
        points = jax.random.uniform(points_key, (size, dimension))
        return contraction(solver, points, jax.random.normal(values_key, (size,)), key, iterations)


def _about(report: Report) -> str:
    worst = max(run.operator_norm.max() for run in report.runs.values())
    says = "expands somewhere" if worst > 1 else "was not seen to expand"
    known = report.certified
    bound = "holds" if known.holds else "FAILS"
    return (
        f"O {says}: its Jacobian's norm reaches {worst:.3g}.\n"
        f"certified operator: bound {known.rate:.3g}^k {bound}, measured {known.measured_rate:.3g} per iteration."
    )


def _plain(tree: Any) -> Any:
    """Arrays as lists."""
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items()}
    return tree.tolist() if isinstance(tree, np.ndarray) else tree

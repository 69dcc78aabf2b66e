"""Static pictures for papers and terminals."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from l2e._names import require
from l2e.report.records import GAP_FLOOR, Run, grid, median_curve

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""


def convergence(runs: list[Run], path: Path, title: str) -> None:
    """Best so far against evaluations, one panel per problem: thin lines are runs, thick ones medians."""
    plt = _pyplot()
    problems, methods = _names(runs)
    columns = min(3, len(problems))
    rows = math.ceil(len(problems) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.2 * columns + 0.4, 3.1 * rows + 0.9), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(problems) :]:
        axis.set_axis_off()
    for axis, problem in zip(axes.flat, problems, strict=False):
        _panel(axis, [run for run in runs if run.problem == problem], methods)
        axis.set_title(problem, fontsize=10)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(methods), 5), frameon=False)
    figure.suptitle(title, fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _panel(axis: Any, runs: list[Run], methods: list[str]) -> None:
    known = all(run.f_opt is not None for run in runs)
    evaluations = grid(max(run.budget for run in runs))
    floor = GAP_FLOOR if known else -np.inf
    for place, method in enumerate(methods):
        chosen = [run for run in runs if run.method == method]
        look = {"color": COLORS[place % len(COLORS)], "drawstyle": "steps-post"}
        for run in chosen:
            values = np.maximum(run.curve(evaluations), floor)
            axis.plot(evaluations, values, alpha=0.25, linewidth=0.7, zorder=3, **look)
        if chosen:
            values = np.maximum(median_curve(chosen, evaluations), floor)
            axis.plot(evaluations, values, linewidth=2, label=method, zorder=10 - place, **look)
    axis.set_xscale("log")
    axis.set_xlabel("evaluations", fontsize=9)
    axis.set_ylabel("f - f*" if known else "best value", fontsize=9)
    if known or all((run.improved_to > 0).all() for run in runs):
        axis.set_yscale("log")
    axis.grid(visible=True, alpha=0.25)
    axis.tick_params(labelsize=8)


def _names(runs: list[Run]) -> tuple[list[str], list[str]]:
    return list(dict.fromkeys(run.problem for run in runs)), list(dict.fromkeys(run.method for run in runs))


def _pyplot() -> Any:
    matplotlib = require("matplotlib", "report")
    matplotlib.use("Agg")
    return require("matplotlib.pyplot", "report")

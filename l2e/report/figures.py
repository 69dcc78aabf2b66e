"""Figures for papers: those of a report as PNG and PDF, and the picture of a single run."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.problem import GAP_FLOOR
from l2e.report import statistics
from l2e.report.collection import Results
from l2e.report.critical_difference import draw_ranks
from l2e.report.records import Run, grid
from l2e.report.standard_tables import end_share, median_matrix
from l2e.report.styles import COLORS, label, looks, pyplot
from l2e.report.targets import axis, reached


def draw_all(results: Results, folder: Path) -> list[str]:
    """Draw every figure that the runs allow; returns their names."""
    drawings = {"convergence": _convergence, "ecdf": _ecdf, "ecdf-by-problem": _ecdf_grid, "boxes": _boxes, "cpu": _cpu}
    if len({run.group for run in results.runs}) > 2:
        drawings["radar"] = _radar
    folder.mkdir(parents=True, exist_ok=True)
    plt = pyplot()
    for name, draw in drawings.items():
        figure = draw(plt, results)
        _save(plt, figure, folder / name)
    test = statistics.friedman(median_matrix(results)) if results.complete else None
    if test is not None:
        _save(plt, draw_ranks(plt, results.complete, test, len(results.ordered)), folder / "critical-difference")
        return [*drawings, "critical-difference"]
    return list(drawings)


def _save(plt: Any, figure: Any, path: Path) -> None:
    figure.savefig(path.with_suffix(".png"), dpi=130)
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
    plt.close(figure)


def _panels(plt: Any, results: Results, height: float = 2.7) -> tuple[Any, dict[str, Any]]:
    rows = math.ceil(len(results.ordered) / 4)
    columns = math.ceil(len(results.ordered) / rows)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.3 * columns + 0.4, height * rows + 1.2), squeeze=False, layout="constrained"
    )
    for spare in axes.flat[len(results.ordered) :]:
        spare.set_axis_off()
    panels = dict(zip(results.ordered, axes.flat, strict=False))
    for problem, panel in panels.items():
        panel.set_title(label(problem), fontsize=9)
        panel.grid(visible=True, alpha=0.25)
        panel.tick_params(labelsize=7)
    return figure, panels


def legend(figure: Any, results: Results, columns: int = 7, fontsize: float = 9) -> None:
    """The methods of a contest in a legend below a figure."""
    line = pyplot().Line2D
    handles = [
        line([], [], color=look.color, linestyle=look.dash, linewidth=2) for look in looks(results.methods).values()
    ]
    figure.legend(
        handles,
        [label(method) for method in results.methods],
        loc="outside lower center",
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize=fontsize,
    )


def draw_convergence(results: Results, path: Path) -> None:
    """The curves of all problems as one picture."""
    plt = pyplot()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = _convergence(plt, results)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _convergence(plt: Any, results: Results) -> Any:
    figure, panels = _panels(plt, results)
    for problem, panel in panels.items():
        for method, look in looks(results.methods).items():
            runs = results.cells.get((problem, method), [])
            if not runs:
                continue
            evaluations = grid(max(run.budget for run in runs))
            curves = np.maximum([run.curve(evaluations) for run in runs], GAP_FLOOR)
            low, middle, high = np.quantile(np.where(np.isinf(curves), np.nan, curves), [0.25, 0.5, 0.75], axis=0)
            panel.plot(evaluations, middle, color=look.color, linestyle=look.dash, linewidth=1.5)
            panel.fill_between(evaluations, low, high, color=look.color, alpha=0.12, linewidth=0)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylabel("f - f*", fontsize=8)
        panel.set_xlabel("evaluations", fontsize=8)
    legend(figure, results)
    figure.suptitle(f"{label(results.title)}: medians, bands from the first to the third quartile", fontsize=11)
    return figure


def _ecdf(plt: Any, results: Results) -> Any:
    figure, panel = plt.subplots(figsize=(9.5, 5), layout="constrained")
    _reached_curves(panel, results, list(results.runs))
    panel.set_title(f"{label(results.title)}: share of the targets f* + 10², ..., f* + 10⁻⁸ reached", fontsize=11)
    panel.grid(visible=True, alpha=0.25)
    handles = sorted(panel.lines, key=lambda line: -line.get_ydata()[-1])
    panel.legend(
        handles,
        [h.get_label() for h in handles],
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize=9,
    )
    return figure


def _ecdf_grid(plt: Any, results: Results) -> Any:
    figure, panels = _panels(plt, results)
    for problem, panel in panels.items():
        _reached_curves(panel, results, [run for run in results.runs if run.problem == problem])
    legend(figure, results)
    figure.suptitle(f"{label(results.title)}: share of targets reached, by problem", fontsize=11)
    return figure


def draw_budgets(contests: Sequence[Results], names: dict[str, str], path: Path) -> None:
    """The share of targets over evaluations, one panel for each contest; the first method is drawn thick.

    **Arguments:** `names`: the methods to draw, and what they are called in the legend.
    """
    plt = pyplot()
    figure, panels = plt.subplots(
        1, len(contests), figsize=(3 * len(contests), 3.6), layout="constrained", sharey=True, squeeze=False
    )
    drawn = looks(tuple(names))
    for panel, results in zip(panels[0], contests, strict=True):
        places = axis(results.runs, 120)
        for place, method in enumerate(names):
            runs = [run for run in results.runs if run.method == method]
            if runs:
                width = 2.6 if place == 0 else 1.5
                panel.plot(places, reached(runs, places), color=drawn[method].color, linewidth=width)
        absent = [shown for method, shown in names.items() if method not in results.methods]
        if absent:
            panel.text(
                0.03, 0.97, label(f"not run: {', '.join(absent)}"), transform=panel.transAxes, va="top", fontsize=8
            )
        budget = round(max(run.budget / run.dimension for run in results.runs))
        panel.set_xscale("log")
        panel.set_xlim(1, budget)
        panel.set_title(f"budget {budget}·d evaluations", fontsize=10)
        panel.set_xlabel("evaluations / dimension", fontsize=9)
        panel.grid(visible=True, alpha=0.25)
        panel.tick_params(labelsize=8)
    panels[0][0].set_ylabel("share of targets reached", fontsize=9)
    panels[0][0].set_ylim(0, None)
    handles = [
        plt.Line2D([], [], color=look.color, linewidth=2.6 if i == 0 else 1.5) for i, look in enumerate(drawn.values())
    ]
    figure.legend(
        handles, [label(n) for n in names.values()], loc="outside lower center", ncols=len(names), frameon=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _reached_curves(panel: Any, results: Results, runs: list[Any]) -> None:
    places = axis(runs, 120)
    for method, look in looks(results.methods).items():
        own = [run for run in runs if run.method == method]
        if own:
            panel.plot(
                places, reached(own, places), color=look.color, linestyle=look.dash, linewidth=1.6, label=label(method)
            )
    panel.set_xscale("log")
    panel.set_ylim(0, 1.02)
    panel.set_xlabel("evaluations / dimension", fontsize=8)
    panel.set_ylabel("share of targets", fontsize=8)


def _boxes(plt: Any, results: Results) -> Any:
    figure, panels = _panels(plt, results, height=0.9 + 0.17 * len(results.methods))
    for place, (problem, panel) in enumerate(panels.items()):
        present = [m for m in reversed(results.methods) if (problem, m) in results.cells]
        gaps = [np.maximum(results.gaps(problem, m), GAP_FLOOR) for m in present]
        finite = [np.where(np.isfinite(values), values, np.nan) for values in gaps]
        drawn = panel.boxplot(
            [v[~np.isnan(v)] for v in finite], orientation="horizontal", patch_artist=True, widths=0.65
        )
        for box, method in zip(drawn["boxes"], present, strict=True):
            box.set(facecolor=looks(results.methods)[method].color, alpha=0.55)
        for part in (*drawn["medians"], *drawn["fliers"]):
            part.set(color="black", markersize=3)
        panel.set_xscale("log")
        panel.xaxis.set_minor_formatter("")  # few decades would otherwise be labelled in between, and overlap
        names = [label(method) for method in present] if place % min(4, len(panels)) == 0 else []
        panel.set_yticklabels(names, fontsize=7)
        panel.set_xlabel("f - f*", fontsize=8)
    figure.suptitle(f"{label(results.title)}: gaps at the end of the budget, 1e-8 and below drawn at 1e-8", fontsize=11)
    return figure


def _radar(plt: Any, results: Results) -> Any:
    groups = list(dict.fromkeys(run.group for run in results.runs))
    angles = np.linspace(0, 2 * np.pi, len(groups), endpoint=False)
    figure, panel = plt.subplots(figsize=(9.5, 6), subplot_kw={"projection": "polar"}, layout="constrained")
    for method, look in looks(results.methods).items():
        values = [end_share(_of(results, method, group)) for group in groups]
        panel.plot(
            [*angles, angles[0]],
            [*values, values[0]],
            color=look.color,
            linestyle=look.dash,
            linewidth=1.6,
            label=label(method),
        )
    panel.set_xticks(angles, groups, fontsize=9)
    panel.tick_params(axis="x", pad=14)
    panel.set_ylim(0, 1)
    panel.tick_params(axis="y", labelsize=7)
    panel.legend(loc="center left", bbox_to_anchor=(1.15, 0.5), frameon=False, fontsize=9)
    figure.suptitle(f"{label(results.title)}: share of targets reached, by group of functions", fontsize=11)
    return figure


def _of(results: Results, method: str, group: str) -> list[Run]:
    return [run for run in results.runs if (run.method, run.group) == (method, group)]


def _cpu(plt: Any, results: Results) -> Any:
    seconds = {
        m: np.median([run.seconds for run in results.runs if run.method == m]) for m in reversed(results.methods)
    }
    figure, panel = plt.subplots(figsize=(7.5, 1.2 + 0.28 * len(seconds)), layout="constrained")
    colors = [looks(results.methods)[method].color for method in seconds]
    bars = panel.barh(
        [label(method) for method in seconds], [float(value) for value in seconds.values()], color=colors, alpha=0.8
    )
    panel.bar_label(bars, fmt=lambda value: f" {value:.2g}", fontsize=8)
    panel.set_xscale("log")
    panel.margins(x=0.12)
    panel.grid(visible=True, axis="x", alpha=0.25)
    panel.set_xlabel("CPU seconds per run, median, objective included")
    panel.set_title(label(results.title), fontsize=11)
    return figure


def convergence(runs: list[Run], path: Path, title: str) -> None:
    """The best value so far of runs on one problem."""
    plt = pyplot()
    known = all(run.f_opt is not None for run in runs)
    figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
    for place, run in enumerate(runs):
        evaluations = grid(run.budget)
        values = np.maximum(run.curve(evaluations), GAP_FLOOR if known else -np.inf)
        panel.plot(evaluations, values, drawstyle="steps-post", color=COLORS[place % len(COLORS)])
    panel.set_xlabel("evaluations", fontsize=9)
    panel.set_ylabel("f - f*" if known else "best value", fontsize=9)
    if known or all((run.improved_to > 0).all() for run in runs):
        panel.set_yscale("log")
    panel.grid(visible=True, alpha=0.25)
    panel.set_title(label(f"{runs[0].problem}: {title}"), fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)

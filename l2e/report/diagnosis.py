"""The picture of a diagnosis: Lipschitz estimates, residuals, gate, and contraction against its bound."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from l2e.algorithms.l2e.diagnostics import Contraction, Diagnosis
from l2e.report.styles import COLORS, pyplot


@dataclass(frozen=True)
class Report:
    """Diagnoses of one solver on some problems, and a certified operator at the same alpha to compare with."""

    title: str
    alpha: float
    runs: dict[str, Diagnosis]
    certified: Contraction


def diagnostics_figure(report: Report, path: Path) -> None:
    """Four panels over generations: norms of Jacobians, residuals, acceptance, distances to the fixed point."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(11.2, 7.8), layout="constrained")
    for axis, draw in zip(axes.flat, (_norms, _residuals, _acceptance, _contraction), strict=True):
        draw(axis, report)
        axis.grid(visible=True, alpha=0.25)
        axis.tick_params(labelsize=8)
        _legend(axis)
    handles = [plt.Line2D([], [], color=color, linewidth=3) for _, color in _colored(report)]
    figure.legend(handles, list(report.runs), loc="outside lower center", ncols=min(len(handles), 5), frameon=False)
    figure.suptitle(report.title, fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _norms(axis: Any, report: Report) -> None:
    for (name, color), first in zip(_colored(report), _only_first(report), strict=True):
        run = report.runs[name]
        axis.plot(run.sampled, run.operator_norm, color=color, marker="o", markersize=3, label="O" if first else None)
        axis.plot(run.sampled, run.map_norm, color=color, linestyle="--", label="NU" if first else None)
    axis.axhline(1, color="black", linewidth=1.2, linestyle=":", label="1: non-expansive maps stay below")
    top = max(max(run.operator_norm.max(), run.map_norm.max()) for run in report.runs.values())
    axis.set_ylim(0, 1.25 * max(top, 1))
    _labels(axis, "Largest singular value of the Jacobian (values fixed)", "generation", "norm, a lower bound")


def _residuals(axis: Any, report: Report) -> None:
    for (name, color), first in zip(_colored(report), _only_first(report), strict=True):
        run = report.runs[name]
        steps = np.arange(len(run.residual))
        axis.plot(steps, _positive(run.residual), color=color, label="|NU(x) - x|" if first else None)
        axis.plot(
            steps, _positive(run.spread), color=color, alpha=0.6, linestyle=":", label="|x - mean x|" if first else None
        )
    axis.set_yscale("log")
    _labels(axis, "Fixed-point residual and spread of the population", "generation", "distance in the unit cube")


def _acceptance(axis: Any, report: Report) -> None:
    for (name, color), first in zip(_colored(report), _only_first(report), strict=True):
        run = report.runs[name]
        steps = np.arange(1, len(run.accepted) + 1)
        axis.plot(steps, run.accepted, color=color, alpha=0.25, linewidth=0.8)
        axis.plot(steps, _smooth(run.accepted), color=color, label="accepted (1 - mean M)" if first else None)
        if not np.allclose(run.accepted, run.improved):
            label = "strictly better" if first else None
            axis.plot(steps, _smooth(run.improved), color=color, linestyle="--", label=label)
    axis.set_ylim(0, 1.02)
    _labels(axis, "Share of the proposals in the gate", "generation", "share, mean of 9 generations")


def _contraction(axis: Any, report: Report) -> None:
    for (name, color), first in zip(_colored(report), _only_first(report), strict=True):
        label = "this solver, distance to its last iterate" if first else None
        _distance(axis, report.runs[name].frozen.measured, color=color, label=label)
    known = report.certified
    _distance(axis, known.measured, color="black", label="certified operator, measured")
    if known.predicted is not None and known.rate is not None:
        _distance(axis, known.predicted, color="black", linestyle="--", label=f"its bound, {known.rate:.3g}^k")
    steps = np.arange(len(known.measured))
    paper = np.maximum(1 - report.alpha, 0) ** steps.astype(float)
    _distance(axis, paper, color="0.5", linestyle=":", label=f"the paper's rate, {1 - report.alpha:.3g}^k")
    axis.set_yscale("log")
    axis.set_ylim(1e-10, 30)
    _labels(axis, "One NU iterated, values fixed", "iteration", "|x_k - x*| / |x_0 - x*|")


def _distance(axis: Any, distances: np.ndarray, **look: Any) -> None:
    axis.plot(np.arange(len(distances)), _positive(distances / max(distances[0], 1e-300)), **look)


def _legend(axis: Any) -> None:
    """Names of styles; a style that all problems share is grey."""
    for handle in axis.legend(fontsize=8, frameon=False, loc="best").legend_handles:
        if handle.get_color() in COLORS[:-1]:
            handle.set_color("0.45")


def _labels(axis: Any, title: str, horizontal: str, vertical: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(horizontal, fontsize=9)
    axis.set_ylabel(vertical, fontsize=9)


def _colored(report: Report) -> list[tuple[str, str]]:
    colors = COLORS[:-1]  # black is the certified operator
    return [(name, colors[place % len(colors)]) for place, name in enumerate(report.runs)]


def _only_first(report: Report) -> list[bool]:
    """Styles are named once, colours in the legend below."""
    return [place == 0 for place in range(len(report.runs))]


def _positive(array: np.ndarray) -> np.ndarray:
    """Zeros are left out of a logarithmic axis."""
    return np.where(array > 0, array, np.nan)


def _smooth(array: np.ndarray, window: int = 9) -> np.ndarray:
    """A moving mean; shorter at the ends."""
    kernel = np.ones(min(window, len(array)))
    return np.convolve(array, kernel, "same") / np.convolve(np.ones(len(array)), kernel, "same")

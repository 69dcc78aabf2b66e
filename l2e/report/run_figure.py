"""The picture of one run: the best value over evaluations, and below it which part of the method searched."""

from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.errors import require
from l2e.core.problem import GAP_FLOOR

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#332288", "#AA4499", "#117733")
"""Okabe and Ito's colours, which colour-blind readers can tell apart, and three of Tol's."""


def run_figure(result: Any, path: Path, title: str, budget: int, f_opt: float | None = None) -> None:
    """Draw a result of `minimize`.

    **Arguments:** `path`: ends in .png, .pdf or .svg; `f_opt`: the optimum, if it is known, so that gaps can be drawn.
    """
    matplotlib = require("matplotlib", "report")
    matplotlib.use("Agg")
    plt = require("matplotlib.pyplot", "report")
    heights = [5, 0.55] if result.trace else [1]
    figure, axes = plt.subplots(
        len(heights), 1, figsize=(7.2, 4.2), height_ratios=heights, squeeze=False, sharex=True, layout="constrained"
    )
    top = axes[0, 0]
    _draw_values(top, result, budget, f_opt)
    top.set_title(title, fontsize=10, loc="left")
    if result.trace:
        _draw_parts(axes[1, 0], result.trace, result.nfev)
        top.tick_params(labelbottom=False)
    axes[-1, 0].set_xlabel("evaluations", fontsize=9)
    axes[-1, 0].set_xlim(0, max(result.nfev, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140)
    plt.close(figure)


def _draw_values(axis: Any, result: Any, budget: int, f_opt: float | None) -> None:
    places = np.append(result.history.nfev, result.nfev)
    values = np.append(result.history.fun, result.fun)
    values = values if f_opt is None else np.maximum(values - f_opt, GAP_FLOOR)
    axis.step(places, values, where="post", color=COLORS[0], linewidth=2)
    axis.set_ylabel("best value" if f_opt is None else "gap to the optimum", fontsize=9)
    if (values > 0).all() and values.max() > 20 * values.min():
        axis.set_yscale("log")
    axis.grid(visible=True, alpha=0.25)
    axis.tick_params(labelsize=8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _draw_parts(axis: Any, trace: Any, used: int) -> None:
    parts = list(dict.fromkeys(span.part for span in trace))
    colors = {part: COLORS[place % len(COLORS)] for place, part in enumerate(parts)}
    for span in trace:
        width = span.end - span.begin
        axis.barh(0, width, left=span.begin, height=1, color=colors[span.part], edgecolor="white", linewidth=0.6)
    for part in parts:
        axis.barh(0, 0, color=colors[part], label=part)
    axis.set_yticks([])
    axis.set_ylim(-0.5, 0.5)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.tick_params(labelsize=8)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -1.4), ncols=min(len(parts), 5), frameon=False, fontsize=8)

"""Demsar's diagram: methods on an axis of mean ranks, bars joining those whose ranks do not differ significantly."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from l2e.report.statistics import Friedman
from l2e.report.styles import label


def cliques(ranks: np.ndarray, critical_difference: float) -> list[tuple[int, int]]:
    """Largest groups of neighbouring methods, by place in the order of ranks, that span less than the difference."""
    ordered = np.sort(ranks)
    found: list[tuple[int, int]] = []
    for first in range(len(ordered)):
        last = int(np.searchsorted(ordered, ordered[first] + critical_difference, side="right")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def draw_ranks(plt: Any, methods: Sequence[str], test: Friedman, problems: int) -> Any:
    """The diagram, best methods on the left."""
    order = np.argsort(test.ranks, kind="stable")
    count = len(order)
    half = (count + 1) // 2
    groups = cliques(test.ranks, test.critical_difference)
    top, step = 0.25 + 0.13 * len(groups), 0.28
    figure, panel = plt.subplots(figsize=(9, 1.6 + 0.26 * half + 0.13 * len(groups)), layout="constrained")
    panel.set_xlim(1 - 0.34 * count, count + 0.34 * count)
    panel.set_ylim(-(top + step * (half + 0.6)), 1.0)
    panel.set_axis_off()
    panel.plot([1, count], [0, 0], color="black", linewidth=1.2)
    for rank in range(1, count + 1):
        panel.plot([rank, rank], [0, 0.08], color="black", linewidth=1)
        panel.text(rank, 0.13, str(rank), ha="center", fontsize=8)
    for place, index in enumerate(order):
        left = place < half
        depth = -(top + step * (place if left else count - 1 - place) + 0.1)
        rank, end = test.ranks[index], 1 - 0.02 * count if left else count + 0.02 * count
        panel.plot([rank, rank, end], [0, depth, depth], color="0.35", linewidth=0.9)
        name = label(str(methods[index]))
        shift, align = (-0.05, "right") if left else (0.05, "left")
        panel.text(end + shift, depth, f"{name}  {rank:.2f}", ha=align, va="center", fontsize=9)
    ordered = np.sort(test.ranks)
    for level, (first, last) in enumerate(groups):
        height = -(0.12 + 0.13 * level)
        panel.plot([ordered[first] - 0.04, ordered[last] + 0.04], [height, height], color="#D55E00", linewidth=3)
    panel.plot([1, 1 + test.critical_difference], [0.6, 0.6], color="black", linewidth=1.5)
    panel.text(1, 0.72, f"critical difference {test.critical_difference:.2f} (Nemenyi, 5 %)", fontsize=8)
    panel.set_title(f"Mean ranks over {problems} problems, Friedman p = {test.p:.1e}", fontsize=10)
    return figure

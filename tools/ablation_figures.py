"""Pictures of an ablation over several trainings: how they learned, what they leave, and how their runs go."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D


def draw_arms(path: Path, logs: Any, functions: list[str], lines: list[dict[str, Any]]) -> None:
    """Validation during training, boxes over functions of each training, and the arms by function."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
    colours = _colours(logs)
    for name in dict.fromkeys(line["training"] for line in lines):
        own = [line for line in lines if line["training"] == name and line["validation"] is not None]
        points = [(line["step"], line["validation"]) for line in own]
        left.plot(*zip(*points, strict=True), color=colours[name.rpartition(" ")[0]], marker=".")
    left.set(xlabel="meta-step", ylabel="validation: mean log10 gap", title="Validation, a line per training")
    place, ticks = 0, []
    for arm, rows in logs.items():
        boxes = middle.boxplot(
            [*rows.values()],
            positions=range(place, place + len(rows)),
            widths=0.7,
            patch_artist=True,
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set_facecolor(colours[arm])
        ticks.append((place + (len(rows) - 1) / 2, arm))
        place += len(rows) + 1
    middle.set_xticks([at for at, _ in ticks], [arm for _, arm in ticks], rotation=45, ha="right")
    middle.set(ylabel="log10 of the mean gap", title="Test functions, a box per training")
    for arm, rows in logs.items():
        right.plot(functions, np.mean([*rows.values()], axis=0), color=colours[arm], marker="o", ls="", label=arm)
    right.set(title="By function, mean of trainings", ylabel="log10 of the mean gap")
    right.tick_params(axis="x", rotation=60)
    right.legend(fontsize="small")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_curves(path: Path, traces: dict[str, dict[str, np.ndarray]], shares: tuple[float, ...]) -> None:
    """log10 of the gap over the share of the budget, by function and over all: a thin line per training."""
    arms = list(dict.fromkeys(name.rpartition(" ")[0] for name in traces))
    functions = list(next(iter(traces.values())))
    colours = _colours(arms)
    across = 6
    figure, grid = plt.subplots(
        -(-(len(functions) + 1) // across), across, figsize=(16, 8), layout="constrained", sharex=True
    )
    for axes, function in zip(grid.flat, [*functions, "all functions"], strict=False):
        for name, rows in traces.items():
            arm = name.rpartition(" ")[0]
            row = rows[function] if function in rows else np.mean([*rows.values()], axis=0)
            axes.plot(shares, row, color=colours[arm], lw=0.9, marker=".", ms=3)
        axes.set_title(function, fontsize="small")
    for axes in list(grid.flat)[len(functions) + 1 :]:
        axes.axis("off")
    last = list(grid.flat)[-1]
    last.legend([Line2D([], [], color=colours[arm]) for arm in arms], arms, loc="center", fontsize="small")
    figure.supxlabel("share of the budget")
    figure.supylabel("log10 of the gap, mean of runs")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _colours(arms: Any) -> dict[str, Any]:
    found = plt.colormaps["tab20" if len(arms) > 10 else "tab10"].colors  # pyright: ignore[reportAttributeAccessIssue]
    return {arm: found[place % len(found)] for place, arm in enumerate(arms)}

"""Pictures of flights: the paths that methods found over a terrain, seen from the side and from above."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from l2e.api import catalog, problem_catalog
from l2e.api.minimize import minimize
from l2e.bench.methods import build
from l2e.bench.suite import parts
from l2e.core.errors import require
from l2e.core.problem import AbstractProblem
from l2e.problems import UAV
from l2e.problems._uav.suite import group_of
from l2e.problems._uav.terrain import DANGER, DRONE
from l2e.report.collection import Results
from l2e.report.records import Run
from l2e.report.styles import looks, pyplot

INK = "#22303c"
THREAT = "#b3261e"
GROUND = ("#7d9a6b", "#a9b98a", "#d6cfa3", "#cdb48a", "#b08f6f", "#a68a7c", "#e9e4de")
"""Colours of the ground from the valleys to the peaks."""

SUITES = ("uav", "official-uav")
"""The suites whose problems are terrains."""

STEP = 6
"""Every sixth height is drawn from the side."""


MOST_TERRAINS = 4
MOST_METHODS = 6
"""So many flights does a report draw: each is searched for once more."""


def draw_uav(results: Results, folder: Path) -> list[Path]:
    """Draw the flights of a contest on terrains, and how groups of terrains went; nothing for other contests.

    Records hold no paths, so the best run of a method on a terrain is repeated, which its seed makes possible. A run
    that does not end at the recorded cost, because it depends on more than its seed, is not drawn.

    **Returns:** the pictures.
    """
    terrains = [name for name in results.ordered if name.partition(":")[0] in SUITES]
    places = np.linspace(0, len(terrains) - 1, min(MOST_TERRAINS, len(terrains))).round().astype(int)
    found = []
    for name in (terrains[place] for place in places):
        problem = problem_catalog.problem(name)
        assert isinstance(problem, UAV)
        best = [min(results.cells.get((name, m), []), key=lambda run: run.final, default=None) for m in results.methods]
        flown = sorted((run for run in best if run is not None), key=lambda run: run.final)[:MOST_METHODS]
        points = {run.method: repeated(run, problem) for run in flown}
        path = folder / f"flights-{int(problem.number)}.png"
        uav_figure(problem, {m: x for m, x in points.items() if x is not None}, path, "the best run of each method")
        found.append(path)
    groups = shares_by_group(results, terrains)
    if len(groups) > 2:
        found.append(folder / "terrain-groups.png")
        draw_groups(groups, results.methods, found[-1])
    return found


def repeated(run: Run, problem: AbstractProblem) -> np.ndarray | None:
    """Where a run ended, or None if it ends elsewhere this time, or if its method is code that a record names."""
    if not catalog.is_name(run.method):
        return None
    searcher = build(run.method, problem.dimension, run.budget)
    again = minimize(problem, bounds=problem.space, method=searcher, budget=run.budget, rng=run.seed)
    return again.x if np.isclose(again.fun, run.improved_to[-1], rtol=1e-6) else None


def shares_by_group(results: Results, terrains: list[str]) -> dict[str, dict[str, float]]:
    """By group and method, the mean over terrains of the lowest median cost of all methods over that of the method."""
    groups: dict[str, list[str]] = {}
    for name in terrains:
        groups.setdefault(group_of(parts(name)["function"]), []).append(name)
    found: dict[str, dict[str, float]] = {}
    for group, names in groups.items():
        costs = {
            m: [np.median([run.final for run in results.cells[name, m]]) for name in names] for m in results.complete
        }
        lowest = np.min(list(costs.values()), axis=0)
        found[group] = {m: float(np.mean(lowest / np.asarray(row))) for m, row in costs.items()}
    return found


def draw_groups(groups: dict[str, dict[str, float]], methods: tuple[str, ...], path: Path) -> None:
    """Draw the radar over groups of terrains."""
    plt = pyplot()
    angles = np.linspace(0, 2 * np.pi, len(groups), endpoint=False)
    figure, panel = plt.subplots(figsize=(9, 6), subplot_kw={"projection": "polar"}, layout="constrained")
    for method, look in looks(methods).items():
        values = [shares[method] for shares in groups.values() if method in shares]
        if values:
            around = [*angles, angles[0]], [*values, values[0]]
            panel.plot(*around, color=look.color, linestyle=look.dash, linewidth=1.8, label=method)
    panel.set_xticks(angles, list(groups), fontsize=9, color=INK)
    panel.tick_params(axis="x", pad=16)
    panel.set_ylim(0, 1.02)
    panel.tick_params(axis="y", labelsize=7)
    panel.legend(loc="center left", bbox_to_anchor=(1.2, 0.5), frameon=False, fontsize=9)
    figure.suptitle("Lowest cost of all methods over the cost of each: 1 is the best, groups of terrains", fontsize=11)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def uav_figure(problem: UAV, points: Mapping[str, Any], path: Path, note: str = "") -> None:
    """Draw the paths that some points stand for over their terrain: from the side on the left, a map on the right.

    ```python
    problem = l2e.problems.uav(terrain=3)
    found = {method: l2e.minimize(problem, method=method, budget=2500).x for method in ("auto", "de")}
    uav_figure(problem, found, Path("flights.png"))
    ```

    **Arguments:** `points`: by name, which the legend shows with its cost, cheapest first; `path`: of a picture, whose
    ending is its format; `note`: added to the title.
    """
    plt = pyplot()
    costs = {name: problem(point) for name, point in points.items()}
    ways = {name: problem.path(points[name]) for name in sorted(points, key=lambda name: costs[name])}
    colors = {name: look.color for name, look in looks(tuple(points)).items()}
    figure = plt.figure(figsize=(16, 6.6), facecolor="white")
    _draw_side(
        plt, figure.add_axes((-0.01, -0.02, 0.49, 1.0), projection="3d", computed_zorder=False), problem, ways, colors
    )
    _draw_map(plt, figure.add_axes((0.53, 0.09, 0.345, 0.8)), problem, ways, colors)
    names = [f"{name}\n{costs[name]:,.0f}" for name in ways]
    handles = [plt.Line2D([], [], color=colors[name], linewidth=3, solid_capstyle="round") for name in ways]
    legend = figure.legend(
        handles, names, loc="upper left", bbox_to_anchor=(0.878, 0.9), frameon=False, fontsize=10, labelcolor=INK
    )
    legend.set_title("cost, cheapest first", prop={"size": 9})
    legend.get_title().set_color("#66727c")
    legend.set_alignment("left")
    threats = len(problem.terrain.real_threats)
    title = f"{problem.name}, {threats} threats" + (f": {note}" if note else "")
    figure.text(0.03, 0.93, title, fontsize=15, color=INK, weight="bold")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"CreationDate": None} if path.suffix == ".pdf" else None)
    plt.close(figure)


def _shaded(heights: np.ndarray) -> np.ndarray:
    """The ground in colour, lit from the north-west."""
    colors = require("matplotlib.colors", "report")
    palette = colors.LinearSegmentedColormap.from_list("ground", GROUND)
    low, high = np.quantile(heights, [0.01, 0.995])
    light = colors.LightSource(azdeg=315, altdeg=42)
    return light.shade(heights, palette, vmin=low, vmax=high, vert_exag=0.55, blend_mode="soft")


def _draw_map(plt: Any, panel: Any, problem: UAV, ways: dict[str, np.ndarray], colors: dict[str, str]) -> None:
    effects = require("matplotlib.patheffects", "report")
    terrain = problem.terrain
    heights = np.asarray(terrain.heights, dtype=float)
    rows, columns = heights.shape
    extent = (0.5, columns + 0.5, 0.5, rows + 0.5)
    panel.imshow(_shaded(heights), origin="lower", extent=extent, interpolation="bilinear")
    low, high = np.quantile(heights, [0.02, 0.98])
    levels = np.linspace(low, high, 9)
    panel.contour(heights, levels, extent=extent, colors=INK, linewidths=0.45, alpha=0.28)
    for x, y, radius in terrain.real_threats:
        panel.add_patch(plt.Circle((x, y), radius, facecolor=THREAT, alpha=0.24, linewidth=0, zorder=3))
        panel.add_patch(plt.Circle((x, y), radius, fill=False, edgecolor=THREAT, linewidth=1.0, alpha=0.9, zorder=3))
        ring = plt.Circle((x, y), radius + DRONE + DANGER, fill=False, edgecolor=THREAT, linewidth=0.7, alpha=0.6)
        ring.set_linestyle((0, (3, 3)))
        panel.add_patch(ring)
    for place, (name, way) in enumerate(reversed(ways.items())):
        casing = [effects.Stroke(linewidth=4.6, foreground="white", alpha=0.9), effects.Normal()]
        panel.plot(*way[:, :2].T, color=colors[name], linewidth=2.4, path_effects=casing, zorder=5 + place)
        panel.plot(*way[1:-1, :2].T, "o", color="white", markeredgecolor=colors[name], markersize=4.4, zorder=5 + place)
    for point, label in ((terrain.start, "start"), (terrain.end, "end")):
        panel.plot(*point[:2], "o", color=INK, markeredgecolor="white", markeredgewidth=1.6, markersize=10, zorder=40)
        text = panel.annotate(
            label, point[:2], (9, -13), textcoords="offset points", fontsize=10, color=INK, weight="bold", zorder=41
        )
        text.set_path_effects([effects.withStroke(linewidth=3, foreground="white")])
    panel.set(xlim=(1, columns), ylim=(1, rows), xlabel="x", ylabel="y")
    panel.set_aspect("equal")
    panel.tick_params(labelsize=8, colors="#66727c", length=3)
    for spine in panel.spines.values():
        spine.set_color("#c9cfd4")


def _draw_side(plt: Any, panel: Any, problem: UAV, ways: dict[str, np.ndarray], colors: dict[str, str]) -> None:
    effects = require("matplotlib.patheffects", "report")
    terrain = problem.terrain
    heights = np.asarray(terrain.heights, dtype=float)
    ground = heights[::STEP, ::STEP]
    y, x = np.mgrid[1 : heights.shape[0] + 1 : STEP, 1 : heights.shape[1] + 1 : STEP]
    panel.plot_surface(
        x,
        y,
        ground,
        facecolors=_shaded(heights)[::STEP, ::STEP],
        rstride=1,
        cstride=1,
        linewidth=0,
        antialiased=False,
        shade=False,
        zorder=1,
    )
    flown = np.concatenate(list(ways.values()))[:, 2]
    top = max(heights.max(), flown.max())
    for threat_x, threat_y, radius in terrain.real_threats:
        _draw_cylinder(panel, threat_x, threat_y, radius, heights, 0.35 * (top - heights.min()))
    for name, way in reversed(ways.items()):
        shadow = _along(way)
        rows, columns = (np.clip(np.round(shadow[:, i]).astype(int) - 1, 0, heights.shape[1 - i] - 1) for i in (1, 0))
        panel.plot(
            shadow[:, 0], shadow[:, 1], heights[rows, columns] + 4, color=INK, alpha=0.35, linewidth=1.1, zorder=3
        )
        casing = [effects.Stroke(linewidth=4.4, foreground="white", alpha=0.85), effects.Normal()]
        panel.plot(*way.T, color=colors[name], linewidth=2.4, path_effects=casing, zorder=5, solid_capstyle="round")
    ends = next(iter(ways.values()))[[0, -1]]
    panel.plot(*ends.T, "o", color=INK, markeredgecolor="white", markeredgewidth=1.4, markersize=8, zorder=6)
    panel.set_box_aspect((1, 1, 0.36), zoom=1.06)
    panel.view_init(elev=40, azim=-60)
    panel.set(xlim=(1, heights.shape[1]), ylim=(1, heights.shape[0]), zlim=(heights.min(), top))
    panel.set_xlabel("x", fontsize=9, labelpad=-2)
    panel.set_ylabel("y", fontsize=9, labelpad=-2)
    panel.set_zlabel("height", fontsize=9, labelpad=-3)
    panel.tick_params(labelsize=7, colors="#66727c", pad=-1)
    for axis in (panel.xaxis, panel.yaxis, panel.zaxis):
        axis.set_pane_color((1, 1, 1, 0))
        axis.line.set_color("#c9cfd4")
        axis._axinfo["grid"].update(color="#e3e7ea", linewidth=0.6)
        axis.set_major_locator(plt.MaxNLocator(4))


def _draw_cylinder(panel: Any, x: float, y: float, radius: float, heights: np.ndarray, tall: float) -> None:
    """A threat, drawn from the ground at its foot to a little above; in truth it reaches to the sky."""
    around = np.linspace(0, 2 * np.pi, 40)
    edge_x, edge_y = x + radius * np.cos(around), y + radius * np.sin(around)
    rows, columns = heights.shape
    row, column = (
        np.clip(np.round(edge_y).astype(int) - 1, 0, rows - 1),
        np.clip(np.round(edge_x).astype(int) - 1, 0, columns - 1),
    )
    inside = (edge_x >= 1) & (edge_x <= columns) & (edge_y >= 1) & (edge_y <= rows)
    foot = heights[row, column]
    roof = np.full_like(foot, foot.max() + tall)
    shown = np.where(inside, edge_x, np.nan)
    panel.plot_surface(
        np.stack([shown, shown]),
        np.stack([edge_y, edge_y]),
        np.stack([foot, roof]),
        color=THREAT,
        alpha=0.10,
        linewidth=0,
        shade=False,
        zorder=2,
    )
    panel.plot(shown, edge_y, foot + 3, color=THREAT, linewidth=0.9, alpha=0.85, zorder=2)
    panel.plot(shown, edge_y, roof, color=THREAT, linewidth=0.7, alpha=0.5, zorder=2)


def _along(way: np.ndarray, pieces: int = 25) -> np.ndarray:
    """Points along a path, close enough to follow the ground below it."""
    share = np.linspace(0, 1, pieces, endpoint=False)[:, None]
    pieces_of = [start + share * (end - start) for start, end in itertools.pairwise(way)]
    return np.concatenate([*pieces_of, way[-1:]])

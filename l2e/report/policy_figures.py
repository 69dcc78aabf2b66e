"""Pictures of neuroevolution: learning curves normalised as in the paper, final costs, and a robot that walks."""

from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.errors import require
from l2e.problems import Neuroevolution
from l2e.report.collection import Results
from l2e.report.figures import legend
from l2e.report.records import Run, grid
from l2e.report.styles import label, looks, pyplot

SUITES = ("ant-spring", "humanoid-spring", "ant-mujoco", "humanoid-mujoco")
"""The suites whose problems are robots."""

FRAMES = 7
"""Of a strip."""


def draw_policies(results: Results, folder: Path) -> list[Path]:
    """Draw the learning curves of a contest on robots, and boxes of the final costs; nothing for other contests.

    **Returns:** the pictures.
    """
    tasks = [name for name in results.ordered if name.partition(":")[0] in SUITES]
    if not tasks:
        return []
    plt = pyplot()
    figure, panels = plt.subplots(
        2, len(tasks), figsize=(max(4.6 * len(tasks), 7) + 1, 7.6), squeeze=False, layout="constrained"
    )
    for task, above, below in zip(tasks, *panels, strict=True):
        _draw_curves(above, results, task)
        _draw_boxes(below, results, task)
    legend(figure, results, columns=6, fontsize=10)
    figure.suptitle(
        f"{label(results.title)}\ncost: minus the mean reward; bands from the lowest run to the highest", fontsize=11
    )
    path = folder / "learning.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return [path]


def normalisation(runs: list[Run]) -> tuple[float, int]:
    """The paper's: from costs their mean over all runs' ends is subtracted, and a power of ten divides the rest."""
    ends = np.asarray([run.improved_to[-1] for run in runs if len(run.improved_to)])
    mean = float(ends.mean())
    spread = float(np.max(np.abs(ends - mean)))
    return mean, int(np.floor(np.log10(spread))) if spread > 0 else 0


def _runs_on(results: Results, task: str) -> list[Run]:
    return [run for run in results.runs if run.problem == task and len(run.improved_to)]


def _draw_curves(panel: Any, results: Results, task: str) -> None:
    runs = _runs_on(results, task)
    mean, exponent = normalisation(runs)
    for method, look in looks(results.methods).items():
        own = [run for run in runs if run.method == method]
        if not own:
            continue
        places = grid(max(run.budget for run in own))
        costs = np.asarray([_costs(run, places) for run in own])
        shown = (np.where(np.isfinite(costs), costs, np.nan) - mean) / 10.0**exponent
        panel.plot(places, shown.mean(axis=0), color=look.color, linestyle=look.dash, linewidth=1.7)
        panel.fill_between(places, shown.min(axis=0), shown.max(axis=0), color=look.color, alpha=0.12, linewidth=0)
    panel.set_title(label(task), fontsize=10)
    panel.set_xlabel("evaluations", fontsize=9)
    panel.set_ylabel(f"(cost - ({mean:.5g})) / 10^{exponent}", fontsize=9)
    panel.grid(visible=True, alpha=0.25)


def _costs(run: Run, places: np.ndarray) -> np.ndarray:
    """The best cost so far at some evaluations, infinite before the first."""
    found = np.searchsorted(run.improved_at, places, side="right") - 1
    return np.append(run.improved_to, np.inf)[found]


def _draw_boxes(panel: Any, results: Results, task: str) -> None:
    runs = _runs_on(results, task)
    present = [m for m in reversed(results.methods) if any(run.method == m for run in runs)]
    ends = [[run.improved_to[-1] for run in runs if run.method == m] for m in present]
    drawn = panel.boxplot(ends, orientation="horizontal", patch_artist=True, widths=0.65)
    for box, method in zip(drawn["boxes"], present, strict=True):
        box.set(facecolor=looks(results.methods)[method].color, alpha=0.55)
    for part in drawn["medians"]:
        part.set(color="black")
    panel.set_yticklabels([label(m) for m in present], fontsize=8)
    panel.set_xlabel("cost at the end", fontsize=9)
    panel.locator_params(axis="x", nbins=6)
    panel.grid(visible=True, axis="x", alpha=0.25)


def policy_strip(problem: Neuroevolution, point: Any, path: Path, seed: int = 0) -> float:
    """Draw how a robot of Brax walks under a policy: some moments of one episode, seen from the side.

    **Arguments:** `point`: the weights; `path`: of the picture; `seed`: of the episode.

    **Returns:** the reward of the episode.
    """
    positions, rewards, parents = _walked(problem, point, seed)
    plt = pyplot()
    times = np.linspace(0, len(positions) - 1, FRAMES).round().astype(int)
    figure, panels = plt.subplots(1, FRAMES, figsize=(2.3 * FRAMES, 2.9), layout="constrained", sharey=True)
    lowest, highest = positions[..., 2].min(), positions[..., 2].max()
    for time, panel in zip(times, panels, strict=True):
        body = positions[time]
        panel.axhline(0, color="#b08f6f", linewidth=2)
        for place, parent in enumerate(parents):
            if parent >= 0:
                panel.plot(*body[[parent, place]][:, [0, 2]].T, color="#22303c", linewidth=3, solid_capstyle="round")
        panel.plot(body[:, 0], body[:, 2], "o", color="#2a6fbb", markersize=5)
        panel.plot(body[0, 0], body[0, 2], "o", color="#b3261e", markersize=10)
        panel.set(xlim=(body[0, 0] - 1.1, body[0, 0] + 1.1), ylim=(min(lowest, 0) - 0.1, highest + 0.2))
        panel.set_title(f"step {time}\nreward so far {rewards[:time].sum():.0f}", fontsize=9)
        panel.tick_params(labelsize=7)
        panel.set_xlabel("x", fontsize=8)
    panels[0].set_ylabel("height", fontsize=8)
    figure.suptitle(f"{problem.name}: one episode, reward {rewards.sum():.1f}", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return float(rewards.sum())


def _walked(problem: Neuroevolution, point: Any, seed: int) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Where the parts of the robot are in every step, what each is worth, and to which part each is joined."""
    jax = require("jax", "brax")
    from l2e.problems._neuroevolution import suite
    from l2e.problems._neuroevolution.policy import act, layer_sizes, unpacked

    with jax.enable_x64(False):
        robot = suite.environment(problem.robot)
        weights = jax.numpy.asarray(np.asarray(point), jax.numpy.float32)
        layers = unpacked(weights, layer_sizes(*suite.SIZES[problem.robot], problem.depth))

        def step(state: Any, _: None) -> tuple[Any, Any]:
            new = robot.step(state, act(layers, state.obs, jax.numpy.tanh))
            return new, (new.pipeline_state.x.pos, new.reward, new.done)

        begin = jax.jit(robot.reset)(jax.random.key(seed))
        _, (places, rewards, done) = jax.jit(lambda s: jax.lax.scan(step, s, None, length=suite.STEPS))(begin)
    last = int(np.argmax(done)) + 1 if np.any(done) else suite.STEPS
    return np.asarray(places)[:last], np.asarray(rewards)[:last], tuple(robot.sys.link_parents)

"""Draw what members of the families in `l2e.problems.families` are, and what solutions of them look like.

    python tools/family_gallery.py docs/assets/family-gallery.png

Two members of each family are solved by the default method with 50 evaluations per dimension.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import l2e
from l2e.problems.families import FAMILIES
from l2e.problems.families.antenna import FLOOR, Antenna
from l2e.problems.families.cartpole import SECONDS as CART_SECONDS
from l2e.problems.families.cartpole import CartPole
from l2e.problems.families.pendulum import SECONDS, Pendulum
from l2e.problems.families.seir import Epidemic, simulate
from l2e.problems.families.truss import BARS, Truss
from l2e.problems.families.uav import terrain_of

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import Circle

MEMBERS = (1, 2)
BUDGET = 50
COLOURS = ("#1f5fa8", "#d98c2b")


def truss(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """Bars as wide as they are thick."""
    bars = _inside(seed, "truss", Truss)
    away = 1.15 * float(np.ptp(bars._joints[:, 1])) * MEMBERS.index(seed)
    for (a, b), area in zip(BARS, 10.0**x, strict=True):
        ends = bars._joints[[a, b]]
        ax.plot(
            ends[:, 0], ends[:, 1] - away, color=colour, linewidth=0.3 + 0.9 * np.sqrt(area), solid_capstyle="round"
        )
    ax.set(title="truss, 10-D: areas of bars", xticks=[], yticks=[], aspect="equal")


def antenna(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """What the array sends in which direction."""
    angles, relative = _inside(seed, "antenna", Antenna).pattern(x[None])
    ax.plot(np.degrees(angles), 20 * np.log10(np.maximum(relative[0], FLOOR)), color=colour, linewidth=1)
    ax.set(title="antenna, 16-D: beam, lobes, nulls", xlabel="angle", ylabel="dB", ylim=(-62, 2))


def seir(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """Counts, and the epidemic that was fitted to them."""
    epidemic = _inside(seed, "seir", Epidemic)
    ax.semilogy(np.expm1(epidemic._cases) + 1, ".", color=colour, markersize=2.5, alpha=0.6)
    ax.semilogy(np.array(simulate(x.tolist())[0]) + 1, color=colour, linewidth=1.2)
    ax.set(title="seir, 8-D: cases by day", xlabel="day")


def tuning(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """The error along the ridge and around the best settings."""
    grid = np.linspace(-5, 1, 60)
    points = np.repeat(x[None], len(grid), axis=0)
    points[:, 5] = grid
    ax.plot(grid, FAMILIES["tuning"](seed)(points), color=colour, linewidth=1.2)
    ax.plot(x[5], FAMILIES["tuning"](seed)(x), "o", color=colour, markersize=4)
    ax.set(title="tuning, 8-D: error of a kernel machine", xlabel="log10 of the ridge", ylabel="log10 of the error")


def cartpole(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """The pole's angle over time."""
    swing = _inside(seed, "cartpole", CartPole).swing(x[None])
    _swing(ax, [angle[0] for _, angle, _ in swing], CART_SECONDS, colour)
    ax.set(title="cartpole, 30-D: a network swings it up")


def pendulum(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """Its angle over time."""
    swing = _inside(seed, "pendulum", Pendulum).swing(x[None])
    _swing(ax, [angle[0] for angle, _, _ in swing], SECONDS, colour)
    ax.set(title="pendulum, 12-D: a controller lifts it")


def uav(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """One terrain from above, with its threats and the path; the second member has another one."""
    from l2e.problems._uav.suite import drawn_uav

    if seed != MEMBERS[0]:
        return
    problem = drawn_uav(*terrain_of(seed))
    ax.imshow(problem.terrain.heights, origin="lower", cmap="Greys", extent=(1, 900, 1, 900), alpha=0.7)
    for at_x, at_y, radius in problem.terrain.real_threats:
        ax.add_patch(Circle((at_x, at_y), radius, color="#b03a3a", alpha=0.6, linewidth=0))
    way = problem.path(problem.space.from_unit(x))
    ax.plot(way[:, 0], way[:, 1], "o-", color=colour, linewidth=1.6, markersize=2.5)
    ax.set(title="uav, 30-D: a path around threats", xticks=[], yticks=[], xlim=(1, 900), ylim=(1, 900))


def control(ax: Any, seed: int, x: np.ndarray, colour: str) -> None:
    """Values along one line through the middle of the box."""
    along = np.linspace(-5, 5, 200)
    values = FAMILIES["control"](seed)(np.outer(along, np.ones(10) / np.sqrt(10)))
    ax.semilogy(along, values, color=colour, linewidth=1.2)
    ax.set(title="control, 10-D: nothing shared", xlabel="along a diagonal")


PANELS = {f.__name__: f for f in (truss, antenna, seir, tuning, cartpole, pendulum, uav, control)}


def _swing(ax: Any, swung: list[float], seconds: float, colour: str) -> None:
    """An angle over time, and where it is upright."""
    angles = np.array(swung)
    ax.plot(seconds * np.arange(len(angles)), np.degrees(angles), color=colour, linewidth=1.2)
    for turns in np.unique(np.round(angles / (2 * np.pi))):
        ax.axhline(360 * turns, color="0.8", linewidth=0.8, zorder=0)
    ax.set(xlabel="seconds", ylabel="angle")


def _inside(seed: int, name: str, kind: type[Any]) -> Any:
    """The object behind a member."""
    function = FAMILIES[name](seed).function
    assert isinstance(function, kind)
    return function


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    path = parser.parse_args().picture
    figure, axes = plt.subplots(2, 4, figsize=(12, 5.6), layout="constrained")
    for ax, (name, draw) in zip(axes.flat, PANELS.items(), strict=True):
        for seed, colour in zip(MEMBERS, COLOURS, strict=True):
            problem = FAMILIES[name](seed)
            found = l2e.minimize(problem, budget=BUDGET * problem.dimension, rng=0)
            draw(ax, seed, np.asarray(found.x), colour)
        ax.title.set_fontsize(9)
        ax.xaxis.label.set_fontsize(8)
        ax.yaxis.label.set_fontsize(8)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()

"""A training of the default method in a folder: its state, best weights, metrics and picture; killed, it goes on."""

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rich.console import Console

from l2e import checkpoint
from l2e._names import require
from l2e._version import __version__
from l2e.checkpoint import CheckpointError
from l2e.experts.weights import save_weights
from l2e.meta.episodes import Task, play
from l2e.meta.run import BEST, CURVE, METRICS, STATE, append_metrics, cut_metrics, interruptible, read_metrics
from l2e.meta.search_train import SearchSpec, SearchState, advance, begin

Game = TypeVar("Game")
Score = TypeVar("Score")
CHUNK = 4
"""Episodes that a process is given at once: they are short."""


def run_search(
    spec: SearchSpec, folder: Path, facts: dict[str, Any], workers: int = 1, console: Console | None = None
) -> SearchState:
    """Train in a folder; called again with the same arguments it goes on exactly where it was.

    Ctrl-C finishes the step, saves and returns; a second one abandons the step.

    **Arguments:** `spec`: the training; `facts`: what it is in plain JSON: another training in the same folder is an
    error; `workers`: processes that play; `console`: told of each validation.
    """
    console = console or Console()
    folder.mkdir(parents=True, exist_ok=True)
    state, hours = _load(folder / STATE, spec, facts)
    cut_metrics(folder / METRICS, int(state.step))
    with interruptible() as interrupted, players(_play, workers, CHUNK) as player:
        try:
            while int(state.step) < spec.steps and not interrupted():
                began = time.monotonic()
                state, info = advance(spec, state, player)
                hours += (time.monotonic() - began) / 3600
                append_metrics(folder / METRICS, info._asdict())
                checkpoint.save_tree(folder / STATE, state, {"training": facts, "hours": hours})
                if info.validation is not None:
                    _save_best(folder / BEST, spec, state, facts, hours)
                    text = f"step {info.step}: gain {info.validation:+.4f} +- {info.validation_error:.4f}"
                    console.print(text + (" best" if info.best else ""), highlight=False)
        except KeyboardInterrupt:
            cut_metrics(folder / METRICS, int(checkpoint.load_tree(folder / STATE, state).step))
    if read_metrics(folder / METRICS):
        draw_gains(folder)
    return state


def draw_gains(folder: Path) -> None:
    """Draw the score in training and the gain over untrained weights against steps."""
    rows = read_metrics(folder / METRICS)
    require("matplotlib", "report").use("Agg")
    plt = require("matplotlib.pyplot", "report")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    left.plot([row["step"] for row in rows], [1 - row["loss"] for row in rows], linewidth=0.8, color="#0072B2")
    left.set(xlabel="step", ylabel="mean score of the episodes of a step")
    checked = [row for row in rows if row["validation"] is not None]
    steps = [row["step"] for row in checked]
    for family in checked[0]["validation_families"] if checked else ():
        right.plot(steps, [r["validation_families"][family] for r in checked], linewidth=0.5, alpha=0.4, color="#777")
    errors = [row["validation_error"] for row in checked]
    right.errorbar(steps, [row["validation"] for row in checked], errors, color="black", capsize=2)
    right.axhline(0, linewidth=0.6, color="#D55E00")
    right.set(xlabel="step", ylabel="gain in score, held-out tasks")
    for axis in (left, right):
        axis.grid(visible=True, alpha=0.25)
    figure.savefig(folder / CURVE, dpi=110)
    plt.close(figure)


def _load(path: Path, spec: SearchSpec, facts: dict[str, Any]) -> tuple[SearchState, float]:
    if not path.exists():
        return begin(spec), 0.0
    stored = checkpoint.load_facts(path)
    if stored.get("training") != facts:
        raise CheckpointError(f"{path} belongs to another training; name another folder or remove it")
    return checkpoint.load_tree(path, begin(spec)), float(stored["hours"])


def _save_best(path: Path, spec: SearchSpec, state: SearchState, facts: dict[str, Any], hours: float) -> None:
    card = {
        **facts,
        "command": " ".join(["l2e", *sys.argv[1:]]),
        "step": int(state.best_step),
        "steps": spec.steps,
        "validation_gain": float(state.best_gain),
        "hours": hours,
        "versions": {"l2e": __version__, "numpy": np.__version__},
    }
    save_weights(path, state.best_weights, card)


@contextmanager
def players(
    play: Callable[[Game], Score], workers: int, chunk: int = 1
) -> Iterator[Callable[[Iterable[Game]], list[Score]]]:
    """Who plays: this process, or several that are started fresh and given so many games at once; the order is kept."""
    if workers <= 1:
        yield lambda games: [play(game) for game in games]
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda games: list(pool.map(play, games, chunksize=chunk))


def _play(game: tuple[np.ndarray | None, Task]) -> float:
    return play(*game)

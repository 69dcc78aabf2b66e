"""A training in a folder: its state, its best weights, its metrics and its picture. Killed, it loses a few steps."""

import dataclasses
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from l2e import checkpoint
from l2e._names import require
from l2e._version import __version__
from l2e.checkpoint import CheckpointError
from l2e.meta import distributed
from l2e.meta.train import Trainer, TrainInfo, TrainSpec, TrainState

STATE, BEST, METRICS, CURVE = "state.safetensors", "best.safetensors", "metrics.jsonl", "curve.png"
SAVE_SECONDS = 60.0
"""The state is saved at least so often."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """What became of a run: whether it is complete, and its last state."""

    complete: bool
    state: TrainState
    folder: Path


def run(
    spec: TrainSpec,
    seed: int,
    folder: Path,
    facts: dict[str, Any],
    console: Console | None = None,
    show: bool = True,
) -> Finished:
    """Train in a folder; called again with the same arguments it goes on exactly where it was.

    Ctrl-C finishes the step, saves and returns; a second Ctrl-C abandons the step and saves the one before.

    **Arguments:** `spec`, `seed`: the training; `facts`: what it is in plain JSON; another training in the same
    folder is an error; `show`: a progress bar.
    """
    console = console or Console()
    folder.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(spec)
    identity = {**facts, "seed": seed}
    state, hours = _resume(folder, trainer, identity, seed)
    writer = distributed.is_writer()
    if writer:
        cut_metrics(folder / METRICS, int(state.step))
    if int(state.step) >= spec.steps and (folder / BEST).exists():
        return Finished(True, state, folder)
    began = time.monotonic()
    untrained = float(np.mean(trainer.validate(trainer.first_weights)))

    def save() -> None:
        if not writer:
            return
        spent = hours + (time.monotonic() - began) / 3600
        checkpoint.save_tree(folder / STATE, state, {"training": identity, "hours": spent})
        if np.isfinite(float(state.best_loss)):
            card = {**identity, "hours": spent, "validation_untrained": untrained}
            save_best(folder / BEST, trainer, state, card)

    last_save = began
    with interruptible() as interrupted, _bar(spec, state, console, show and writer) as progress:
        try:
            while int(state.step) < spec.steps and not distributed.any_of(interrupted()):
                state, info = trainer.advance(state)
                if writer:
                    append_metrics(folder / METRICS, info._asdict())
                progress(info)
                if time.monotonic() - last_save > SAVE_SECONDS or info.best:
                    save()
                    last_save = time.monotonic()
        except KeyboardInterrupt:
            if writer:
                cut_metrics(folder / METRICS, int(state.step))
        save()
    if writer and int(state.step):
        draw_curve(folder)
    return Finished(int(state.step) >= spec.steps, state, folder)


def save_best(path: Path, trainer: Trainer, state: TrainState, facts: dict[str, Any]) -> None:
    """Write the best weights so far as the optimizer that is deployed, with facts about where they come from."""
    optimizer = trainer.optimizer(state.best_weights)
    card = {
        **facts,
        "class": type(optimizer).__qualname__,
        "command": " ".join(["l2e", *sys.argv[1:]]),
        "step": int(state.best_step),
        "steps": trainer.spec.steps,
        "validation": float(state.best_loss),
        "validation_families": list(trainer.spec.tasks.names),
        "dimension": trainer.spec.tasks.dimension,
        "generations": trainer.spec.generations,
        "versions": {"l2e": __version__, "jax": jax.__version__},
    }
    checkpoint.save_tree(path, optimizer, card)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics file; a last line that a crash cut short is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def draw_curve(folder: Path) -> None:
    """Draw loss and validation against steps, if matplotlib is there to draw it."""
    rows = read_metrics(folder / METRICS)
    require("matplotlib", "report").use("Agg")
    plt = require("matplotlib.pyplot", "report")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    steps = [row["step"] for row in rows]
    left.plot(steps, [row["loss"] for row in rows], linewidth=0.8, color="#0072B2")
    left.set(xlabel="meta-step", ylabel="training loss")
    checked = [row for row in rows if row["validation"] is not None]
    families = list(checked[0]["validation_families"]) if checked else []
    for family in families:
        curve = [row["validation_families"][family] for row in checked]
        right.plot([row["step"] for row in checked], curve, linewidth=0.8, alpha=0.6, label=family)
    right.plot([r["step"] for r in checked], [r["validation"] for r in checked], color="black", label="mean")
    right.set(xlabel="meta-step", ylabel="validation, held-out instances")
    if checked:
        right.legend(fontsize=7, ncols=3, frameon=False)
    for axis in (left, right):
        axis.grid(visible=True, alpha=0.25)
    figure.savefig(folder / CURVE, dpi=130)
    plt.close(figure)


def _resume(folder: Path, trainer: Trainer, identity: dict[str, Any], seed: int) -> tuple[TrainState, float]:
    first = trainer.begin(jax.random.key(seed))
    if distributed.is_shared():
        state, hours = _load(folder / STATE, trainer, identity, first) if distributed.is_writer() else (first, 0.0)
        with trainer.precision():
            return distributed.from_writer(state), hours
    return _load(folder / STATE, trainer, identity, first)


def _load(path: Path, trainer: Trainer, identity: dict[str, Any], first: TrainState) -> tuple[TrainState, float]:
    if not path.exists():
        return first, 0.0
    stored = checkpoint.load_facts(path)
    there = stored.get("training", {})
    different = sorted(name for name in identity if there.get(name) != identity[name])
    if different:
        raise CheckpointError(
            f"{path} belongs to another training: {', '.join(different)} differ; name another folder or remove it"
        )
    with trainer.precision():
        return checkpoint.load_tree(path, first), float(stored["hours"])


def append_metrics(path: Path, values: dict[str, Any]) -> None:
    """Add the row of a step to a metrics file."""
    row = {name: _finite(value) for name, value in values.items()}
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _finite(value: Any) -> Any:
    """JSON has no NaN: what is not finite is null."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def cut_metrics(path: Path, step: int) -> None:
    """Leave out the rows of steps after the saved state: they are about to be done again."""
    if not path.exists():
        return
    rows = [row for row in read_metrics(path) if row["step"] <= step]
    checkpoint.write_whole(path, "".join(json.dumps(row) + "\n" for row in rows).encode())


@contextmanager
def interruptible() -> Iterator[Any]:
    """Until the end of the block the first Ctrl-C only sets a flag; the second one interrupts."""
    asked = []

    def note(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread: Ctrl-C is someone else's there
        yield lambda: False
        return
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _bar(spec: TrainSpec, state: TrainState, console: Console, show: bool) -> Iterator[Any]:
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not show) as progress:
        task = progress.add_task("", total=spec.steps, completed=int(state.step), text="compiling")
        skipped, validation = 0, float(state.best_loss)

        def update(info: TrainInfo) -> None:
            nonlocal skipped, validation
            skipped += info.skipped
            validation = validation if info.validation is None else info.validation
            text = f"loss {info.loss:.3f} validation {validation:.3f} gradient {info.gradient_norm:.2g}"
            progress.update(task, completed=info.step, text=f"{text} skipped {skipped}")

        yield update

"""The folder of a training, whatever is trained: saved states, best weights, metrics and the training curve."""

import dataclasses
import json
import math
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from l2e._version import __version__
from l2e.core.checkpoint import CheckpointError, load_metadata, write_whole
from l2e.core.errors import require
from l2e.core.traced.trees import load_tree, save_tree

STATE, BEST, METRICS, CURVE = "state.safetensors", "best.safetensors", "metrics.jsonl", "curve.png"
Tree = TypeVar("Tree")


@dataclasses.dataclass(frozen=True)
class Finished:
    """How a training ended.

    **Fields:** `complete`: whether it is done, or was interrupted and can be resumed; `progress`: how far it came, such
    as "step 3 of 10"; `best`: the best validation in words, None if no weights were better than untrained ones;
    `state`: the last state, or what else the training returns.
    """

    complete: bool
    progress: str
    best: str | None
    state: Any


@dataclasses.dataclass(frozen=True)
class TrainingFolder:
    """The folder of one training.

    **Fields:** `path`: the folder, made if need be; `settings`: of the training, in plain JSON; `identity`: the part of
    them, or more, that must not change when the training is resumed; `command`: the command that trains it, for cards.
    """

    path: Path
    settings: dict[str, Any]
    identity: dict[str, Any]
    command: str | None = None

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    @property
    def best(self) -> Path:
        """The file of the best weights."""
        return self.path / BEST

    def save(self, name: str, tree: Any, hours: float) -> None:
        """Save a state of this training, and how many hours it took."""
        save_tree(self.path / name, tree, {"training": self.identity, "hours": hours})

    def load(self, name: str, like: Tree) -> tuple[Tree, float] | None:
        """A saved state and its hours, None if there is none.

        **Raises:** `CheckpointError` if the file is damaged or belongs to another training.
        """
        path = self.path / name
        if not path.exists():
            return None
        stored = load_metadata(path)
        there, hours = stored.get("training"), stored.get("hours")
        if not isinstance(there, dict) or not isinstance(hours, int | float):
            raise CheckpointError(f"{path} does not hold the state of a training")
        different = sorted(key for key in self.identity if there.get(key) != self.identity[key])
        if different:
            names = ", ".join(different)
            raise CheckpointError(f"{path} belongs to another training ({names} differ); name another folder")
        return load_tree(path, like), float(hours)

    def card(self, hours: float, **more: Any) -> dict[str, Any]:
        """What is known of weights, for the header of their file: settings, provenance, and `more`."""
        versions = {"l2e": __version__, "jax": jax.__version__, "numpy": np.__version__}
        return {**self.settings, "command": self.command, "hours": hours, "versions": versions, **more}

    def metrics(self) -> list[dict[str, Any]]:
        """The rows of the metrics file; a last line that a crash cut short is left out."""
        rows = []
        path = self.path / METRICS
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return rows

    def append_metrics(self, row: dict[str, Any]) -> None:
        """Add the row of a step to the metrics file."""
        with (self.path / METRICS).open("a") as file:
            file.write(json.dumps(_finite(row)) + "\n")

    def cut_metrics(self, step: int) -> None:
        """Drop the rows of steps after this one, which are about to be repeated."""
        rows = [row for row in self.metrics() if row["step"] <= step]
        if (self.path / METRICS).exists():
            write_whole(self.path / METRICS, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def draw_curve(self, loss: str, validation: str, turns: Sequence[str] = ("",)) -> None:
        """Draw training loss and validation against steps.

        **Arguments:** `loss`, `validation`: labels of the two axes; `turns`: names of the tasks that steps take in
        turn, each of which gets a line.
        """
        require("matplotlib", "report").use("Agg")
        plt = require("matplotlib.pyplot", "report")
        rows = self.metrics()
        checked = [row for row in rows if row["validation"] is not None]
        steps = [row["step"] for row in checked]
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
        for turn, name in enumerate(turns):
            own = [row for row in rows if (row["step"] - 1) % len(turns) == turn]
            left.plot([row["step"] for row in own], [row["loss"] for row in own], linewidth=0.8, label=name)
        left.set(xlabel="step", ylabel=loss)
        if len(turns) > 1:
            left.legend(fontsize=7, ncols=len(turns), frameon=False)
        families = list(checked[0]["validation_families"]) if checked else []
        for family in families:
            curve = [row["validation_families"][family] for row in checked]
            right.plot(steps, curve, linewidth=0.8, alpha=0.6, label=family)
        errors = [row.get("validation_error", 0) for row in checked]
        means = [row["validation"] for row in checked]
        right.errorbar(steps, means, errors, color="black", capsize=2 if any(errors) else 0, label="mean")
        right.set(xlabel="step", ylabel=validation)
        if 0 < len(families) <= 12:
            right.legend(fontsize=7, ncols=3, frameon=False)
        for axis in (left, right):
            axis.grid(visible=True, alpha=0.25)
        figure.savefig(self.path / CURVE, dpi=130)
        plt.close(figure)


def _finite(value: Any) -> Any:
    """JSON has no NaN: whatever is not finite becomes null."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Inside the block the first Ctrl-C only sets a flag, which the given function reads; the second interrupts."""
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

"""A training of a model in a folder. Killed, it loses at most a minute of steps."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from l2e.core.traced.problem import host_failures
from l2e.core.traced.trees import save_tree
from l2e.meta import distributed
from l2e.meta.folder import STATE, Finished, TrainingFolder, interruptible
from l2e.meta.train import Trainer, TrainInfo, TrainSpec, TrainState

SAVE_SECONDS = 60.0
"""The state is saved at least this often."""


@host_failures()
def run(
    spec: TrainSpec,
    seed: int,
    path: Path,
    settings: dict[str, Any],
    console: Console | None = None,
    show: bool = True,
    command: str | None = None,
) -> Finished:
    """Train in a folder; called again with the same arguments, it resumes exactly where it was.

    Ctrl-C finishes the step, saves and returns; a second Ctrl-C abandons the step and saves the one before.

    **Arguments:** `spec`, `seed`: the training; `path`: the folder; `settings`: the training in plain JSON, which must
    be equal when it is resumed; `show`: whether to show a progress bar; `command`: the command that does all this, for
    the card.
    """
    identity = {**settings, "seed": seed}
    folder = TrainingFolder(path, identity, identity, command)
    trainer = Trainer(spec)
    state, hours = _resumed(folder, trainer, seed)
    writer = distributed.is_writer()
    if writer:
        folder.cut_metrics(int(state.step))
    if int(state.step) >= spec.steps and folder.best.exists():
        return _finished(spec, state)
    began = time.monotonic()
    untrained = float(np.mean(trainer.validate(trainer.first_weights)))

    def save() -> None:
        if not writer:
            return
        spent = hours + (time.monotonic() - began) / 3600
        folder.save(STATE, state, spent)
        if np.isfinite(float(state.best_loss)):
            save_best(folder, trainer, state, spent, untrained)

    last_save = began
    with interruptible() as interrupted, _bar(spec, state, console or Console(), show and writer) as progress:
        try:
            while int(state.step) < spec.steps and not distributed.any_of(interrupted()):
                state, info = trainer.advance(state)
                if writer:
                    folder.append_metrics(info._asdict())
                progress(info)
                if time.monotonic() - last_save > SAVE_SECONDS or info.best:
                    save()
                    last_save = time.monotonic()
        except KeyboardInterrupt:
            if writer:
                folder.cut_metrics(int(state.step))
        save()
    if writer and int(state.step):
        turns = [f"{tasks.dimension}-D" for tasks in spec.all_tasks]
        folder.draw_curve("training loss", "validation, held-out instances", turns)
    return _finished(spec, state)


def save_best(folder: TrainingFolder, trainer: Trainer, state: TrainState, hours: float, untrained: float) -> None:
    """Write the best weights so far as the algorithm that is deployed, with their card.

    **Arguments:** `untrained`: the validation of the initial weights.
    """
    algorithm, spec = trainer.optimizer(state.best_weights), trainer.spec
    card = folder.card(
        hours,
        **{"class": type(algorithm).__qualname__},
        step=int(state.best_step),
        steps=spec.steps,
        validation=float(state.best_loss),
        validation_untrained=untrained,
        validation_families=list(spec.tasks.names),
        family=spec.family or spec.tasks.description,
        dimension=spec.tasks.dimension,
        generations=spec.generations,
    )
    save_tree(folder.best, algorithm, card)


def _finished(spec: TrainSpec, state: TrainState) -> Finished:
    step, found = int(state.step), np.isfinite(float(state.best_loss))
    best = f"validation {float(state.best_loss):.4f} at step {int(state.best_step)}" if found else None
    return Finished(step >= spec.steps, f"step {step} of {spec.steps}", best, state)


def _resumed(folder: TrainingFolder, trainer: Trainer, seed: int) -> tuple[TrainState, float]:
    first = trainer.begin(jax.random.key(seed))
    state, hours = first, 0.0
    if distributed.is_writer():
        with trainer.precision():
            state, hours = folder.load(STATE, first) or (first, 0.0)
    if distributed.is_shared():
        with trainer.precision():
            state = distributed.from_writer(state)
    return state, hours


@contextmanager
def _bar(spec: TrainSpec, state: TrainState, console: Console, show: bool) -> Iterator[Callable[[TrainInfo], None]]:
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

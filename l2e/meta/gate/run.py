"""A training of the gate in a folder: problems are played round by round, then the gate is trained on all of them."""

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from l2e.meta.folder import Finished, TrainingFolder, interruptible
from l2e.meta.gate.outcomes import Outcomes, empty, joined, outcomes_of
from l2e.meta.gate.settings import GateSpec
from l2e.meta.gate.train import UNTRAINED, GateInfo, tasks_of, train_gate
from l2e.portfolio.weights import save_gate

Game = TypeVar("Game")
Score = TypeVar("Score")
PLAYED = "played"
"""Folder of the outcomes, with a file for each round."""


def run_gate(spec: GateSpec, path: Path, console: Console | None = None, command: str | None = None) -> Finished:
    """Play all rounds, then train; called again with the same arguments, it resumes with the next round.

    Ctrl-C finishes the round and returns; a second one abandons it.

    **Arguments:** `spec`: the training; other problems in the same folder are an error, more rounds or another
    training of the gate are not; `path`: the folder; `console`: where each round is reported; `command`: the command
    that does all this, for the card.
    """
    folder = _folder(spec, path, command)
    rounds, hours = _played(spec, folder, console or Console())
    progress = f"round {len(rounds)} of {spec.problems.rounds}"
    if len(rounds) < spec.problems.rounds:
        return Finished(False, progress, None, None)
    best = _trained(spec, folder, joined(rounds), hours)
    if best is None:
        return Finished(True, progress, None, None)
    gain = f"gain {best.validation:+.4f} +- {best.validation_error:.4f} over an untrained gate at step {best.step}"
    return Finished(True, progress, gain, best)


def _folder(spec: GateSpec, path: Path, command: str | None) -> TrainingFolder:
    settings = spec.settings
    problems = {key: value for key, value in settings["problems"].items() if key != "rounds"}  # may be more later
    identity = {"tasks": settings["tasks"], "problems": problems, "seed": spec.training.seed}
    return TrainingFolder(path, settings, identity, command)


def _played(spec: GateSpec, folder: TrainingFolder, console: Console) -> tuple[list[Outcomes], float]:
    """The outcomes of all rounds, or of those before an interruption, and the hours they took."""
    rounds, hours, total = [], 0.0, spec.problems.rounds
    (folder.path / PLAYED).mkdir(exist_ok=True)
    with interruptible() as interrupted, _players(outcomes_of, spec.training.workers) as player:
        try:
            for number in range(total):
                name = f"{PLAYED}/{number:04d}.safetensors"
                found = folder.load(name, empty(len(spec.tasks.names)))
                if found is None and interrupted():
                    break
                if found is None:
                    began = time.monotonic()
                    found = joined(player(tasks_of(spec, number))), (time.monotonic() - began) / 3600
                    folder.save(name, *found)
                    left = f"about {60 * found[1] * (total - number - 1):.0f} minutes left"
                    score = f"score {found[0].scores[:, UNTRAINED].mean():.3f}"
                    console.print(f"round {number + 1} of {total}: {score}, {left}", highlight=False)
                rounds.append(found[0])
                hours += found[1]
        except KeyboardInterrupt:
            pass  # whole rounds are on disk
    return rounds, hours


def _trained(spec: GateSpec, folder: TrainingFolder, outcomes: Outcomes, hours: float) -> GateInfo | None:
    """Train from the start, which takes seconds; the validation of the best weights, None if none beat no gate."""
    best = None
    folder.cut_metrics(0)
    for weights, info in train_gate(spec, outcomes):
        folder.append_metrics(info._asdict())
        if info.best:
            best = info
            card = folder.card(
                hours,
                step=info.step,
                steps=spec.training.steps,
                validation_gain=info.validation,
                validation_error=info.validation_error,
            )
            save_gate(folder.best, weights, card)
    folder.draw_curve("squared error of advantages in training", "gain in score, held-out problems")
    return best


@contextmanager
def _players(play: Callable[[Game], Score], workers: int) -> Iterator[Callable[[Iterable[Game]], list[Score]]]:
    """Who plays: this process, or several that are started fresh; the order of the games is kept."""
    if workers <= 1:
        yield lambda games: [play(game) for game in games]
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda games: list(pool.map(play, games))

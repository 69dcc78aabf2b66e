"""A training of the gate in a folder: what was played, best weights, metrics and picture; killed, it goes on."""

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from l2e import checkpoint
from l2e._version import __version__
from l2e.checkpoint import CheckpointError
from l2e.experts.weights import save_gate
from l2e.meta.gate_outcomes import Outcomes, empty, joined, outcomes_of
from l2e.meta.gate_train import GateInfo, GateSpec, tasks_of, train_gate
from l2e.meta.run import BEST, METRICS, append_metrics, cut_metrics, interruptible
from l2e.meta.search_run import draw_gains, players

PLAYED = "played"
"""Folder of the outcomes, a file for each round."""


class Trained(NamedTuple):
    """What became of a training: rounds played, and the last validation if there was one."""

    rounds: int
    best: GateInfo | None


def run_gate(
    spec: GateSpec, folder: Path, facts: dict[str, Any], workers: int = 1, console: Console | None = None
) -> Trained:
    """Play all rounds, then train; called again with the same arguments it goes on with the next round.

    Ctrl-C finishes the round and returns; a second one abandons it.

    **Arguments:** `spec`: the training; `facts`: what it is in plain JSON: other problems in the same folder are an
    error, more rounds or other settings of the training are not; `workers`: processes that play; `console`: told of
    each round.
    """
    console = console or Console()
    (folder / PLAYED).mkdir(parents=True, exist_ok=True)
    shapes = {key: value for key, value in facts["problems"].items() if key != "rounds"}  # more may be played later
    identity = {"tasks": facts["tasks"], "problems": shapes, "seed": spec.seed}
    rounds: list[Outcomes] = []
    hours = 0.0
    with interruptible() as interrupted, players(outcomes_of, workers) as player:
        try:
            for number in range(spec.rounds):
                path = folder / PLAYED / f"{number:04d}.safetensors"
                if path.exists():
                    found, spent = _load(path, len(spec.families), identity)
                elif interrupted():
                    break
                else:
                    began = time.monotonic()
                    found = joined(player(tasks_of(spec, number)))
                    spent = (time.monotonic() - began) / 3600
                    checkpoint.save_tree(path, found, {"training": identity, "hours": spent})
                    console.print(_line(number, spec, found, spent), highlight=False)
                rounds.append(found)
                hours += spent
        except KeyboardInterrupt:
            pass  # whole rounds are on disk
    if len(rounds) < spec.rounds:
        return Trained(len(rounds), None)
    best = None
    cut_metrics(folder / METRICS, 0)
    for weights, info in train_gate(spec, joined(rounds)):
        append_metrics(folder / METRICS, info._asdict())
        if info.best:
            best = info
            save_gate(folder / BEST, weights, _card(spec, info, facts, hours))
    draw_gains(folder)
    return Trained(len(rounds), best)


def _line(number: int, spec: GateSpec, found: Outcomes, hours: float) -> str:
    left = (spec.rounds - number - 1) * hours * 60
    return f"round {number + 1} of {spec.rounds}: score {found.stayed.mean():.3f}, about {left:.0f} minutes left"


def _card(spec: GateSpec, info: GateInfo, facts: dict[str, Any], hours: float) -> dict[str, Any]:
    return {
        **facts,
        "command": " ".join(["l2e", *sys.argv[1:]]),
        "step": info.step,
        "steps": spec.steps,
        "validation_gain": info.validation,
        "validation_error": info.validation_error,
        "hours": hours,
        "versions": {"l2e": __version__, "numpy": np.__version__},
    }


def _load(path: Path, problems: int, identity: dict[str, Any]) -> tuple[Outcomes, float]:
    stored = checkpoint.load_facts(path)
    if stored.get("training") != identity:
        raise CheckpointError(f"{path} belongs to a training on other problems; name another folder or remove it")
    return checkpoint.load_tree(path, empty(problems)), float(stored["hours"])

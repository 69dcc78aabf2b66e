"""The command `l2e train`."""

import os
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional


def train(
    path: Positional[Path],
    /,
    out: Path,
    quote: bool = False,
    progress: bool = True,
    processes: int = 1,
    process: int = 0,
    coordinator: str = "localhost:12355",
) -> int:
    """Train an optimizer as a TOML file says; the same command goes on after an interruption.

    Examples:
      l2e train experiments/train/l2e-base-10d.toml --out runs/base-10d
      l2e train experiments/train/l2e-base-10d.toml --out runs/base-10d --quote

    Args:
        path: The training: tables optimizer, tasks, objective, estimator, training.
        out: Folder for the state, the best weights, the metrics and the training curve.
        quote: Only estimate time and memory; nothing is trained.
        progress: Show a progress bar.
        processes: How many processes share the tasks of each step; start the command once for each of them.
        process: Which of them this is, from 0.
        coordinator: host:port of process 0, where they meet.
    """
    from l2e import _runtime
    from l2e.meta import distributed, gate_config, search_config
    from l2e.meta.config import load_config
    from l2e.meta.quote import quote as estimate
    from l2e.meta.run import BEST, run

    console = Console()
    if search_config.is_search_training(path):
        return _train_search(path, out, console)
    if gate_config.is_gate_training(path):
        return _train_gate(path, out, console)
    if processes > 1:
        distributed.connect(coordinator, processes, process)
    _runtime._keep_compilations()
    config = load_config(path)
    spec = config.spec()
    if quote:
        console.print(estimate(spec).text, highlight=False)
        return 0
    finished = run(spec, config.training.seed, out, config.facts, console, progress)
    if not distributed.is_writer():
        return 0 if finished.complete else 130
    state = finished.state
    best = f"validation {float(state.best_loss):.4f} at step {int(state.best_step)}"
    console.print(f"{best}; weights in {out / BEST}", highlight=False)
    if not finished.complete:
        console.print(f"stopped after step {int(state.step)} of {spec.steps}: the same command goes on from there:")
        console.print(f"  l2e train {os.fspath(path)} --out {os.fspath(out)}", highlight=False, soft_wrap=True)
        return 130
    return 0


def _train_search(path: Path, out: Path, console: Console) -> int:
    """The default method's residual, whose searches run on the host."""
    from l2e import _runtime
    from l2e.meta.run import BEST
    from l2e.meta.search_config import load_search_config
    from l2e.meta.search_run import run_search

    _runtime._keep_compilations()
    config = load_search_config(path)
    state = run_search(config.spec(), out, config.facts, config.training.workers, console)
    best = f"gain {float(state.best_gain):+.4f} over untrained weights at step {int(state.best_step)}"
    console.print(f"{best}; weights in {out / BEST}", highlight=False)
    if int(state.step) < config.training.steps:
        console.print(f"stopped after step {int(state.step)} of {config.training.steps}: the same command goes on")
        return 130
    return 0


def _train_gate(path: Path, out: Path, console: Console) -> int:
    """The default method's gate: problems are played on the host, then it is trained on what they showed."""
    from l2e import _runtime
    from l2e.meta.gate_config import load_gate_config
    from l2e.meta.gate_run import run_gate
    from l2e.meta.run import BEST

    _runtime._keep_compilations()
    config = load_gate_config(path)
    trained = run_gate(config.spec(), out, config.facts, config.training.workers, console)
    if trained.rounds < config.problems.rounds:
        console.print(f"stopped after round {trained.rounds} of {config.problems.rounds}: the same command goes on")
        return 130
    if trained.best is None:
        console.print("no weights were better than none on the problems they are chosen on", highlight=False)
        return 1
    gain = f"gain {trained.best.validation:+.4f} +- {trained.best.validation_error:.4f} over an untrained gate"
    console.print(f"{gain} at step {trained.best.step}; weights in {out / BEST}", highlight=False)
    return 0

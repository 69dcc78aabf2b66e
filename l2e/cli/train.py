"""The command `l2e train`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from tyro.conf import Positional

if TYPE_CHECKING:
    from l2e.meta.config import TrainConfig
    from l2e.meta.folder import Finished


def train(
    path: Positional[Path],
    /,
    out: Path,
    quote: bool = False,
    progress: bool = True,
    processes: int = 1,
    process: int = 0,
    coordinator: str = "localhost:12355",
    trust: bool = False,
) -> int:
    """Train an optimizer as described in a TOML file; re-run the command to resume after an interruption.

    A task family written module:factory is Python code, which is imported and called: run only files you trust.

    Examples:
      l2e train experiments/train/l2e-base-10d.toml --out runs/base-10d
      l2e train experiments/train/l2e-base-10d.toml --out runs/base-10d --quote

    Args:
        path: The training, with tables optimizer, tasks, objective, estimator, training.
        out: Folder for the state, the best weights, the metrics and the training curve.
        quote: Only estimate time and memory; nothing is trained.
        progress: Show a progress bar.
        processes: Number of processes that share the tasks of each step; start the command once for each of them.
        process: Which of them this is, from 0.
        coordinator: host:port of process 0, where they meet.
        trust: Run the module:factory code of a file that is not under the current folder.
    """
    from l2e.api.user_code import refuse_foreign_code
    from l2e.meta import distributed
    from l2e.meta.config import TrainConfig, load_config
    from l2e.meta.gate.run import run_gate
    from l2e.meta.run import run

    console, config = Console(), load_config(path)
    if isinstance(config, TrainConfig) and config.tasks.is_own and not trust:
        refuse_foreign_code(path, [str(config.tasks.family)])
    command = shlex.join(["l2e", "train", path.as_posix(), "--out", out.as_posix()])
    if quote:
        return _quote(config, console) if isinstance(config, TrainConfig) else _no_quote(path)
    if not isinstance(config, TrainConfig):
        return _report(run_gate(config, out, console, command), out, command, console)
    if processes > 1:
        distributed.connect(coordinator, processes, process)
    finished = run(config.spec(), config.training.seed, out, config.settings, console, progress, command)
    if not distributed.is_writer():
        return 0 if finished.complete else 130
    return _report(finished, out, command, console)


def _quote(config: "TrainConfig", console: Console) -> int:
    from l2e.meta.quote import quote

    console.print(quote(config.spec()).text, highlight=False)
    return 0


def _no_quote(path: Path) -> int:
    raise ValueError(f"{path} trains the gate, which has no quote: its first round shows how long the others take")


def _report(finished: "Finished", out: Path, command: str, console: Console) -> int:
    """Say how a training ended; its exit code."""
    from l2e.meta.folder import BEST

    if finished.best is not None:
        console.print(f"{finished.best}; weights in {out / BEST}", highlight=False)
    if not finished.complete:
        console.print(f"stopped after {finished.progress}; to resume:", highlight=False)
        console.print(f"  {command}", highlight=False, soft_wrap=True)
        return 130
    if finished.best is None:
        console.print("no weights were better on validation than untrained ones", highlight=False)
        return 1
    return 0

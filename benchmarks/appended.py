"""Runs in a file of JSON lines: what is in it is not done again, and every new run is appended as soon as it ends."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def all_runs(
    path: Path, keys: tuple[str, ...], wanted: Iterable[tuple[tuple[Any, ...], Callable[[], Run]]]
) -> list[Run]:
    """The runs in the file, and after them those that are wanted and not there yet.

    **Arguments:** `keys`: the fields that tell runs apart; `wanted`: their values, and what does the run.
    """
    path.touch()
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    done = {tuple(run[key] for key in keys) for run in runs}
    for values, do in wanted:
        if values not in done:
            runs.append(do())
            with open(path, "a") as file:
                file.write(json.dumps(runs[-1]) + "\n")
    return runs

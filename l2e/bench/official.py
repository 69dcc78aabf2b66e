"""Runs whose evaluations are also logged by COCO's observer and by IOHprofiler's Analyzer.

The official functions themselves are evaluated then, one point at a time. All runs of a method on a function go into
one archive; it is written aside and put in its place when it is whole, so a killed run leaves no half of one there.
`out/coco/METHOD` is what `python -m cocopp` reads, `out/ioh/METHOD` what IOHanalyzer reads.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.run_host import run_on_host
from l2e.bench.suite import parts
from l2e.core.errors import require, unknown

LOGGERS = ("coco", "ioh")
Points = Callable[[np.ndarray], float]


def check_loggers(names: Sequence[str], suite: str) -> None:
    """An error if one is unknown, not installed, or has no such functions."""
    for name in names:
        if name not in LOGGERS:
            raise unknown("logger", name, LOGGERS)
        require({"coco": "cocoex", "ioh": "ioh"}[name], "official")
    if names and suite != "bbob":
        raise ValueError(f'--log is for the official functions, suite = "bbob"; this experiment has {suite!r}')


def run_logged(specs: Sequence[RunSpec], folder: Path) -> list[RunRecord]:
    """Run one method on all instances of one function, and put the archives into `folder`."""
    first = specs[0]
    place = f"{_safe(first.method)}-f{parts(first.problem)['function']}"
    aside = {name: folder / name / f".{place}-{os.getpid()}" for name in first.log}
    try:
        with contextlib.ExitStack() as stack:
            opened = [_OPEN[name](specs, aside[name], stack) for name in first.log]
            records = [_logged(spec, [problem_of(spec) for problem_of in opened]) for spec in specs]
        for name, made in aside.items():
            _merge(made, folder / name / _safe(first.method))
    finally:
        for made in aside.values():
            shutil.rmtree(made, ignore_errors=True)
    return records


def _logged(spec: RunSpec, problems: list[contextlib.AbstractContextManager[Points]]) -> RunRecord:
    with contextlib.ExitStack() as stack:
        functions = [stack.enter_context(problem) for problem in problems]

        def evaluate(x: np.ndarray) -> float:
            first, *_ = [function(x) for function in functions]  # every logger sees every point
            return first

        return run_on_host(spec, evaluate)


def _open_coco(specs: Sequence[RunSpec], folder: Path, stack: contextlib.ExitStack) -> Any:
    cocoex = require("cocoex", "official")
    cocoex.log_level("warning")
    folder.mkdir(parents=True)
    # COCO writes below exdata/ in the current folder; an absolute path would be taken as a name in it
    home = Path.cwd()
    os.chdir(folder)
    stack.callback(os.chdir, home)
    observer = cocoex.Observer("bbob", f"result_folder: archive algorithm_name: {_safe(specs[0].method)}")

    @contextlib.contextmanager
    def problem_of(spec: RunSpec) -> Iterator[Points]:
        place = parts(spec.problem)
        number, dimension = place.get("instance", 1), place["dimension"]
        choice = f"function_indices: {place['function']} dimensions: {dimension}"
        suite = cocoex.Suite("bbob", f"instances: {number}", choice)
        problem = next(iter(suite), None)
        if problem is None:
            raise ValueError(f"COCO has no {spec.problem}; its dimensions are 2, 3, 5, 10, 20 and 40")
        problem.observe_with(observer)
        try:
            yield problem
        finally:
            problem.free()

    return problem_of


def _open_ioh(specs: Sequence[RunSpec], folder: Path, stack: contextlib.ExitStack) -> Any:
    ioh = require("ioh", "official")
    folder.mkdir(parents=True)
    method = _safe(specs[0].method)
    logger = ioh.logger.Analyzer(root=os.fspath(folder.resolve()), folder_name="archive", algorithm_name=method)
    stack.callback(logger.close)

    @contextlib.contextmanager
    def problem_of(spec: RunSpec) -> Iterator[Points]:
        place = parts(spec.problem)
        numbers = place["function"], place.get("instance", 1), place["dimension"]
        problem = ioh.get_problem(*numbers, problem_class=ioh.ProblemClass.BBOB)
        problem.attach_logger(logger)
        try:
            yield problem
        finally:
            problem.reset()
            problem.detach_logger()

    return problem_of


_OPEN = {"coco": _open_coco, "ioh": _open_ioh}


def _merge(made: Path, target: Path) -> None:
    """Move the files of one function into the archive of the method; those of an earlier try are replaced."""
    root = next(path for path in (made / "exdata" / "archive", made / "archive") if path.is_dir())
    for path in sorted(root.rglob("*")):
        if path.is_file():
            goal = target / path.relative_to(root)
            goal.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, goal)


def _safe(name: str) -> str:
    """A method's name as part of a path, which cannot lead to another folder."""
    safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    return f"_{safe[1:]}" if safe.startswith(".") else safe

"""Where JAX is not installed the default method works, and everything else says how to get it.

    make core-test

A script of its own, run by an environment that holds the base dependencies only.
"""

import contextlib
import functools
import importlib.util
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import l2e
from l2e.core.errors import MissingExtraError

BOUNDS = [(-5.0, 5.0)] * 3
ABSENT = ("jax", "equinox", "optax", "jaxtyping", "cma", "evosax", "matplotlib")
PIP_LINE = "pip install 'l2e[jax]'"


def bowl(x: np.ndarray) -> float:
    """Minimum 0 at 1."""
    return float(((x - 1) ** 2).sum())


def check_environment() -> None:
    """None of the optional packages is there, or this would prove nothing."""
    found = [name for name in ABSENT if importlib.util.find_spec(name)]
    assert not found, f"installed here: {found}"


def check_minimize() -> None:
    """The default method by minimize, with a journal, and by ask and tell."""
    result = l2e.minimize(bowl, bounds=BOUNDS, budget=200, rng=0)
    assert result.fun < 1e-9, result
    assert result.trace, "the default method says who had which evaluations"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.l2e"
        l2e.minimize(bowl, bounds=BOUNDS, budget=200, rng=0, checkpoint=path)
        again = l2e.minimize(lambda x: 1 / 0, bounds=BOUNDS, budget=200, rng=0, checkpoint=path)
        assert again.fun == result.fun
    optimizer = l2e.Optimizer(bounds=BOUNDS, budget=200, rng=0)
    while not optimizer.stop():
        points = optimizer.ask()
        optimizer.tell(points, [bowl(x) for x in points])
    assert optimizer.result().fun == result.fun
    for method in ("scipy-slsqp", "scipy-lbfgsb", "scipy-cobyqa", "scipy-de", "scipy-dual-annealing"):
        assert l2e.minimize(bowl, bounds=BOUNDS, budget=200, rng=0, method=method).nfev <= 200


def missing(action: Callable[[], object]) -> str:
    """The message of the error for a missing extra, or nothing if there was none."""
    try:
        action()
    except MissingExtraError as error:
        return str(error)
    return ""


def check_messages() -> None:
    """What needs JAX says so with the pip line."""
    for method in ("cmaes", "de", "lshade", "pso", "random-search", "l2e-base-10d", "gleet", "evosax-les"):
        message = missing(functools.partial(l2e.minimize, bowl, bounds=BOUNDS, budget=20, method=method))
        assert "pip install 'l2e[" in message, f"{method}: {message}"
    for name in ("load", "unroll", "JAXFunction"):
        assert PIP_LINE in missing(functools.partial(getattr, l2e, name)), name
    assert PIP_LINE in missing(lambda: l2e.problems.bbob)


def check_families() -> None:
    """Families of problems are plain numpy, but the drones, which say what they need."""
    for name, make in l2e.problems.families.FAMILIES.items():
        if name == "uav":
            assert PIP_LINE in missing(functools.partial(make, 0))
            continue
        problem = make(0)
        assert l2e.minimize(problem, budget=20, rng=0).nfev == 20


def check_command_line() -> None:
    """The command line starts, lists its methods and minimises; benchmark functions say what they need."""
    from l2e.cli import main

    for words in (["methods"], ["--help"], ["minimize", "--help"]):
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
            main(words)
        assert "auto" in printed.getvalue() or "minimize" in printed.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mine.py").write_text("def bowl(x):\n    return ((x - 1) ** 2).sum()\n")
        command = [sys.executable, "-m", "l2e", "minimize", "mine:bowl", "--bounds=-5,5", "--dimension", "3"]
        done = subprocess.run([*command, "--budget", "100"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        command = [sys.executable, "-m", "l2e", "minimize", "--function", "bbob:f1:d3"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 2, done.stdout
        assert PIP_LINE in done.stderr, done.stderr


if __name__ == "__main__":
    checks = [check_environment, check_minimize, check_messages, check_families, check_command_line]
    for check in checks:
        check()
    assert not {"jax", "equinox"} & set(sys.modules)
    print(f"{len(checks)} passed, 0 failed")

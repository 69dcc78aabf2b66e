"""A task family of your own in a training file: valleys in JAX, and the same as a plain Python function.

`09_own_tasks.toml` names `measured` as its family. Run from this folder:

    l2e train 09_own_tasks.toml --out runs/valleys

Needs JAX: pip install '.[jax]'.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import l2e
from l2e import meta
from l2e.core.checkpoint import load_metadata


class Valley(l2e.AbstractTraceableProblem):
    """A long valley whose bed is at `centre`; its arrays are what differs from task to task."""

    space: l2e.Box
    centre: jax.Array

    def evaluate(self, points, key=None):
        away = points - self.centre
        return jnp.sum(away**2, axis=1) + 100 * jnp.sum((away[:, 1:] - away[:, :-1]) ** 2, axis=1)


def valleys(dimension: int) -> meta.FunctionTasks:
    """Valleys in JAX: every estimator can train on them, back-propagation too."""
    space = l2e.box([(-5, 5)] * dimension)

    def draw(key):
        return Valley(space, jax.random.uniform(key, (dimension,), minval=-3, maxval=3))

    return meta.FunctionTasks([draw], f_opt=[0.0], names=["valleys"])


def value(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Any Python code: a simulation, a program that is started, a table that is looked up."""
    away = points - centre
    return (away**2).sum(axis=1) + 100 * (np.diff(away, axis=1) ** 2).sum(axis=1)


def measured(dimension: int) -> meta.FunctionTasks:
    """The same valleys as a Python function, which has no gradients: for the evolution strategies."""
    space = l2e.box([(-5, 5)] * dimension)

    def draw(key):
        return meta.CallbackFunction(value, space, jax.random.uniform(key, (dimension,), minval=-3, maxval=3))

    return meta.FunctionTasks([draw], f_opt=[0.0], names=["measured valleys"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "l2e", "train", "09_own_tasks.toml", "--out", out, "--no-progress"]
        subprocess.run(command, cwd=Path(__file__).parent, check=True)
        print("trained on:", load_metadata(Path(out) / "best.safetensors")["family"])

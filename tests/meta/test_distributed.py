"""Two processes that share the tasks of each step get the weights of one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from helpers.shared_training import specification
from rich.console import Console

from l2e.core.traced.trees import load_tree
from l2e.meta import PersistentES
from l2e.meta.distributed import connect, share
from l2e.meta.folder import STATE, TrainingFolder
from l2e.meta.loss import Work
from l2e.meta.run import run
from l2e.meta.train import Trainer

TESTS = Path(__file__).parents[1]


def free_port():
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def test_two_processes_get_the_weights_of_one(tmp_path):
    command = [sys.executable, str(TESTS / "helpers" / "shared_training.py"), f"localhost:{free_port()}", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    started = [
        subprocess.Popen(
            [*command, str(process), str(tmp_path / "two")], env=environment, stdout=subprocess.PIPE, text=True
        )
        for process in range(2)
    ]
    printed = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert printed[0].splitlines()[-1] == printed[1].splitlines()[-1]  # exactly the same on both
    alone = run(specification(), 3, tmp_path / "one", {}, Console(quiet=True), show=False)
    like = Trainer(specification()).begin(jax.random.key(0))
    shared = load_tree(tmp_path / "two" / STATE, like)
    for ours, theirs in zip(jax.tree.leaves(alone.state.weights), jax.tree.leaves(shared.weights), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    rows = [TrainingFolder(tmp_path / folder, {}, {}).metrics() for folder in ("one", "two")]
    assert [row["step"] for row in rows[1]] == [1, 2, 3, 4]  # written by one of them only
    assert rows[0][0]["loss"] == pytest.approx(rows[1][0]["loss"], rel=1e-5)
    assert rows[0][-1]["validation"] == pytest.approx(rows[1][-1]["validation"], rel=1e-3)


def test_what_cannot_be_shared_is_an_error(monkeypatch):
    work = Work(np.arange(3), jax.random.split(jax.random.key(0), 3)[:, None], jax.random.key(0), np.zeros(()))
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(ValueError, match="3 groups of tasks cannot be shared evenly by 2"):
        share(work)
    import dataclasses

    carrying = dataclasses.replace(specification(), estimator=PersistentES(5))
    with pytest.raises(ValueError, match="PersistentES carries runs"):
        Trainer(carrying).begin(jax.random.key(0))
    with pytest.raises(ValueError, match="process must be from 0 to 1"):
        connect("localhost:1", 2, 2)

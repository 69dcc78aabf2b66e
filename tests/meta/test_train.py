"""The training loop: it learns, it is deterministic, it can be interrupted."""

import dataclasses
import json
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.toy import shifted_bowls, toy
from rich.console import Console

from l2e.algorithms import RandomSearch
from l2e.core.box import box
from l2e.core.checkpoint import CheckpointError, load_metadata
from l2e.core.traced.problem import JAXFunction
from l2e.core.traced.trees import load_tree, save_tree
from l2e.meta import (
    AntitheticES,
    FullBPTT,
    FunctionTasks,
    LogGap,
    PersistentES,
    TrainSpec,
    train,
)
from l2e.meta.folder import BEST, CURVE, METRICS, STATE, TrainingFolder
from l2e.meta.quote import quote
from l2e.meta.run import run
from l2e.meta.train import Trainer, train_step

KEY = jax.random.key(5)
BOWLS = shifted_bowls()


def spec(**changes):
    given = {
        "optimizer": toy(),
        "tasks": BOWLS,
        "objective": LogGap(),
        "estimator": FullBPTT(),
        "steps": 6,
        "batch": 2,
        "generations": 8,
        "learning_rate": 0.03,
        "validate_every": 2,
        "validation_batch": 2,
    }
    return TrainSpec(**{**given, **changes})


def same(first, second):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_array_equal(a, b)


def metrics(path):
    return TrainingFolder(path, {}, {}).metrics()


def last(states):
    return list(states)[-1][0]


def test_training_improves_a_held_out_task():
    training = spec(steps=60)
    trainer = Trainer(training)
    before = trainer.validate(trainer.first_weights).mean()
    state = last(train(training, KEY))
    assert float(state.best_loss) < before - 0.3
    assert float(state.best_loss) == pytest.approx(trainer.validate(state.best_weights).mean(), rel=1e-5)
    assert state.weights.optimizer.alpha is None  # numpy arrays are hyper-parameters


@pytest.mark.parametrize(
    "estimator", [FullBPTT(), AntitheticES(2, 0.05), PersistentES(4, 0.05)], ids=lambda e: type(e).__name__
)
def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, estimator):
    training = spec(estimator=estimator)
    whole = last(train(training, KEY))
    half = next(state for state, info in train(training, KEY) if info.step == 3)
    save_tree(tmp_path / "half.safetensors", half)
    loaded = load_tree(tmp_path / "half.safetensors", Trainer(training).begin(jax.random.key(0)))
    same(loaded, half)
    same(last(train(training, jax.random.key(9), loaded)), whole)


def test_the_key_decides_everything():
    first, again, other = (last(train(spec(steps=2), key)) for key in (KEY, KEY, jax.random.key(6)))
    same(first, again)
    assert not np.array_equal(first.weights.optimizer.weights, other.weights.optimizer.weights)


def test_the_step_is_compiled_once():
    training = spec(steps=4, batch=3)
    before = train_step.jitted._cached._cache_size()
    for _ in train(training, KEY):
        pass
    assert train_step.jitted._cached._cache_size() == before + 1


def test_float64_when_asked():
    state = last(train(spec(steps=1, dtype="float64"), KEY))
    assert state.weights.optimizer.weights.dtype == np.float64
    assert not jax.config.jax_enable_x64


def test_a_step_without_a_finite_task_moves_nothing():
    broken = FunctionTasks([JAXFunction(lambda x: jnp.sum(jnp.sqrt(x - 100.0)), box([(-2, 2)] * 3))], [0.0])
    states = list(train(spec(tasks=broken, steps=2, validate_every=9), KEY))
    for state, info in states:
        assert info.skipped == 2
        assert info.counted == 0
        np.testing.assert_array_equal(state.weights.optimizer.weights, toy().weights)


def test_nothing_to_train_is_an_error():
    with pytest.raises(ValueError, match="no weights"):
        next(train(spec(optimizer=RandomSearch()), KEY))
    with pytest.raises(ValueError, match="parallel must divide"):
        spec(batch=3, parallel=2)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        spec(steps=0)


def test_a_folder_holds_all_of_a_run(tmp_path):
    console = Console(quiet=True)
    finished = run(spec(), 5, tmp_path, {"what": "toy"}, console, show=False, command="l2e train toy.toml")
    assert finished.complete
    rows = metrics(tmp_path)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["validation"] is not None for row in rows] == [False, True] * 3
    card = load_metadata(tmp_path / BEST)
    assert (card["class"], card["seed"], card["command"]) == ("Toy", 5, "l2e train toy.toml")
    assert card["validation"] == pytest.approx(min(row["validation"] for row in rows if row["validation"]))
    best = load_tree(tmp_path / BEST, toy())
    np.testing.assert_array_equal(best.weights, finished.state.best_weights.optimizer.weights)
    assert (tmp_path / CURVE).stat().st_size > 1000
    same(finished.state, last(train(spec(), jax.random.key(5))))
    with pytest.raises(CheckpointError, match=r"another training \(what differ\)"):
        run(spec(), 5, tmp_path, {"what": "else"}, console, show=False)


def test_ctrl_c_saves_and_the_same_call_goes_on(tmp_path, monkeypatch):
    console = Console(quiet=True)
    advance, calls = Trainer.advance, []

    def interrupted(self, state):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return advance(self, state)

    monkeypatch.setattr(Trainer, "advance", interrupted)
    first = run(spec(), 5, tmp_path, {}, console, show=False)
    assert not first.complete
    assert int(first.state.step) == 3  # the step under way is finished
    # a crash after the last save: rows that the state does not know, and half a line
    with (tmp_path / METRICS).open("a") as file:
        file.write(json.dumps({"step": 4, "loss": 0.0}) + "\n" + '{"step": 5, "lo')
    second = run(spec(), 5, tmp_path, {}, console, show=False)
    assert second.complete
    assert [row["step"] for row in metrics(tmp_path)] == [1, 2, 3, 4, 5, 6]
    same(second.state, last(train(spec(), jax.random.key(5))))
    assert (tmp_path / STATE).exists()


def test_a_quote_runs_nothing_and_adds_up():
    given = quote(spec(steps=1000))
    assert given.weights == 3
    assert given.temporary_bytes > 0
    steps = 1000 * given.step_seconds + 500 * given.validation_seconds + given.compile_seconds
    assert given.total_hours == pytest.approx(steps / 3600)
    assert "CPU-seconds" in given.text


def test_specifications_are_values():
    assert dataclasses.replace(spec(), steps=3).steps == 3

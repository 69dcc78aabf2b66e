"""Files of weights and states: exact, whole or not at all, and never silently wrong."""

import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from l2e import _runtime
from l2e.checkpoint import CheckpointError, load_facts, load_tree, save_tree


class Weights(eqx.Module):
    matrix: jax.Array
    bias: np.ndarray
    key: jax.Array
    size: int = eqx.field(static=True)


def make(seed: int = 0) -> Weights:
    with _runtime.float64():
        matrix = jax.random.normal(jax.random.key(seed), (3, 2))
        return Weights(matrix, np.arange(4, dtype=np.int64) + seed, jax.random.key(seed), 3)


def test_round_trip_is_exact(tmp_path) -> None:
    path = tmp_path / "weights.safetensors"
    save_tree(path, make(5), {"seed": 5, "hours": 0.5})
    loaded = load_tree(path, make(0))
    np.testing.assert_array_equal(loaded.matrix, make(5).matrix)
    assert loaded.matrix.dtype == jnp.float64
    np.testing.assert_array_equal(loaded.bias, make(5).bias)
    assert bool(jax.random.key_data(loaded.key)[1] == 5)
    assert load_facts(path) == {"seed": 5, "hours": 0.5}


def test_foreign_and_damaged_files(tmp_path) -> None:
    good = tmp_path / "good"
    save_tree(good, make())
    damaged = tmp_path / "damaged"
    damaged.write_bytes(good.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match="damaged"):
        load_tree(damaged, make())
    foreign = tmp_path / "foreign"
    save_file({"a": np.zeros(3)}, foreign)
    with pytest.raises(CheckpointError, match="not one of l2e's"):
        load_tree(foreign, make())
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        load_tree(tmp_path / "missing", make())


def test_a_file_of_another_shape_class_or_structure_is_refused(tmp_path) -> None:
    path = tmp_path / "weights"
    save_tree(path, make())
    with pytest.raises(CheckpointError, match="matrix"):
        load_tree(path, eqx.tree_at(lambda w: w.matrix, make(), jnp.zeros((2, 2))))
    with pytest.raises(CheckpointError, match="holds a Weights, not a dict"):
        load_tree(path, {"a": np.zeros(3)})
    save_tree(path, {"a": np.zeros(3)})
    with pytest.raises(CheckpointError, match=r"missing .*'b'"):
        load_tree(path, {"b": np.zeros(3)})


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch) -> None:
    path = tmp_path / "weights"
    save_tree(path, make(1))
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_tree(path, make(2))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["weights"]

"""Files of weights and states: exact, whole or not at all, and never silently wrong."""

import json
import os
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from l2e.core.checkpoint import CheckpointError, load_arrays, load_metadata, write_whole
from l2e.core.traced import runtime
from l2e.core.traced.trees import load_tree, save_tree


class Weights(eqx.Module):
    matrix: jax.Array
    bias: np.ndarray
    key: jax.Array
    size: int = eqx.field(static=True)


def make(seed: int = 0) -> Weights:
    with runtime.float64():
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
    assert load_metadata(path) == {"seed": 5, "hours": 0.5}


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


def test_a_flipped_bit_in_the_arrays_is_noticed(tmp_path) -> None:
    path = tmp_path / "weights"
    save_tree(path, make(1))
    content = path.read_bytes()
    for place in range(len(content) - 8 * (6 + 4), len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(bytes(damaged))
        with pytest.raises(CheckpointError, match="damaged"):
            load_tree(path, make())


@pytest.mark.parametrize(
    "header",
    [
        "{",
        "[]",
        "3",
        '"text"',
        "[" * 10_000,
        "{}",
        '{"format": "l2e-1"}',
        '{"format": "l2e-1", "class": 3, "facts": {}}',
        '{"format": "l2e-1", "class": "Weights", "facts": 3}',
        '{"format": "l2e-99", "class": "Weights", "facts": {}}',
    ],
)
def test_odd_headers_are_checkpoint_errors(tmp_path, header) -> None:
    path = tmp_path / "odd"
    save_file({"a": np.zeros(3)}, path, metadata={"l2e": header})
    with pytest.raises(CheckpointError):
        load_metadata(path)


def test_arrays_of_another_shape_are_refused_before_they_are_read(tmp_path) -> None:
    """A file that claims 8 GB, of which there are none, is refused by its header."""
    path = tmp_path / "huge"
    entry = {"dtype": "F64", "shape": [10**9], "data_offsets": [0, 8 * 10**9]}
    header = json.dumps({"format": "l2e-1", "class": "dict", "facts": {}})
    text = json.dumps({"__metadata__": {"l2e": header}, "a": entry}).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 8 * 10**9)  # sparse: nothing is on the disk
    with pytest.raises(CheckpointError, match=r"float64\(1000000000,\), expected float64\(3,\)"):
        load_arrays(path, {"a": np.zeros(3)}, "dict")


def test_files_left_by_a_killed_process_are_swept_away(tmp_path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".weights.{dead.pid}-abc.tmp").write_text("half")
    (tmp_path / f".weights.{os.getpid()}-abc.tmp").write_text("being written")
    write_whole(tmp_path / "weights", b"whole")
    assert sorted(os.listdir(tmp_path)) == [f".weights.{os.getpid()}-abc.tmp", "weights"]

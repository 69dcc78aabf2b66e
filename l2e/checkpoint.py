"""Weights and run states on disk: safetensors with a JSON header. Nothing is ever pickled.

A file holds the array leaves of a pytree, named by their place in it, and a header that says what they are: the
format's version, the class, and whatever facts the writer adds (method, seed, provenance). Reading needs a tree of the
same structure, and checks every name, shape and dtype against it, so a foreign or damaged file is an error that says
what is wrong and never a half-filled state.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from l2e import _runtime

FORMAT = "l2e-1"
Tree = TypeVar("Tree")


class CheckpointError(ValueError):
    """A file that is not a checkpoint, is damaged, or belongs to something else."""


def save_tree(path: str | os.PathLike[str], tree: Any, facts: dict[str, Any] | None = None) -> None:
    """Write the arrays of a pytree and facts about them; the file appears whole or not at all.

    **Raises:** `OSError` (a full disk, a missing or read-only folder); an older file of that name is then untouched.
    """
    arrays = {name: np.asarray(_plain(leaf)) for name, leaf in _named_leaves(tree)}
    header = {"format": FORMAT, "class": type(tree).__qualname__, "facts": facts or {}}
    write_whole(Path(path), save(arrays, metadata={"l2e": json.dumps(header)}))


def load_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts in a file's header, without reading its arrays."""
    return _header(Path(path))["facts"]


def load_tree(path: str | os.PathLike[str], like: Tree) -> Tree:
    """Read a file into a pytree of the structure of `like`; leaves that are not arrays are taken from `like`."""
    path = Path(path)
    header = _header(path)
    if header["class"] != type(like).__qualname__:
        raise CheckpointError(f"{path} holds a {header['class']}, not a {type(like).__qualname__}")
    with _open(path) as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    expected = dict(_named_leaves(like))
    if stored.keys() != expected.keys():
        missing, extra = sorted(expected.keys() - stored.keys()), sorted(stored.keys() - expected.keys())
        raise CheckpointError(f"{path} does not fit: missing {missing[:3]}, unexpected {extra[:3]}")
    for name, leaf in expected.items():
        have, want = stored[name], _plain(leaf)
        if have.shape != want.shape or have.dtype != want.dtype:
            raise CheckpointError(
                f"{path} does not fit: {name} is {have.dtype}{have.shape}, expected {want.dtype}{want.shape}"
            )
    return jax.tree_util.tree_map_with_path(lambda where, leaf: _restored(leaf, stored, where), like)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def _plain(leaf: Any) -> Any:
    """Keys as their raw data, other arrays as they are."""
    return jax.random.key_data(leaf) if _runtime.is_key(leaf) else leaf


def _named_leaves(tree: Any) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [(jax.tree_util.keystr(where), leaf) for where, leaf in leaves if _is_array(leaf)]


def _restored(leaf: Any, stored: dict[str, np.ndarray], where: Any) -> Any:
    if not _is_array(leaf):
        return leaf
    array = stored[jax.tree_util.keystr(where)]
    if isinstance(leaf, np.ndarray):
        return array
    with jax.enable_x64(array.dtype.itemsize == 8):
        restored = jnp.asarray(array)
        return jax.random.wrap_key_data(restored, impl=_runtime.IMPLEMENTATION) if _runtime.is_key(leaf) else restored


def _open(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}")
    try:
        return safe_open(path, framework="numpy")
    except SafetensorError as error:
        raise CheckpointError(f"{path} is not a checkpoint or is damaged: {error}") from error


def _header(path: Path) -> dict[str, Any]:
    with _open(path) as file:
        text = (file.metadata() or {}).get("l2e")
    if text is None:
        raise CheckpointError(f"{path} is a safetensors file, but not one of l2e's")
    header = json.loads(text)
    if header.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {header.get('format')!r}; this version reads {FORMAT!r}")
    return header

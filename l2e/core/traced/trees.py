"""Pytrees on disk: their arrays, named by their place in the tree, in a checkpoint file."""

import os
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.checkpoint import load_arrays, save_arrays
from l2e.core.traced.keys import IMPLEMENTATION, is_key

Tree = TypeVar("Tree")


def save_tree(path: str | os.PathLike[str], tree: Any, metadata: dict[str, Any] | None = None) -> None:
    """Write the arrays of a pytree and metadata; the file appears whole or not at all."""
    arrays = {name: np.asarray(_plain(leaf)) for name, leaf in _named_leaves(tree)}
    save_arrays(path, arrays, type(tree).__qualname__, metadata)


def load_tree(path: str | os.PathLike[str], like: Tree) -> Tree:
    """Read a file into a pytree of the structure of `like`; leaves that are not arrays are taken from `like`.

    Where `like` has a `jax.ShapeDtypeStruct`, a JAX array of that shape and type is read.
    """
    expected = {name: _plain(leaf) for name, leaf in _named_leaves(like)}
    stored = load_arrays(path, expected, type(like).__qualname__)
    return jax.tree_util.tree_map_with_path(lambda where, leaf: _restored(leaf, stored, where), like)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | jax.ShapeDtypeStruct)


def _plain(leaf: Any) -> Any:
    """Keys as their raw data, other arrays as they are."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


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
        return jax.random.wrap_key_data(restored, impl=IMPLEMENTATION) if is_key(leaf) else restored

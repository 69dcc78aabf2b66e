"""Trained algorithms on disk: weights read into what their settings describe, and refused where they do not fit."""

import dataclasses
import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.l2e.solver import L2ESettings
from l2e.algorithms.trainable import AbstractSettings
from l2e.core.checkpoint import CheckpointError
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.trees import load_tree, save_tree

STORED = ("float32", "float16")
"""The types in which weights may be stored; they are used as the first."""


def load_algorithm(
    path: str | os.PathLike[str], settings: AbstractSettings, dimension: int, generations: int, stored: str
) -> AbstractAlgorithm[Any]:
    """Read the deployed algorithm of some settings.

    Names, shapes and types of all arrays are compared before any is read. Weights must be finite, and everything else
    in the file equal to what the settings say.

    **Raises:** `CheckpointError` if the file is damaged or does not fit its settings.
    """
    try:
        like = _outline(settings, dimension, generations)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"{path} holds a model that cannot be built from its settings: {error}") from error
    found = load_tree(path, _with_dtype(like, stored))
    for (where, leaf), wanted in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(like), strict=True):
        if isinstance(leaf, np.ndarray) and not np.array_equal(leaf, wanted):
            name = jax.tree_util.keystr(where)
            raise CheckpointError(f"{path} does not fit its settings: {name} is {leaf}, not {wanted}")
        if isinstance(leaf, jax.Array) and not np.isfinite(np.asarray(leaf)).all():
            raise CheckpointError(f"{path} is damaged: {jax.tree_util.keystr(where)} has entries that are not finite")
    return _cast(found, STORED[0])


def save_algorithm(
    path: str | os.PathLike[str], algorithm: AbstractAlgorithm[Any], metadata: dict[str, Any], stored: str
) -> None:
    """Write an algorithm with its weights in this type."""
    save_tree(path, _cast(algorithm, stored), metadata)


def initial_algorithm(
    settings: AbstractSettings, dimension: int, generations: int, seed: int
) -> AbstractAlgorithm[Any]:
    """What a training with this seed started from, in its deployed form."""
    with jax.enable_x64(False):
        return settings.deployed(settings.initial(dimension, generations, seed))


def without_noise(
    trained: AbstractAlgorithm[Any], settings: L2ESettings, dimension: int, generations: int
) -> AbstractAlgorithm[Any]:
    """A trained L2E with its random term switched off."""
    weights = {jax.tree_util.keystr(where): leaf for where, leaf in jax.tree_util.tree_leaves_with_path(trained)}
    like = _outline(dataclasses.replace(settings, noise=False), dimension, generations)
    return jax.tree_util.tree_map_with_path(lambda where, leaf: weights[jax.tree_util.keystr(where)], like)


def _outline(settings: AbstractSettings, dimension: int, generations: int) -> Any:
    """The deployed algorithm with shapes in place of weights, so that nothing is drawn or allocated."""
    others = []

    def weights() -> Any:
        built = settings.deployed(settings.build(dimension, generations, jax.random.key(0)))
        arrays, rest = eqx.partition(built, lambda leaf: isinstance(leaf, jax.Array))
        others.append(rest)
        return arrays

    with jax.enable_x64(False):
        shapes = jax.eval_shape(weights)
    return eqx.combine(shapes, others[0])


def _with_dtype(outline: Any, dtype: str) -> Any:
    """The outline with its floating-point weights in this type."""

    def changed(leaf: Any) -> Any:
        if isinstance(leaf, jax.ShapeDtypeStruct) and jnp.issubdtype(leaf.dtype, jnp.floating):
            return jax.ShapeDtypeStruct(leaf.shape, np.dtype(dtype))
        return leaf

    return jax.tree.map(changed, outline)


def _cast(tree: Any, dtype: str) -> Any:
    """The tree with its weights, the JAX arrays of floats, in this type; numpy arrays are hyper-parameters."""

    def cast(leaf: Any) -> Any:
        is_weight = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating)
        return jnp.asarray(np.asarray(leaf).astype(dtype)) if is_weight else leaf  # by numpy: nothing to compile

    return jax.tree.map(cast, tree)

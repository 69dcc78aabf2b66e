"""Training that goes on from the weights of another one, which may have shared them over generations."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.api import models

ONE, MANY = ".schedule.operator.", ".schedule.operators."
"""How the names of an operator's weights begin, shared and with one entry per generation or stage."""


def started_from(optimizer: Any, path: str | Path) -> Any:
    """The optimizer with the weights of a trained model: name, folder or file.

    Shared weights become the first weights of every generation or stage, so that a training with more freedom begins
    where the one with less has ended.

    **Raises:** `ValueError` naming the first weight that the model does not have in this shape.
    """
    weights, rest = eqx.partition(optimizer, lambda leaf: isinstance(leaf, jax.Array))
    found = {
        jax.tree_util.keystr(where): leaf for where, leaf in jax.tree_util.tree_leaves_with_path(models.load(path))
    }
    taken = jax.tree_util.tree_map_with_path(
        lambda where, leaf: _taken(jax.tree_util.keystr(where), leaf, found), weights
    )
    return eqx.combine(taken, rest)


def _taken(name: str, wanted: Any, found: dict[str, Any]) -> Any:
    """The weight of this name, or the shared one broadcast along a new first axis."""
    shared = found.get(ONE + name.removeprefix(MANY)) if name.startswith(MANY) else None
    value = found.get(name) if shared is None else jnp.broadcast_to(shared, (wanted.shape[0], *shared.shape))
    if value is None or value.shape != wanted.shape:
        has = "not in it" if value is None else f"of shape {value.shape} in it"
        raise ValueError(f"the model to start from does not fit: {name} of shape {wanted.shape} is {has}")
    return jnp.asarray(value, wanted.dtype)

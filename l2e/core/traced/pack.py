"""Pytrees as flat arguments of compiled functions: their arrays apart from what is static, or packed into vectors."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.traced.keys import IMPLEMENTATION, is_key


class Static:
    """What a compiled program depends on besides arrays: equal ones share the program, and comparing them is cheap."""

    __slots__ = ("_hash", "parts")

    def __init__(self, *parts: Any):
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Static) and self.parts == other.parts)


def split(tree: Any) -> tuple[list[Any], Static]:
    """Take the arrays out of a pytree: `join(*split(tree))` is the tree again."""
    leaves, structure = jax.tree.flatten(tree)
    is_array = [isinstance(leaf, jax.Array | np.ndarray | np.generic) for leaf in leaves]
    rest = tuple(None if array else leaf for leaf, array in zip(leaves, is_array, strict=True))
    return [leaf for leaf, array in zip(leaves, is_array, strict=True) if array], Static(structure, rest)


def join(arrays: list[Any], static: Static) -> Any:
    """Put a pytree together again after `split`."""
    structure, rest = static.parts
    remaining = iter(arrays)
    return jax.tree.unflatten(structure, [next(remaining) if leaf is None else leaf for leaf in rest])


def layout(tree: Any) -> Static:
    """How `pack` lays out a pytree of arrays: its structure, and shape, dtype and keyness of each leaf."""
    leaves, structure = jax.tree.flatten(tree)
    are_keys = tuple(is_key(leaf) for leaf in leaves)
    raw = [jax.random.key_data(leaf) if keyed else leaf for leaf, keyed in zip(leaves, are_keys, strict=True)]
    return Static(structure, tuple(leaf.shape for leaf in raw), tuple(str(leaf.dtype) for leaf in raw), are_keys)


def pack(tree: Any) -> list[Any]:
    """All leaves of a pytree of arrays in one vector per dtype; small integers and booleans share one of int32.

    Calling a compiled function costs microseconds per argument and result, and many more when they are modules, which
    are taken apart and put together in Python at each call. Two vectors are cheap.
    """
    leaves = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]
    lanes = sorted({_lane(str(leaf.dtype)) for leaf in leaves})
    words = [_to_lane(leaf.ravel()) for leaf in leaves]
    return [jnp.concatenate([word for word in words if str(word.dtype) == lane]) for lane in lanes]


def unpack(vectors: list[Any], plan: Static) -> Any:
    """The pytree again after `pack`, by its `layout`."""
    structure, shapes, dtypes, are_keys = plan.parts
    taken = dict.fromkeys((_lane(dtype) for dtype in dtypes), 0)
    by_lane = dict(zip(sorted(taken), vectors, strict=True))
    leaves = []
    for shape, dtype, keyed in zip(shapes, dtypes, are_keys, strict=True):
        lane = _lane(dtype)
        start, taken[lane] = taken[lane], taken[lane] + math.prod(shape)
        leaf = _from_lane(by_lane[lane][start : taken[lane]], dtype).reshape(shape)
        leaves.append(jax.random.wrap_key_data(leaf, impl=IMPLEMENTATION) if keyed else leaf)
    return jax.tree.unflatten(structure, leaves)


def _lane(dtype: str) -> str:
    """The dtype of the vector that holds leaves of this dtype."""
    return "int32" if dtype in ("int32", "uint32", "bool") else dtype


def _to_lane(leaf: jax.Array) -> jax.Array:
    if leaf.dtype == jnp.uint32:
        return jax.lax.bitcast_convert_type(leaf, jnp.int32)
    return leaf.astype(_lane(str(leaf.dtype)))


def _from_lane(leaf: jax.Array, dtype: str) -> jax.Array:
    return jax.lax.bitcast_convert_type(leaf, jnp.uint32) if dtype == "uint32" else leaf.astype(dtype)

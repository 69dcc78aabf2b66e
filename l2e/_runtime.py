"""How the library uses JAX: float64 without touching the user's setting, and compilations kept on disk."""

import contextlib
import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

CACHE_VARIABLE = "L2E_CACHE_DIR"
"""Environment variable: the folder of the compilation cache, or "off"."""


def cache_folder() -> Path | None:
    """The folder in which compilations are kept, or None when the user switched it off."""
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "l2e" / "xla"


@functools.cache
def _keep_compilations() -> None:
    """Switch on JAX's persistent compilation cache, unless the user has chosen one or none."""
    folder = cache_folder()
    chosen = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if folder is None or chosen is not None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # nowhere to keep them: compile each time
    if not os.access(folder, os.W_OK):
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


PINNED: dict[str, tuple[Any, Any]] = {
    "jax_numpy_dtype_promotion": ("standard", lambda: jax.numpy_dtype_promotion("standard")),
    "jax_numpy_rank_promotion": ("allow", lambda: jax.numpy_rank_promotion("allow")),
    "jax_threefry_partitionable": (True, lambda: jax.threefry_partitionable(True)),
    "jax_transfer_guard_host_to_device": (None, lambda: jax.transfer_guard("allow")),
    "jax_debug_infs": (False, lambda: jax.debug_infs(False)),
}
"""Settings of JAX that users change, the values our code is written for, and contexts that set them."""


def float64() -> contextlib.AbstractContextManager[Any]:
    """A context in which JAX computes in float64 with the settings our code needs; the caller's are back afterwards."""
    _keep_compilations()
    other = [context for name, (value, context) in PINNED.items() if getattr(jax.config, name) != value]
    if not other:
        return jax.enable_x64(True)
    stack = contextlib.ExitStack()
    for context in other:
        stack.enter_context(context())
    stack.enter_context(jax.enable_x64(True))
    return stack


def refuse_tracing() -> None:
    """Raise an error that says what to do if JAX is tracing here."""
    with float64():
        traced = isinstance(jnp.zeros(()), Tracer)
    if traced:
        raise RuntimeError(
            "a search runs on the host and cannot be called inside jax.jit, vmap or grad; "
            "use l2e.unroll there, or jax.pure_callback around the search"
        )


def float64_is_on() -> bool:
    """Whether JAX computes in float64 here and now."""
    return jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]


SEQUENTIAL = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED", "xla_cpu_multi_thread_eigen": False}
"""XLA options for programs of many tiny operations, which threads only slow down (a third of the CPU time, measured
on a CMA-ES generation in 10-D)."""


@functools.cache
def sequential() -> dict[str, Any] | None:
    """`SEQUENTIAL` as options for `jax.jit`, or None where this version of XLA does not know them."""
    try:
        jax.jit(lambda x: x, compiler_options=SEQUENTIAL).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return None
    return SEQUENTIAL


class small_jit:  # noqa: N801 - used as a decorator
    """`jax.jit` for programs of many small operations; nothing is set up before the first call.

    **Arguments:** `static_argnums`: as `jax.jit`'s; `filtered`: by `equinox.filter_jit`, which sorts out by itself
    what is static.
    """

    def __init__(self, function: Callable[..., Any], static_argnums: tuple[int, ...] = (), filtered: bool = False):
        functools.update_wrapper(self, function)
        self.function = function
        self.static_argnums = static_argnums
        self.filtered = filtered

    @functools.cached_property
    def jitted(self) -> Any:
        """The compiled function."""
        options: dict[str, Any] = {"compiler_options": sequential()}
        if not self.filtered:
            return jax.jit(self.function, static_argnums=self.static_argnums, **options)
        import equinox as eqx  # most uses of this module need no equinox

        return eqx.filter_jit(self.function, **options)

    def __call__(self, *arguments: Any) -> Any:
        return self.jitted(*arguments)

    def lower(self, *arguments: Any) -> Any:
        """As `jax.jit(...).lower`."""
        return self.jitted.lower(*arguments)


class Static:
    """Hashable facts that a compilation depends on; equal ones share it. Hash and comparison are cheap."""

    __slots__ = ("_hash", "facts")

    def __init__(self, *facts: Any):
        self.facts = facts
        self._hash = hash(facts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Static) and self.facts == other.facts)


def split(tree: Any) -> tuple[list[Any], Static]:
    """Take the arrays out of a pytree: `join(*split(tree))` is the tree again."""
    leaves, structure = jax.tree.flatten(tree)
    is_array = [isinstance(leaf, jax.Array | np.ndarray | np.generic) for leaf in leaves]
    rest = tuple(None if array else leaf for leaf, array in zip(leaves, is_array, strict=True))
    return [leaf for leaf, array in zip(leaves, is_array, strict=True) if array], Static(structure, rest)


def join(arrays: list[Any], static: Static) -> Any:
    """Put a pytree together again after `split`."""
    structure, rest = static.facts
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
    structure, shapes, dtypes, are_keys = plan.facts
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


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of typed JAX keys."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


IMPLEMENTATION = "threefry2x32"
"""The random numbers of JAX that all our results are made of, whatever the user's default is."""


def _threefry(seed: int) -> jax.Array:
    with float64():  # so that seeds above 2**32 stay different
        return jax.random.key(seed, impl=IMPLEMENTATION)


def as_key(rng: Any) -> jax.Array:
    """A JAX key from whatever people call a seed.

    **Arguments:** `rng`: a non-negative integer, a `numpy.random.Generator` (one draw is taken from it), a JAX key
    (typed or raw), or None for fresh entropy.
    """
    if rng is None:
        return _threefry(int(np.random.SeedSequence().generate_state(1)[0]))
    if isinstance(rng, np.random.Generator):
        return _threefry(int(rng.integers(2**31)))
    if is_key(rng):
        if rng.shape != ():
            raise ValueError(f"rng must be one key, got an array of keys of shape {rng.shape}")
        if str(jax.random.key_impl(rng)) in (IMPLEMENTATION, f"PRNGSpec({IMPLEMENTATION!r})"):
            return rng
        return _threefry(int(jax.random.bits(rng, dtype=jnp.uint32)))  # a key of another kind seeds one of ours
    if isinstance(rng, jax.Array) and rng.dtype == jnp.uint32 and rng.shape == (2,):
        return jax.random.wrap_key_data(rng, impl=IMPLEMENTATION)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        if not 0 <= int(rng) < 2**63:
            raise ValueError(f"rng must be a non-negative integer below 2**63, got {rng}")
        return _threefry(int(rng))
    raise TypeError(f"rng must be an int, a numpy Generator, a JAX key or None, got {type(rng).__name__}")

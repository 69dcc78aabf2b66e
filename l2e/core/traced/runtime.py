"""How the library uses JAX: float64 without touching the user's setting, and compilations kept on disk."""

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
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

"""How the library uses JAX: float64 without touching the user's setting, and programs of many small operations."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from l2e.core.traced.compilations import KEPT, forked, refuse_after_fork

PINNED: dict[str, tuple[Any, Any]] = {
    "jax_numpy_dtype_promotion": ("standard", lambda: jax.numpy_dtype_promotion("standard")),
    "jax_numpy_rank_promotion": ("allow", lambda: jax.numpy_rank_promotion("allow")),
    "jax_threefry_partitionable": (True, lambda: jax.threefry_partitionable(True)),
    "jax_transfer_guard_host_to_device": (None, lambda: jax.transfer_guard("allow")),
    "jax_debug_infs": (False, lambda: jax.debug_infs(False)),
}
"""Settings of JAX that users change, the values our code is written for, and contexts that set them."""


class float64:  # noqa: N801 - used as a function
    """A context in which JAX computes in float64 with the settings our code needs, and compilations are kept on disk;
    the caller's settings are back afterwards.
    """

    def __init__(self) -> None:
        refuse_after_fork()
        self._inner = self._x64 = jax.enable_x64(True)
        other = [context for name, (value, context) in PINNED.items() if getattr(jax.config, name) != value]
        if other:
            self._inner = contextlib.ExitStack()
            for context in other:
                self._inner.enter_context(context())
            self._inner.enter_context(self._x64)

    def __enter__(self) -> None:
        KEPT.__enter__()
        self._inner.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)
        KEPT.__exit__()


def refuse_tracing() -> None:
    """Raise an error that says what to do if JAX is tracing here."""
    if forked():
        return
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
        with KEPT:
            try:
                return self.jitted(*arguments)
            except ValueError as error:  # JAX makes one of a Ctrl-C while it compares static arguments
                if "KeyboardInterrupt" in str(error):
                    raise KeyboardInterrupt from None
                raise

    def clear_cache(self) -> None:
        """Drop the programs compiled so far."""
        self.jitted.clear_cache()

    def lower(self, *arguments: Any) -> Any:
        """As `jax.jit(...).lower`."""
        return self.jitted.lower(*arguments)

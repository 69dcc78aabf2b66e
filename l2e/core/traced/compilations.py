"""Our compilations: kept on disk for the next process, bounded in memory, and refused after a fork.

JAX has one compilation cache for the whole process. It is switched on only while our own code computes, so what a user
compiles is never written to our folder, and a cache that the user has chosen is left alone.
"""

import contextlib
import functools
import os
import threading
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

CACHE_VARIABLE = "L2E_CACHE_DIR"
"""Environment variable: the folder of the compilation cache, or "off"."""

MOST_SHAPES = 16
"""Searches of this many kinds keep their programs in memory, about 20 MB each; then all are dropped."""

DIRECTORY = "jax_compilation_cache_dir"
OURS = {"jax_persistent_cache_min_compile_time_secs": 0.0, "jax_persistent_cache_min_entry_size_bytes": -1}
"""Programs of every size and compilation time are kept."""


def cache_folder() -> Path | None:
    """The folder in which compilations are kept, or None when the user switched it off."""
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "l2e" / "xla"


class Kept:
    """A context in which compilations are kept on disk; it may be entered again, and by several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._theirs: dict[str, Any] | None = None

    def __enter__(self) -> "Kept":
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._switch_on()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth = max(self._depth - 1, 0)
            if self._depth == 0:
                self._switch_off()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """A context for calls of the user's code from within ours: the user's own settings are back."""
        with self._lock:
            self._switch_off()
        try:
            yield
        finally:
            with self._lock:
                if self._depth:
                    self._switch_on()

    def mend(self) -> None:
        """After Ctrl-C, which may have come while this was entered or left: nobody computes, nobody has the lock."""
        self._lock = threading.RLock()
        self._depth = 0
        self._switch_off()

    @property
    def entered(self) -> bool:
        """Whether our code is computing."""
        return self._depth > 0

    def _switch_on(self) -> None:
        if jax.config.values[DIRECTORY] is not None:
            return
        folder = _usable_folder(os.environ.get(CACHE_VARIABLE, ""))
        if folder is None:
            return
        self._theirs = {name: jax.config.values[name] for name in (DIRECTORY, *OURS)}
        _update({DIRECTORY: str(folder), **OURS})

    def _switch_off(self) -> None:
        if self._theirs is not None:
            _update(self._theirs)
            compilation_cache.reset_cache()  # or the folder would stay in use
            self._theirs = None


KEPT = Kept()
"""The one context of this process."""


@functools.cache
def _usable_folder(chosen: str) -> Path | None:
    """The folder, made if need be; None if there is nowhere to write. The argument is the environment variable."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None  # compile each time
    return folder if os.access(folder, os.W_OK) else None


def _update(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)


class Bounded:
    """Remembers which kinds of search have programs in memory, and drops all programs when there are too many.

    Whatever is needed again is read from the disk. Programs of the user are not touched.
    """

    def __init__(self, most: int = MOST_SHAPES):
        self.most = most
        self._kinds: set[Hashable] = set()
        self._functions: list[Any] = []
        self._lock = threading.Lock()

    def register(self, compiled: Any) -> None:
        """Name one of our compiled functions, which has `clear_cache` as what `jax.jit` gives has."""
        self._functions.append(compiled)

    def use(self, kind: Hashable) -> None:
        """A search of this kind begins."""
        with self._lock:
            if kind not in self._kinds and len(self._kinds) >= self.most:
                self._kinds.clear()
                for compiled in self._functions:
                    compiled.clear_cache()
            self._kinds.add(kind)


PROGRAMS = Bounded()
"""The programs of searches in this process."""


class _Fork:
    """Whether this process was forked from one in which JAX had already computed for us."""

    used = False
    broken = False


def refuse_after_fork() -> None:
    """Note that JAX computes here; raise where it would wait for ever for threads that a fork left behind."""
    if _Fork.broken:
        raise RuntimeError(
            "this process was forked from one that had already used JAX, whose threads do not exist here, so this "
            "method would hang. Start processes by 'spawn' or 'forkserver' (multiprocessing.get_context('spawn')), or "
            "use the default method, which needs no JAX"
        )
    _Fork.used = True


def forked() -> bool:
    """Whether JAX cannot compute here because of a fork."""
    return _Fork.broken


def _in_child() -> None:
    _Fork.broken = _Fork.broken or _Fork.used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

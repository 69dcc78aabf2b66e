"""Shared by all tests: where compilations are kept, that a long run does not hold all of them, that Ctrl-C works."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

os.environ.setdefault("L2E_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "xla"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs that tests start inherit it

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000
"""Each compiled program takes memory maps of the process, of which Linux allows 65,530; at the limit XLA aborts."""

MEMORY = Path("/proc/self/statm")
MOST_PAGES = 1_500_000_000 // os.sysconf("SC_PAGE_SIZE")
"""Memory beyond which programs are dropped when a file of tests is done."""


def forget_compilations() -> None:
    """Drop the programs compiled so far; those needed again are read from the disk."""
    jax.clear_caches()
    gc.collect()


@pytest.fixture(autouse=True)
def few_maps() -> Iterator[None]:
    """Drop programs when there are very many."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        forget_compilations()


@pytest.fixture(autouse=True, scope="module")
def little_memory() -> Iterator[None]:
    """Drop programs after a file of tests when they take much memory."""
    yield
    if MEMORY.exists() and int(MEMORY.read_text().split()[1]) > MOST_PAGES:
        forget_compilations()


@pytest.fixture(scope="module")
def quick_compilation() -> Iterator[None]:
    """Few optimisations, for modules whose programs take longer to compile than to run: half the CPU time.

    What is asserted stays the same; what is pinned to the bit, or timed, does not use it.
    """
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)

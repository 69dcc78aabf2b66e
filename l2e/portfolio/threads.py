"""One BLAS thread while the method computes: its matrices are small, and threads that wait for each other cost more.

In 10 dimensions with 200 evaluations per dimension, on two cores, the method takes .06 to .14 ms of CPU time per
evaluation with the limit and .5 to 1.7 ms without; entering and leaving costs about 10 microseconds per batch. Results
do not depend on the number of threads then, either. The limit is a setting of the process, so it is lifted before the
user's function is called, and searches in several Python threads compute one after the other (their functions do not).
"""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


class _Turn:
    """Whose turn it is to compute: two threads that limited at once would restore each other's limits."""

    lock = threading.RLock()


def _renew() -> None:
    """In a forked process nobody computes yet, whoever did when it was forked."""
    _Turn.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@functools.cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process; finding them takes milliseconds, limiting them microseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which BLAS has one thread."""
    with _Turn.lock, _libraries().limit(limits=1):
        yield

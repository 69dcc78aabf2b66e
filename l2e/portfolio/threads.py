"""One BLAS thread while the method computes: its matrices are small, and threads that wait for each other cost more.

In 10 dimensions with 200 evaluations per dimension, on two cores, the method takes .06 to .14 ms of CPU time per
evaluation with the limit and .5 to 1.7 ms without; entering and leaving costs about 10 microseconds per batch. Results
do not depend on the number of threads then, either. The limit is a setting of the process, so it is lifted before the
user's function is called, and searches in several Python threads compute one after the other (their functions do not).
Where BLAS has one thread anyway there is nothing to set, and reading that costs a tenth.
"""

import functools
import os
import threading

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


class one_thread:  # noqa: N801 - read as a verb: with one_thread()
    """A context in which BLAS has one thread."""

    def __enter__(self) -> None:
        self._lock = _Turn.lock
        self._lock.acquire()
        try:
            libraries = _libraries()
            limited = all(library.num_threads == 1 for library in libraries.lib_controllers)
            self._limit = None if limited else libraries.limit(limits=1)
            if self._limit is not None:
                self._limit.__enter__()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *what: object) -> None:
        try:
            if self._limit is not None:
                self._limit.__exit__(*what)
        finally:
            self._lock.release()

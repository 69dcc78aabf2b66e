"""Clusters that tasks are sent to: Dask and Ray do the distribution, and start again what a lost node was doing."""

import abc
import queue
from collections.abc import Callable
from typing import Any, NamedTuple

from l2e.core.errors import require, unknown

ENGINES = ("dask", "ray")


class Answer(NamedTuple):
    """What came of a call: what it returned, or why the engine has nothing to return."""

    number: int
    value: dict[str, Any] | None
    lost: str = ""


class AbstractEngine(abc.ABC):
    """Calls a function somewhere, and says what came of it."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many calls run at once; nodes may join and leave."""

    @abc.abstractmethod
    def submit(self, number: int, function: Callable[..., dict[str, Any]], *arguments: Any) -> None:
        """Have a function called, under a number."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> list[Answer]:
        """Answers that have come, after at most so many seconds."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give up what is running; clusters that others have started stay."""


class DaskEngine(AbstractEngine):
    """A Dask cluster: the one at an address, or one of this machine with so many processes.

    **Arguments:** `address`: of the scheduler, as `tcp://host:8786`; None starts a cluster here; `workers`: its
    processes, one per core if None.
    """

    def __init__(self, address: str | None = None, workers: int | None = None):
        distributed = require("distributed", "dask")
        self._cluster = None
        if address is None:
            self._cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
            )
        self._client = distributed.Client(self._cluster or address)
        self._running: dict[Any, int] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def size(self) -> int:
        return max(1, sum(self._client.nthreads().values()))

    def submit(self, number: int, function: Callable[..., dict[str, Any]], *arguments: Any) -> None:
        future = self._client.submit(function, *arguments, pure=False)
        self._running[future] = number
        future.add_done_callback(self._finished.put)

    def wait(self, seconds: float) -> list[Answer]:
        try:
            futures = [self._finished.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._finished.empty():
            futures.append(self._finished.get())
        return [self._answer(future) for future in futures if future in self._running]

    def _answer(self, future: Any) -> Answer:
        number = self._running.pop(future)
        try:
            return Answer(number, future.result())
        except Exception as error:  # noqa: BLE001 - whatever the engine says: the call has no result
            return Answer(number, None, _said(error))

    def close(self) -> None:
        self._client.cancel(list(self._running))
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


class RayEngine(AbstractEngine):
    """A Ray cluster: the one at an address or that RAY_ADDRESS names, or else one of this machine.

    **Arguments:** `address`: as `ray.init` takes it; `workers`: CPUs of a cluster that is started here.
    """

    def __init__(self, address: str | None = None, workers: int | None = None):
        self._ray = require("ray", "ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._ray.init(address=address, num_cpus=None if address else workers, log_to_driver=False)
        self._running: dict[Any, int] = {}

    @property
    def size(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, number: int, function: Callable[..., dict[str, Any]], *arguments: Any) -> None:
        task = self._ray.remote(function).options(num_cpus=1, max_retries=3)
        self._running[task.remote(*arguments)] = number

    def wait(self, seconds: float) -> list[Answer]:
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        return [self._answer(task) for task in ready]

    def _answer(self, task: Any) -> Answer:
        number = self._running.pop(task)
        try:
            return Answer(number, self._ray.get(task))
        except Exception as error:  # noqa: BLE001 - whatever the engine says: the call has no result
            return Answer(number, None, _said(error))

    def close(self) -> None:
        for task in self._running:
            self._ray.cancel(task, force=True)
        if self._ours:
            self._ray.shutdown()


def connect(name: str, address: str | None, workers: int | None) -> AbstractEngine:
    """The engine of a name.

    **Raises:** `ValueError` for an unknown one, `MissingExtraError` if it is not installed.
    """
    if name not in ENGINES:
        raise unknown("executor", name, ENGINES)
    return (DaskEngine if name == "dask" else RayEngine)(address, workers)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"

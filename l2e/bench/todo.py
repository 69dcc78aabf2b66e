"""What is left to do of a plan: tasks are claimed one by one, and what comes of them is stored."""

import collections
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from l2e.bench.plan import Plan, Task
from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.store import Store


class AbortedError(RuntimeError):
    """No run of this experiment can succeed here: something is not installed."""


@dataclass
class Status:
    """What people watch: the plan, what is done of it, what is being done."""

    plan: Plan
    records: dict[str, RunRecord]
    running: list[Task]
    done_here: int
    workers: int


class Todo:
    """The missing runs of a plan as tasks, which this process claims before it has them run.

    **Arguments:** `store`: open; other runners may work on it at the same time; `again`: tells of a finished run that
    it shall be run once more; its new record replaces the old one.
    """

    def __init__(self, plan: Plan, store: Store, again: Callable[[RunRecord], bool]):
        self.plan, self.store, self.done_here = plan, store, 0
        redo = {key for key, record in store.records.items() if again(record)}
        missing = plan.complete_archives(
            spec for spec in plan.specs if spec.key in redo or spec.key not in store.records
        )
        self._redo = redo | {spec.key for spec in missing if spec.key in store.records}
        self._queue = collections.deque(plan.tasks(missing))

    def __len__(self) -> int:
        return len(self._queue)

    def next(self) -> Task | None:
        """A task whose runs are all free and not yet done; parts of it if some are not."""
        self.store.refresh()
        for _ in range(len(self._queue)):
            task = self._queue.popleft()
            left = [spec for spec in task.runs if not self._finished(spec)]
            free = [spec for spec in left if self.store.claim(spec.key)]
            if free:
                self.store.refresh()  # what was finished between the last look and the claim
                ours = tuple(spec for spec in free if not self._finished(spec))
                others = tuple(spec for spec in left if spec not in free)
                if others:
                    self._queue.append(Task(task.engine, others, task.problems))
                for spec in free:
                    if spec not in ours:
                        self.store.release(spec.key)
                if ours:
                    return Task(task.engine, ours, task.problems)
            elif left:
                self._queue.append(Task(task.engine, tuple(left), task.problems))  # another runner has them
        return None

    def keep(self, task: Task, records: Iterable[RunRecord]) -> None:
        """Store what came of a task, and give its claims back."""
        records = list(records)
        self.store.append(records)
        self.done_here += len(records)
        for record in records:
            self._redo.discard(record.key)
        self._release(task)

    def split(self, task: Task) -> bool:
        """Put the runs of a task that failed as a whole back one by one; False if it is one run, or one archive."""
        if len(task.runs) == 1 or task.runs[0].log:
            return False
        self._release(task)
        self._queue.extendleft(reversed(task.split()))
        return True

    def _release(self, task: Task) -> None:
        for key in task.keys:
            self.store.release(key)

    def _finished(self, spec: RunSpec) -> bool:
        return spec.key in self.store.records and spec.key not in self._redo

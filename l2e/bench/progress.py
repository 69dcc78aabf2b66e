"""What people see of a running experiment: a live table, or now and then a line where there is no terminal."""

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from l2e.bench.record import RunRecord
from l2e.bench.todo import Status

LINE_SECONDS = 30.0


class Progress:
    """A context in which `show` draws the status of a runner."""

    def __init__(self, console: Console, title: str):
        self._console, self._title = console, title
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._began = self._line_at = time.monotonic()

    def __enter__(self) -> "Progress":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None):
        if self._live is not None:
            self._live.stop()

    def show(self, status: Status) -> None:
        """Draw it."""
        seconds = time.monotonic() - self._began
        if self._live is not None:
            self._live.update(Group(method_table(status, self._title), Text(footer(status, seconds))))
        elif time.monotonic() - self._line_at > LINE_SECONDS:
            self._line_at = time.monotonic()
            self._console.print(footer(status, seconds))


def method_table(status: Status, title: str) -> Table:
    """One row per method: how many runs are done and failed, their CPU time, what is running."""
    table = Table(title=title)
    for heading in ("method", "done", "failed", "CPU s / run", "running"):
        table.add_column(heading, justify="left" if heading in ("method", "running") else "right")
    wanted: dict[str, list[str]] = {}
    for spec in status.plan.specs:
        wanted.setdefault(spec.method, []).append(spec.key)
    for method, keys in wanted.items():
        done = [status.records[key] for key in keys if key in status.records]
        failed = sum(record.error is not None for record in done)
        now = [task.runs[0].problem for task in status.running if task.runs[0].method == method]
        cpu = f"{_mean_cpu(done):.3g}" if done else ""
        table.add_row(Text(method), f"{len(done)}/{len(keys)}", str(failed or ""), cpu, Text(", ".join(now)))
    return table


def footer(status: Status, seconds: float) -> str:
    """How much is done, and how long the rest will take."""
    done = sum(spec.key in status.records for spec in status.plan.specs)
    text = f"{done} of {len(status.plan.specs)} runs"
    left = seconds_left(status)
    return text + (f", about {_duration(left)} left" if left else "") + f", {_duration(seconds)} so far"


def seconds_left(status: Status) -> float | None:
    """Wall time of what is missing, by the mean over the method's runs so far, or over all; None without any."""
    records: dict[str, list[RunRecord]] = {}
    for record in status.records.values():
        records.setdefault(record.spec.method, []).append(record)
    if not records:
        return None
    means = {method: sum(r.wall_seconds for r in group) / len(group) for method, group in records.items()}
    overall = sum(means.values()) / len(means)
    missing = [spec.method for spec in status.plan.specs if spec.key not in status.records]
    return sum(means.get(method, overall) for method in missing) / status.workers


def _mean_cpu(records: list[RunRecord]) -> float:
    return sum(record.cpu_seconds for record in records) / len(records)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    )

"""The command `l2e watch`: a run that goes on elsewhere, seen through its journal."""

import time
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.live import Live
from tyro.conf import Positional, arg

from l2e.api.progress import duration
from l2e.cli.console import plain_console
from l2e.core.checkpoint import write_whole
from l2e.core.journal import is_open
from l2e.core.journal_frames import Recorded
from l2e.core.journal_reader import read_journal
from l2e.report.run_page import run_page
from l2e.report.run_record import best_of, best_so_far, evaluations_of
from l2e.report.text_chart import chart


def watch(
    path: Annotated[Positional[Path], arg(metavar="FILE")],
    /,
    html: Annotated[Path | None, arg(metavar="PAGE")] = None,
    every: Annotated[float, arg(metavar="S")] = 2.0,
    once: bool = False,
) -> int:
    """Watch a search that writes a journal: best value, rate, failures, convergence. Ctrl-C ends the watching only.

    Args:
        path: The journal, as written by --checkpoint or minimize(checkpoint=...).
        html: Also write a page that reloads itself; open it in a browser.
        every: Seconds between two looks.
        once: Look once and end.
    """
    if not every > 0:
        raise ValueError(f"every must be a positive number of seconds, got {every}")
    console, seen = plain_console(), _Seen(path)
    if once:
        console.print(seen.look(html, every, console))
        return 0
    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(seen.look(html, every, console), refresh=True)
                if not seen.running:
                    break
                time.sleep(every)
    except KeyboardInterrupt:
        return 0
    return 0


class _Seen:
    """What was seen of a journal so far: the rate is that of the watching."""

    def __init__(self, path: Path):
        self._path = path
        self._first: tuple[float, int] | None = None
        self.running = True

    def look(self, page: Path | None, every: float, console: Console) -> str:
        """The view as it is now; writes the page, if one is wanted."""
        self.running = is_open(self._path)
        recorded = read_journal(self._path)
        evaluations, facts = evaluations_of(recorded), self._facts(recorded)
        if page is not None:
            write_whole(page, run_page(str(self._path), facts, evaluations, every if self.running else None).encode())
        best = best_so_far(evaluations)
        widest = max(len(name) for name in facts)
        lines = [f"{name:<{widest}}  {value}" for name, value in facts.items()]
        return "\n".join([str(self._path), *lines, "", chart(best, min(console.width - 2, 100))])

    def _facts(self, recorded: Recorded) -> dict[str, str]:
        known, segment = recorded.evaluations, recorded.segments[-1]
        now, count = time.monotonic(), len(known)
        self._first = self._first or (now, count)
        best, note = best_of(recorded)
        rate = (count - self._first[1]) / max(now - self._first[0], 1e-9)
        budget = recorded.header.get("budget", 0)
        part = known[-1].part if known else ""
        seconds = [one.seconds for one in known if one.seconds == one.seconds]
        facts = {
            "state": "running" if self.running else "not running",
            "evaluations": f"{count}; {'at most' if recorded.open_ended else 'planned with'} {budget}",
            "under way": str(len(segment.asked) - len(segment.finished)),
            "best value": ("-" if best is None else f"{best.value:.10g}") + note,
            "at x": "-" if best is None else "[" + ", ".join(f"{v:.6g}" for v in best.x) + "]",
            "failed": str(sum(one.reason is not None for one in known)),
            "searching": part or "-",
        }
        if seconds:
            facts["an evaluation"] = f"{sum(seconds) / len(seconds):.3g} s on average, {max(seconds):.3g} s at most"
        if self.running and rate > 0:
            facts["rate"] = f"{rate:.3g} per second, {duration(max(budget - count, 0) / rate)} left"
        return facts

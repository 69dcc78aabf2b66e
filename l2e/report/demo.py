"""The main job in half a minute: a contest of two methods on six functions, as a table, a picture and a page."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import rich.table
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from l2e.bench.experiment import Experiment, Note
from l2e.bench.plan import make_plan
from l2e.bench.record import RunRecord
from l2e.bench.run_host import run_on_host
from l2e.bench.suite import parts
from l2e.report.collection import Results, results_of
from l2e.report.figures import draw_convergence
from l2e.report.page import write_page
from l2e.report.standard_tables import all_tables, medians

FUNCTIONS = (2, 8, 12, 15, 18, 21)
"""Separable and ill-conditioned, curved valley, ridge, two multi-modal ones with structure, many peaks.

None of them has a special value at the centre of its box, which the default method evaluates first (f19 does).
"""

RIVAL = "cmaes-bipop"


def run_demo(out: Path, dimension: int, budget: int, seeds: int, method: str, console: Console) -> Results:
    """Run a method and its rival, show them, write `demo.png` and `demo.html` into `out`, say where they are."""
    methods = tuple(dict.fromkeys([method, RIVAL]))
    experiment = Experiment(
        name="demo",
        suite="bbob",
        methods=methods,
        dimensions=(dimension,),
        functions=FUNCTIONS,
        budget=budget,
        seeds=tuple(range(seeds)),
    )
    title = f"{' and '.join(methods)} on six BBOB functions in {dimension}-D"
    note = Note(title=title, methods=methods)
    specs = sorted(make_plan(experiment).specs, key=lambda spec: parts(spec.problem)["function"])
    records: list[RunRecord] = []
    with _shown(console) as show:
        for spec in specs:
            caption = f"{len(records) / len(specs):4.0%}  {spec.problem}, {spec.method}"
            show(_table(results_of(records, note), budget, caption) if records else Text(caption))
            records.append(run_on_host(spec))
    results = results_of(records, note)
    console.print(_table(results, budget, f"best in bold; {seeds} seeds each"))
    draw_convergence(results, out / "demo.png")
    write_page(results, all_tables(results, with_published=False), out / "demo.html")
    console.print(f"picture: {out / 'demo.png'}\npage:    {out / 'demo.html'}", soft_wrap=True)
    return results


@contextlib.contextmanager
def _shown(console: Console) -> Iterator[Callable[[RenderableType], None]]:
    """What is drawn while runs go on, if there is a terminal to draw on."""
    if not console.is_terminal:
        yield lambda renderable: None
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        yield live.update


def _table(results: Results, budget: int, caption: str) -> rich.table.Table:
    """Median gaps, one line per function."""
    title = f"median gap f - f* after {budget} evaluations"
    shown = rich.table.Table(title=title, caption=caption)
    for head in ("problem", *results.methods):
        shown.add_column(Text(head), justify="left" if head == "problem" else "right")
    for line in medians(results).lines:
        cells = [Text(cell.text, style="bold" if cell.mark == "best" else "") for cell in line.cells]
        shown.add_row(line.label, *cells)
    return shown

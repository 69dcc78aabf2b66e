"""The main job in half a minute: six functions, two methods, one counted budget, a table, a picture and a page."""

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from l2e import catalog
from l2e._minimize import minimize
from l2e.problems import BBOB
from l2e.report import figures, page
from l2e.report.records import Run
from l2e.report.summary import Row, cells, summarize

FUNCTIONS = (2, 8, 12, 15, 19, 21)
"""Separable and ill-conditioned, curved valley, ridge-like, regular and irregular multi-modal, many peaks."""

RIVAL = "cmaes"


@dataclass(frozen=True)
class Demo:
    """What the demonstration runs."""

    out: Path = Path("demo")
    dimension: int = 5
    budget: int = 5000
    seeds: int = 5
    method: str = catalog.DEFAULT_METHOD


def run_demo(demo: Demo, console: Console) -> list[Row]:
    """Run it, show it, write `demo.png` and `demo.html`, say where they are."""
    methods = list(dict.fromkeys([demo.method, RIVAL]))
    problems = [catalog.problem(f"bbob:f{function}:i1:d{demo.dimension}") for function in FUNCTIONS]
    total = len(problems) * len(methods) * demo.seeds
    runs: list[Run] = []
    with Live(console=console, refresh_per_second=8) as live:
        for problem in problems:
            assert isinstance(problem, BBOB)
            name = f"f{problem.function} {problem.name}"
            for method in methods:
                for seed in range(demo.seeds):
                    live.update(_table(summarize(runs, methods), methods, demo, f"{name}, {method}", len(runs) / total))
                    began = time.perf_counter()
                    result = minimize(problem, method=method, budget=demo.budget, rng=seed)
                    seconds = time.perf_counter() - began
                    runs.append(Run.of(result, name, seed, demo.budget, problem.optimum.f, seconds))
        rows = summarize(runs, methods)
        live.update(_table(rows, methods, demo, "done", 1.0))
    title = f"l2e: {demo.method} and {RIVAL} on six BBOB functions"
    intro = (
        f"Official BBOB functions in {demo.dimension} dimensions, instance 1, {demo.budget} counted evaluations, "
        f"{demo.seeds} seeds each. Medians of the gap to the optimum; the best in bold."
    )
    figures.convergence(runs, demo.out / "demo.png", f"{title}, {demo.dimension}-D, {demo.seeds} seeds")
    page.write_page(demo.out / "demo.html", title, intro, runs, rows, methods)
    console.print(f"picture: {demo.out / 'demo.png'}\npage:    {demo.out / 'demo.html'}", highlight=False)
    return rows


def _table(rows: list[Row], methods: list[str], demo: Demo, doing: str, share: float) -> Table:
    caption = f"{share:4.0%}  {doing}"
    table = Table(title=f"median gap f - f*, {demo.budget} evaluations, {demo.dimension}-D", caption=caption)
    table.add_column("problem")
    for method in methods:
        table.add_column(method, justify="right")
        table.add_column("evaluations", justify="right")
    for row in rows:
        shown = [(f"[bold]{gap}[/bold]" if best else gap, nfev) for gap, nfev, best in cells(row, methods)]
        table.add_row(row.problem, *itertools.chain(*shown))
    return table

"""The main job in half a minute: six functions, two methods, one counted budget, a table, a picture and a page."""

import itertools
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from l2e import catalog
from l2e._minimize import minimize
from l2e.problems import BBOB
from l2e.report import figures, page
from l2e.report.records import Run
from l2e.report.summary import Row, cells, summarize

FUNCTIONS = (2, 8, 12, 15, 19, 21)
"""Separable and ill-conditioned, curved valley, ridge-like, regular and irregular multi-modal, many peaks."""

RIVAL = "cmaes-bipop"


def run_demo(out: Path, dimension: int, budget: int, seeds: int, method: str, console: Console) -> list[Row]:
    """Run a method and its rival, show them, write `demo.png` and `demo.html` into `out`, say where they are."""
    methods = list(dict.fromkeys([method, RIVAL]))
    problems = [catalog.problem(f"bbob:f{function}:i1:d{dimension}") for function in FUNCTIONS]
    total = len(problems) * len(methods) * seeds
    heading = f"median gap f - f*, {budget} evaluations, {dimension}-D"
    runs: list[Run] = []
    with Live(console=console, refresh_per_second=8) as live:
        for problem in problems:
            assert isinstance(problem, BBOB)
            name = f"f{problem.function} {problem.name}"
            for searcher in methods:
                for seed in range(seeds):
                    caption = f"{len(runs) / total:4.0%}  {name}, {searcher}"
                    live.update(_table(summarize(runs, methods), methods, heading, caption))
                    began = time.perf_counter()
                    result = minimize(problem, method=searcher, budget=budget, rng=seed)
                    seconds = time.perf_counter() - began
                    runs.append(Run.of(result, name, seed, budget, problem.optimum.f, seconds))
        rows = summarize(runs, methods)
        live.update(_table(rows, methods, heading, "done"))
    title = f"l2e: {' and '.join(methods)} on six BBOB functions"
    intro = (
        f"Official BBOB functions in {dimension} dimensions, instance 1, {budget} counted evaluations, "
        f"{seeds} seeds each. Medians of the gap to the optimum; the best in bold."
    )
    figures.convergence(runs, out / "demo.png", f"{title}, {dimension}-D, {seeds} seeds")
    page.write_page(out / "demo.html", title, intro, runs, rows, methods)
    console.print(f"picture: {out / 'demo.png'}\npage:    {out / 'demo.html'}")
    return rows


def _table(rows: list[Row], methods: list[str], heading: str, caption: str) -> Table:
    table = Table(title=heading, caption=caption)
    table.add_column("problem")
    for method in methods:
        table.add_column(method, justify="right")
        table.add_column("evaluations", justify="right")
    for row in rows:
        shown = [(Text(gap, style="bold" if best else ""), Text(nfev)) for gap, nfev, best in cells(row, methods)]
        table.add_row(row.problem, *itertools.chain(*shown))
    return table

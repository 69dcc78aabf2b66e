"""One self-contained HTML page: the tables, the curves, no network."""

import html
from pathlib import Path
from typing import Any

import numpy as np

from l2e._names import require
from l2e._version import __version__
from l2e.checkpoint import write_whole
from l2e.report.figures import COLORS
from l2e.report.records import GAP_FLOOR, Run, grid, median_curve
from l2e.report.summary import Row, cells

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.best { font-weight: 700; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
.charts > div { background: white; border-radius: .5rem; overflow: hidden; min-width: 0; }
footer { margin-top: 2rem; opacity: .7; font-size: .85rem; }
"""

FIT = """
window.addEventListener("load", () => document.querySelectorAll(".plotly-graph-div").forEach(Plotly.Plots.resize));
"""
"""A chart drawn before the grid has all its columns is too wide; once all are there, each is fitted to its cell."""


def write_page(path: Path, title: str, intro: str, runs: list[Run], rows: list[Row], methods: list[str]) -> None:
    """Write the page; it holds the charting code, so it opens anywhere, offline."""
    problems = list(dict.fromkeys(run.problem for run in runs))
    charts = [_chart([run for run in runs if run.problem == problem], problem, methods) for problem in problems]
    offline = require("plotly.offline", "report")
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{STYLE}</style>
<script>{offline.get_plotlyjs()}</script></head><body>
<h1>{html.escape(title)}</h1><p>{html.escape(intro)}</p>
<div class="scroll">{_table(rows, methods)}</div>
<h2>Best so far against evaluations</h2>
<p>Thin lines are single runs, thick ones medians. A gap below {GAP_FLOOR:g} counts as solved and is drawn there.</p>
<div class="charts">{"".join(charts)}</div>
<footer>l2e {__version__}</footer>
<script>{FIT}</script></body></html>"""
    write_whole(path, page.encode())


def _table(rows: list[Row], methods: list[str]) -> str:
    head = "".join(f"<th>{html.escape(method)}<br>median gap</th><th>evaluations</th>" for method in methods)
    body = "".join(f"<tr><td>{html.escape(row.problem)}</td>{_cells(row, methods)}</tr>" for row in rows)
    return f"<table><thead><tr><th>problem</th>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Row, methods: list[str]) -> str:
    marked = [(gap, nfev, ' class="best"' if best else "") for gap, nfev, best in cells(row, methods)]
    return "".join(f"<td{mark}>{gap}</td><td>{nfev}</td>" for gap, nfev, mark in marked)


def _chart(runs: list[Run], problem: str, methods: list[str]) -> str:
    graph = require("plotly.graph_objects", "report")
    figure = graph.Figure()
    evaluations = grid(max(run.budget for run in runs))
    for i, method in reversed(list(enumerate(methods))):  # the first method is drawn last, on top
        chosen = [run for run in runs if run.method == method]
        color = COLORS[i % len(COLORS)]
        for run in chosen:
            figure.add_scatter(
                **_line(evaluations, run.curve(evaluations)),
                line={"color": color, "width": 1, "shape": "hv"},
                opacity=0.3,
                showlegend=False,
                hoverinfo="skip",
            )
        figure.add_scatter(
            **_line(evaluations, median_curve(chosen, evaluations)),
            line={"color": color, "width": 3, "shape": "hv"},
            name=method,
        )
    figure.update_layout(
        title={"text": problem, "font": {"size": 14}},
        xaxis={"type": "log", "title": {"text": "evaluations"}},
        yaxis={"type": "log", "title": {"text": "f - f*"}, "exponentformat": "power"},
        legend={"orientation": "h", "y": -0.25, "traceorder": "reversed"},
        margin={"l": 60, "r": 15, "t": 40, "b": 40},
        height=330,
    )
    return figure.to_html(full_html=False, include_plotlyjs=False, config={"displayModeBar": False, "responsive": True})


def _line(evaluations: np.ndarray, gaps: np.ndarray) -> dict[str, Any]:
    finite = np.isfinite(gaps)
    shown = np.maximum(gaps[finite], GAP_FLOOR)
    return {"x": evaluations[finite].tolist(), "y": shown.tolist(), "mode": "lines"}

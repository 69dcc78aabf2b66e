"""The page of a report: tables, charts, filters; everything in one file, charting code included."""

import html
import json
import math
import re
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from l2e._version import __version__
from l2e.core.errors import require
from l2e.core.problem import GAP_FLOOR
from l2e.report import statistics
from l2e.report.collection import Results
from l2e.report.critical_difference import cliques
from l2e.report.standard_tables import median_matrix
from l2e.report.styles import looks
from l2e.report.tables import Cell, Line, Table, write_open
from l2e.report.targets import axis, reached


def write_page(results: Results, tables: list[Table], path: Path) -> None:
    """Write the page; it opens anywhere, offline."""
    offline = require("plotly.offline", "report")
    seeds = {run.seed for run in results.runs}
    dimensions = sorted({run.dimension for run in results.runs})
    intro = (
        f"{len(results.methods)} methods, {len(results.ordered)} problems, "
        f"{', '.join(f'{d}-D' for d in dimensions)}, {len(results.runs)} runs ({len(seeds)} seeds), "
        f"budget {' / '.join(sorted({str(run.budget) for run in results.runs}))} counted evaluations."
    )
    parts = {
        "TITLE": html.escape(results.title),
        "INTRO": html.escape(intro),
        "VERSION": __version__,
        "TABLES": "\n".join(_section(table) for table in tables),
        "STYLE": _asset("contest.css"),
        "DATA": json_in_html(page_data(results)),
        "PLOTLY": offline.get_plotlyjs(),
        "SCRIPT": _asset("contest.js"),
    }
    write_open(path, filled(_asset("contest.html"), parts))


def write_overview_page(contests: list[Results], table: Table, path: Path) -> None:
    """Write a page that links the pages of several contests."""
    links = "\n".join(
        f'<li><a href="{quote(results.name)}/index.html">{html.escape(results.title)}</a></li>' for results in contests
    )
    parts = {
        "TITLE": html.escape(contests[0].title.partition(": ")[0]),
        "LINKS": links,
        "TABLE": _section(table),
        "VERSION": __version__,
        "STYLE": _asset("contest.css"),
    }
    write_open(path, filled(_asset("contests.html"), parts))


def filled(template: str, parts: dict[str, str]) -> str:
    """A template with each `@@NAME@@` replaced, in one pass: what is filled in is never looked at again."""
    return re.sub("@@([A-Z]+)@@", lambda match: parts[match[1]], template)


def json_in_html(data: Any) -> str:
    """JSON that can stand in a script element: without `<`, which could end it, and in ASCII."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def page_data(results: Results) -> dict[str, Any]:
    """What the charts are drawn from."""
    shown = looks(results.methods)
    places = axis(results.runs)
    problems = []
    for name in results.ordered:
        first = results.problems[name]
        cells = {m: _cell_data(results, name, m, places) for m in results.methods if (name, m) in results.cells}
        problems.append({"name": name, "group": first.group, "dimension": first.dimension, "cells": cells})
    return {
        "methods": [{"name": m, "color": look.color, "dash": look.dash_name} for m, look in shown.items()],
        "groups": list(dict.fromkeys(run.group for run in results.runs)),
        "dimensions": sorted({run.dimension for run in results.runs}),
        "axis": _short(places),
        "problems": problems,
        "cpu": {m: _digits(np.median([r.seconds for r in results.runs if r.method == m])) for m in results.methods},
        "ranks": _rank_data(results),
    }


def _cell_data(results: Results, problem: str, method: str, places: np.ndarray) -> dict[str, Any]:
    runs = results.cells[problem, method]
    evaluations = np.maximum(places * runs[0].dimension, 1).round()
    curves = np.maximum([run.curve(evaluations) for run in runs], GAP_FLOOR)
    with np.errstate(invalid="ignore"):
        low, middle, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0, method="nearest")
    return {
        "low": _short(low),
        "mid": _short(middle),
        "high": _short(high),
        "ecdf": _short(reached(runs, places)),
        "final": _short(np.maximum([run.final for run in runs], GAP_FLOOR)),
        "keys": [run.key for run in runs],
        "failed": sum(run.error is not None for run in runs),
    }


def _rank_data(results: Results) -> dict[str, Any] | None:
    test = statistics.friedman(median_matrix(results)) if results.complete else None
    if test is None:
        return None
    return {
        "methods": list(results.complete),
        "ranks": _short(test.ranks),
        "cd": _digits(test.critical_difference),
        "cliques": cliques(test.ranks, test.critical_difference),
        "p": test.p,
    }


def _short(numbers: Any) -> list[float | None]:
    return [_digits(value) for value in np.asarray(numbers, dtype=float)]


def _digits(value: Any) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _section(table: Table) -> str:
    kinds = ' class="by-method"' if table.columns_are_methods else ""
    heads = "".join(f"<th{_method(head, table)}><button>{html.escape(head)}</button></th>" for head in table.heads)
    lines = "\n".join(_line(line, table) for line in table.lines)
    return (
        f'<section id="table-{table.name}"><h2>{html.escape(table.title)}</h2><p>{html.escape(table.note)}</p>'
        f'<div class="scroll"><table{kinds}><thead><tr><th><button>{html.escape(table.corner)}</button></th>'
        f"{heads}</tr></thead><tbody>\n{lines}\n</tbody></table></div></section>"
    )


def _line(line: Line, table: Table) -> str:
    facts = f' data-group="{html.escape(line.group)}"' if line.group else ""
    facts += f' data-method="{html.escape(line.method)}"' if line.method else ""
    facts += f' data-against="{html.escape(line.against)}"' if line.against else ""
    cells = "".join(_td(cell, head, table) for cell, head in zip(line.cells, table.heads, strict=True))
    return f"<tr{facts}><th>{html.escape(line.label)}</th>{cells}</tr>"


def _td(cell: Cell, head: str, table: Table) -> str:
    mark = f' class="{cell.mark}"' if cell.mark else ""
    value = "" if cell.value is None or not math.isfinite(cell.value) else f' data-value="{cell.value!r}"'
    return f"<td{mark}{value}{_method(head, table)}>{html.escape(cell.text)}</td>"


def _method(head: str, table: Table) -> str:
    return f' data-method="{html.escape(head)}"' if table.columns_are_methods else ""


def _asset(name: str) -> str:
    return resources.files("l2e.report").joinpath("assets", name).read_text()

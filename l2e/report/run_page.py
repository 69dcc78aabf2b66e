"""The page of one search, as `l2e watch --html` writes it: convergence, good points, failures. It reloads itself."""

import html
import math
from typing import Any

import numpy as np

from l2e.core.record import Evaluations
from l2e.report.run_record import best_so_far

WIDTH, HEIGHT, MARGIN = 720, 260, 76
"""Of a chart, in pixels."""

GOOD_POINTS = 40
"""Points among the parallel coordinates."""

DIFFERENT = 0.02
"""Points are different if a coordinate differs by more than this share of what was tried along it."""

FAILURES = 20
"""Of the last failures, so many are listed."""

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #767676; --line: #0072B2; --bad: #D55E00; --paper: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --soft: #9a9a9a; --line: #56B4E9; --paper: #16181c } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 760px;
  margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.3em } h2 { font-size: 1.05em; margin-top: 1.8em }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15em 1em } dt { color: var(--soft) } dd { margin: 0;
  overflow-wrap: anywhere }
svg { width: 100%; height: auto } svg text { font-size: 12px; fill: var(--soft) }
table { border-collapse: collapse; width: 100%; font-size: .9em } td, th { text-align: left; padding: .2em .6em .2em 0;
  border-bottom: 1px solid color-mix(in srgb, var(--soft) 35%, transparent); overflow-wrap: anywhere }
"""


def run_page(title: str, facts: dict[str, str], evaluations: Evaluations, refresh: float | None) -> str:
    """A page in one piece, without scripts.

    **Arguments:** `facts`: what is said above the charts; `refresh`: seconds until it loads itself again, None if the
    run is over.
    """
    again = "" if refresh is None else f'<meta http-equiv="refresh" content="{refresh:g}">'
    listed = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in facts.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{again}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>"
        f"<dl>{listed}</dl><h2>Best value so far</h2>{convergence(evaluations)}"
        f"<h2>The best points that differ, coordinate by coordinate</h2>{parallel_coordinates(evaluations)}"
        f"<h2>Failures</h2>{_failures(evaluations)}</body></html>\n"
    )


def convergence(evaluations: Evaluations) -> str:
    """The best value over evaluations as an SVG; failures are marked at its foot."""
    best = best_so_far(evaluations)
    first = int(np.argmax(np.isfinite(best))) if np.isfinite(best).any() else len(best)
    if first >= len(best):
        return "<p>No evaluation has given a value yet.</p>"
    shown, least = best[first:], float(best[-1])
    logarithmic = least > 0 and float(shown[0]) > 100 * least
    heights = np.log10(shown) if logarithmic else shown
    low, high = float(heights.min()), float(heights.max())
    count = max(len(best), 2)

    def x(n: float) -> float:
        return MARGIN + (WIDTH - MARGIN - 10) * n / (count - 1)

    def y(value: float) -> float:
        share = 0.5 if high == low else (high - value) / (high - low)
        return 12 + (HEIGHT - 46) * share

    steps = [first, *(first + 1 + np.flatnonzero(np.diff(shown) < 0)).tolist()]
    path = f"M{x(first):.1f},{y(heights[0]):.1f}" + "".join(
        f"H{x(n):.1f}V{y(heights[n - first]):.1f}" for n in steps[1:]
    )
    failed = np.flatnonzero(evaluations.status != "ok")[-2000:]
    marks = "".join(f"M{x(n):.1f},{HEIGHT - 30}v6" for n in failed)
    ticks = "".join(
        f'<text x="{MARGIN - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{_number(10**v if logarithmic else v)}</text>'
        for v in sorted({low, (low + high) / 2, high})
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="best value over evaluations">'
        f'<path d="{path}H{x(count - 1):.1f}" fill="none" stroke="var(--line)" stroke-width="2"/>'
        f'<path d="{marks or "M0,0"}" stroke="var(--bad)"/>{ticks}'
        f'<text x="{MARGIN}" y="{HEIGHT - 8}">1</text>'
        f'<text x="{WIDTH - 10}" y="{HEIGHT - 8}" text-anchor="end">{len(best)} evaluations</text></svg>'
    )


def parallel_coordinates(evaluations: Evaluations) -> str:
    """The best points as lines across the coordinates, better ones darker."""
    usable = np.flatnonzero(evaluations.usable)
    if not len(usable):
        return "<p>None yet.</p>"
    x, d = evaluations.x, evaluations.x.shape[1]
    low, high = x.min(axis=0), x.max(axis=0)
    places = (x - low) / np.where(high > low, high - low, 1)
    order = _different(usable[np.argsort(evaluations.f[usable], kind="stable")], places)[::-1]
    shares = places[order]
    across = MARGIN + (WIDTH - 2 * MARGIN) * (np.arange(d) / max(d - 1, 1))
    lines = []
    for rank, row in enumerate(shares):
        points = " ".join(f"{a:.1f},{12 + (HEIGHT - 60) * (1 - s):.1f}" for a, s in zip(across, row, strict=True))
        opacity = 0.12 + 0.88 * ((rank + 1) / len(shares)) ** 3
        lines.append(f'<polyline points="{points}" fill="none" stroke="var(--line)" stroke-opacity="{opacity:.2f}"/>')
    every = max(1, math.ceil(d / 12))
    names = "".join(
        f'<text x="{across[i]:.1f}" y="{HEIGHT - 28}" text-anchor="middle">x{i}</text>'
        f'<text x="{across[i]:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{_number(x[order[-1], i])}</text>'
        for i in range(0, d, every)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="the best points">{"".join(lines)}{names}</svg>'
        "<p>Better points are darker. Each axis spans what was tried; the numbers are the best point.</p>"
    )


def _different(ranked: np.ndarray, places: np.ndarray) -> list[int]:
    """The first of the ranked points that are different from each other."""
    chosen: list[int] = []
    for n in ranked.tolist():
        if not chosen or np.abs(places[chosen] - places[n]).max(axis=1).min() > DIFFERENT:
            chosen.append(n)
        if len(chosen) == GOOD_POINTS:
            break
    return chosen


def _failures(evaluations: Evaluations) -> str:
    failed = np.flatnonzero(evaluations.status != "ok")
    if not len(failed):
        return "<p>None.</p>"
    rows = "".join(
        f"<tr><td>{n + 1}</td><td>{html.escape(str(evaluations.status[n]))}</td>"
        f"<td>{html.escape(evaluations.reason[n])}</td></tr>"
        for n in failed[-FAILURES:][::-1]
    )
    head = "<tr><th>evaluation</th><th>what</th><th>why</th></tr>"
    return f"<p>{len(failed)} of {len(evaluations)}; the latest:</p><table>{head}{rows}</table>"


def _number(value: Any) -> str:
    return f"{float(value):.3g}"

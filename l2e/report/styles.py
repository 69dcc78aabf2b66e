"""How figures look: matplotlib without a screen, and the colour and dash by which a method is known."""

from typing import Any, NamedTuple

from l2e.core.errors import require

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""
DASHES = (("-", "solid"), ((0, (5, 2)), "dash"), ((0, (1, 1.2)), "dot"), ((0, (5, 1.5, 1, 1.5)), "dashdot"))
"""For matplotlib and for plotly."""


class Look(NamedTuple):
    """How a method is drawn."""

    color: str
    dash: object
    dash_name: str


def pyplot() -> Any:
    """Matplotlib's pyplot, drawing into files; an error names the extra that brings it."""
    matplotlib = require("matplotlib", "report")
    matplotlib.use("Agg")
    return require("matplotlib.pyplot", "report")


def label(name: str) -> str:
    """A name as matplotlib shows it letter by letter: without formulas, and not left out for a leading underscore."""
    shown = name.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def looks(methods: tuple[str, ...]) -> dict[str, Look]:
    """One look per method: all colours solid, then all dashed, and so on."""
    count = len(COLORS)
    return {
        method: Look(COLORS[place % count], *DASHES[place // count % len(DASHES)])
        for place, method in enumerate(methods)
    }

"""Colours and dashes by which a method is known in every figure of a report."""

from typing import NamedTuple

from l2e.report.figures import COLORS

DASHES = (("-", "solid"), ((0, (5, 2)), "dash"), ((0, (1, 1.2)), "dot"), ((0, (5, 1.5, 1, 1.5)), "dashdot"))
"""For matplotlib and for plotly."""


class Look(NamedTuple):
    """How a method is drawn."""

    color: str
    dash: object
    dash_name: str


def looks(methods: tuple[str, ...]) -> dict[str, Look]:
    """One look per method: all colours solid, then all dashed, and so on."""
    count = len(COLORS)
    return {
        method: Look(COLORS[place % count], *DASHES[place // count % len(DASHES)])
        for place, method in enumerate(methods)
    }

"""The units that a structure makes possible."""

from collections.abc import Generator

import numpy as np

from l2e.portfolio.large.axes import Eigenvectors, SomeAxes
from l2e.portfolio.large.descent import Descent
from l2e.portfolio.large.graph import Graph, bandwidth_order
from l2e.portfolio.large.grouping import LARGEST, Grouping, Structure
from l2e.portfolio.large.pattern import Pattern, overlapping
from l2e.portfolio.large.unit import Unit
from l2e.portfolio.large.windows import Windows
from l2e.portfolio.run import Run

GROUP_GRADIENTS = 12
"""Steps of L-BFGS on a group in one turn."""

GRAPH_FROM, GRAPH_MOST = 200, 60
"""Evaluations per dimension that must be left for a look at a sparse graph, and that it may take."""

Units = Generator[np.ndarray, np.ndarray, list[Unit]]


def units_of(run: Run, found: Structure) -> Units:
    """The units of all but the separable variables; a sparse graph is looked for where one is likely."""
    units: list[Unit] = []
    if len(found.rest) > LARGEST and not found.dense and run.has_left(GRAPH_FROM):
        units += yield from _windows(run, found.rest)
    if len(found.rest) > 1:
        units.append(SomeAxes(found.rest))
    newton = run.policy.has("newton")
    for group in found.groups:
        units.append(Eigenvectors(group))
        if newton:
            units.append(Descent(group, GROUP_GRADIENTS, "L-BFGS of a group"))
    if newton:
        units.extend(Pattern(*chain) for chain in overlapping(found.groups))
    return units


def _windows(run: Run, members: np.ndarray) -> Units:
    """A unit for variables that each interact with few others, if these do."""
    steps = Graph(Grouping(run.best_x, members)).edges(run, GRAPH_MOST * len(members))
    edges = yield from run.spend("graph", steps, lambda e: "not sparse" if e is None else f"{len(e)} edges")
    if edges is None or not len(edges):
        return []
    order = bandwidth_order(len(members), edges)
    return [Windows(members[order], np.argsort(order)[edges])]

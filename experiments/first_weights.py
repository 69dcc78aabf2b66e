"""GLEET and DEDQN with the weights their trainings began with, as methods of an experiment: `module:factory`."""

from typing import Any

from l2e.api import models
from l2e.core.traced.algorithm import AbstractAlgorithm


def _first(name: str, budget: int) -> AbstractAlgorithm[Any]:
    model: Any = models.untrained(name)
    return model.with_budget(budget)


def gleet(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """GLEET before its training, told the budget."""
    return _first("gleet", budget)


def dedqn(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """DEDQN before its training."""
    return _first("dedqn", budget)

"""GLEET and DEDQN with the weights their trainings began with, as methods of an experiment: `module:factory`."""

from typing import Any

from l2e import models
from l2e.optimizer import AbstractOptimizer


def _first(name: str, budget: int) -> AbstractOptimizer[Any]:
    model: Any = models.untrained(name)
    return model.with_budget(budget)


def gleet(dimension: int, budget: int) -> AbstractOptimizer[Any]:
    """GLEET before its training, told the budget."""
    return _first("gleet", budget)


def dedqn(dimension: int, budget: int) -> AbstractOptimizer[Any]:
    """DEDQN before its training."""
    return _first("dedqn", budget)

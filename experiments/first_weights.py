"""Learned methods with the weights their trainings began with, as methods of an experiment: `module:factory`."""

from typing import Any

from l2e.algorithms.learned.controlled import AbstractControlled
from l2e.api import models
from l2e.core.traced.algorithm import AbstractAlgorithm


def _first(name: str, budget: int) -> AbstractAlgorithm[Any]:
    model = models.untrained(name)
    return model.with_budget(budget) if isinstance(model, AbstractControlled) else model


def gleet(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """GLEET before its training, told the budget."""
    return _first("gleet", budget)


def dedqn(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """DEDQN before its training."""
    return _first("dedqn", budget)


def glhf(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """GLHF before its training."""
    return _first("glhf", budget)


def b2opt(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """B2OPT before its training, in 10 or 30 dimensions."""
    return _first(f"b2opt-{dimension}d", budget)


def l2e_base(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """L2E with the base operator before its training, in 10 or 30 dimensions."""
    return _first(f"l2e-base-{dimension}d", budget)


def l2e_mamba(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """L2E with the mamba operator before its training, in 10 or 30 dimensions."""
    return _first(f"l2e-mamba-{dimension}d", budget)

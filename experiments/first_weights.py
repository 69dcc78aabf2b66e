"""Learned methods with the weights their trainings began with, as methods of an experiment: `module:factory`."""

from typing import Any

from l2e.api import models
from l2e.core.traced.algorithm import AbstractAlgorithm


def gleet(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """GLEET before its training, told the budget."""
    return models.untrained("gleet", budget)


def dedqn(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """DEDQN before its training."""
    return models.untrained("dedqn", budget)


def glhf(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """GLHF before its training."""
    return models.untrained("glhf", budget)


def b2opt(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """B2OPT before its training, in 10 or 30 dimensions."""
    return models.untrained(f"b2opt-{dimension}d", budget)


def l2e_base(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """L2E with the base operator before its training, in 10 or 30 dimensions."""
    return models.untrained(f"l2e-base-{dimension}d", budget)


def l2e_mamba(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """L2E with the mamba operator before its training, in 10 or 30 dimensions."""
    return models.untrained(f"l2e-mamba-{dimension}d", budget)


def l2e_any(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """L2E with the covariance operator before its training, told the budget."""
    return models.untrained("l2e-any", budget)

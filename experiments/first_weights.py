"""Learned methods with the weights their trainings began with, as methods of an experiment: `module:factory`."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.l2e.operators.covariance import BY_RANK, FIRST, MIXING, SPREADING
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


def l2e_by_hand(dimension: int, budget: int) -> AbstractAlgorithm[Any]:
    """The covariance operator without a network: whole proposals only, three numbers set by hand."""
    solver: Any = models.untrained("l2e-any", budget)
    operator = solver.schedule.operator
    outputs = FIRST | {"towards": 2.0, "step": 0.5, "share": -20.0, "dither": -20.0}
    heads = np.zeros(operator.heads.shape, np.float32)
    heads[: len(outputs), -1] = list(outputs.values())
    rank = operator.hidden.shape[0]  # heads see the hidden layer first, then the tokens, of which this is the first
    heads[[MIXING, SPREADING], rank] = -BY_RANK
    return eqx.tree_at(lambda tree: tree.schedule.operator.heads, solver, jnp.asarray(heads))

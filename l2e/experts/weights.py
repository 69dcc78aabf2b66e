"""Trained weights of the default method's residual as a file: safetensors with a card, as all models are."""

import functools
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from l2e import checkpoint
from l2e.experts.residual import SIZE, Network

SHIPPED = Path(__file__).parent.parent / "weights" / "l2e.safetensors"
"""The weights that the default method uses."""

KIND = "portfolio"
"""What such a file calls its model."""


class ResidualWeights(eqx.Module):
    """All weights in one row."""

    weights: np.ndarray


def save_weights(path: str | os.PathLike[str], weights: np.ndarray, facts: dict[str, Any]) -> None:
    """Write weights and facts about them."""
    checkpoint.save_tree(path, ResidualWeights(np.asarray(weights, np.float64)), facts)


def load_network(path: str | os.PathLike[str]) -> Network:
    """Read weights.

    **Raises:** `CheckpointError` for a file that is damaged or holds something else.
    """
    return Network(checkpoint.load_tree(path, ResidualWeights(np.zeros(SIZE))).weights)


@functools.cache
def shipped_network() -> Network | None:
    """The network inside the package, if there is one."""
    return load_network(SHIPPED) if SHIPPED.is_file() else None

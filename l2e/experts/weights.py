"""Trained weights of the default method's gate and residual as files: safetensors with a card, as all models are."""

import functools
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from l2e import checkpoint
from l2e.experts.gate import FEATURES, Gate, GateWeights
from l2e.experts.residual import SIZE, Network

FOLDER = Path(__file__).parent.parent / "weights"
SHIPPED, SHIPPED_GATE = FOLDER / "l2e.safetensors", FOLDER / "l2e-gate.safetensors"
"""The residual's weights, and the gate's, inside the package."""

KIND, GATE_KIND = "portfolio", "gate"
"""What such files call their model."""


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


def save_gate(path: str | os.PathLike[str], weights: GateWeights, facts: dict[str, Any]) -> None:
    """Write weights of a gate and facts about them."""
    checkpoint.save_tree(path, GateWeights(*(np.asarray(part, np.float64) for part in weights)), facts)


def load_gate(path: str | os.PathLike[str]) -> Gate:
    """Read a gate.

    **Raises:** `CheckpointError` for a file that is damaged or holds something else.
    """
    training = checkpoint.load_facts(path).get("training")
    hidden = training.get("hidden") if isinstance(training, dict) else None
    if not isinstance(hidden, int) or hidden < 1:
        raise checkpoint.CheckpointError(f"{path} does not hold a gate")
    inner, bias = np.zeros((hidden, len(FEATURES))), np.zeros(hidden)
    like = GateWeights(inner, bias, bias, np.zeros(len(FEATURES)), np.zeros(()))
    return Gate(checkpoint.load_tree(path, like))


@functools.cache
def shipped_gate() -> Gate:
    """The gate inside the package."""
    return load_gate(SHIPPED_GATE)

"""Trained weights of the default method's gate as a file: safetensors with a card, as all models are."""

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np

from l2e.core.checkpoint import CheckpointError, load_arrays, load_metadata, save_arrays
from l2e.portfolio.gate import ACTIONS, FEATURES, Gate, GateWeights

SHIPPED_GATE = Path(__file__).parent.parent / "weights" / "l2e-gate.safetensors"
"""The gate's weights inside the package."""

GATE_KIND = "gate"
"""What such files call their model."""

LARGEST = 10_000
"""Hidden units of a gate; a header that claims more is not ours."""


def save_gate(path: str | os.PathLike[str], weights: GateWeights, metadata: dict[str, Any]) -> None:
    """Write the weights of a gate and its card."""
    save_arrays(path, _named(weights), GateWeights.__qualname__, metadata)


def load_gate(path: str | os.PathLike[str]) -> Gate:
    """Read a gate.

    **Raises:** `CheckpointError` for a file that is damaged or holds something else.
    """
    training = load_metadata(path).get("training")
    hidden = training.get("hidden") if isinstance(training, dict) else None
    if not isinstance(hidden, int) or not 1 <= hidden <= LARGEST:
        raise CheckpointError(f"{path} does not hold a gate")
    seen, said = len(FEATURES), len(ACTIONS)
    shapes = ((hidden, seen), (hidden,), (said, hidden), (said, seen), (said,))
    like = _named(GateWeights(*(np.zeros(shape) for shape in shapes)))
    arrays = load_arrays(path, like, GateWeights.__qualname__)
    try:
        return Gate(GateWeights(*(arrays[name] for name in like)))
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _named(weights: GateWeights) -> dict[str, np.ndarray]:
    return {f".{name}": np.asarray(part, np.float64) for name, part in weights._asdict().items()}


@functools.cache
def shipped_gate() -> GateWeights:
    """The gate's weights inside the package."""
    return load_gate(SHIPPED_GATE).weights

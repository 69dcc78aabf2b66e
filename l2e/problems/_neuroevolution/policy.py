"""The policy of the paper's neuroevolution: observations, some layers of 32 units with tanh, actions with tanh.

Its weights are one flat vector, layer by layer, matrix before offset. The arithmetic is the same in numpy and in JAX.
"""

import itertools
from collections.abc import Sequence
from typing import Any

UNITS = 32
"""Units of every hidden layer."""

MOST = 0.2
"""Every weight is between minus this and this."""


def layer_sizes(observations: int, actions: int, depth: int) -> tuple[int, ...]:
    """Units of all layers; `depth` hidden layers follow the first one."""
    return (observations, *[UNITS] * (depth + 1), actions)


def weight_count(sizes: Sequence[int]) -> int:
    """How many weights a policy has."""
    return sum((inputs + 1) * outputs for inputs, outputs in itertools.pairwise(sizes))


def unpacked(weights: Any, sizes: Sequence[int]) -> list[tuple[Any, Any]]:
    """The matrix and the offset of every layer, from the flat vector."""
    layers, place = [], 0
    for inputs, outputs in itertools.pairwise(sizes):
        matrix = weights[place : place + inputs * outputs].reshape(inputs, outputs)
        place += inputs * outputs
        layers.append((matrix, weights[place : place + outputs]))
        place += outputs
    return layers


def act(layers: list[tuple[Any, Any]], observation: Any, tanh: Any) -> Any:
    """The actions, each between -1 and 1."""
    for matrix, offset in layers:
        observation = tanh(observation @ matrix + offset)
    return observation

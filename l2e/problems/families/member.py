"""What all families share: members drawn from a seed, values for a batch of points."""

from collections.abc import Callable, Sequence

import numpy as np

from l2e.core.box import box
from l2e.core.problem import HostFunction


def drawn(family: int, seed: int) -> np.random.Generator:
    """The random numbers of one member; families have numbers, so that equal seeds differ between them."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"the seed of a member must be a whole number from 0, got {seed!r}")
    return np.random.default_rng([family, int(seed)])


def member(function: Callable[[np.ndarray], np.ndarray], bounds: Sequence[tuple[float, float]]) -> HostFunction:
    """A function of a batch (n, d) as a problem."""
    return HostFunction(function, box(list(bounds)), vectorized=True)

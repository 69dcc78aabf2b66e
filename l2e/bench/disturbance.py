"""What an experiment puts between a problem and the methods: noise, rounding, a random start.

The methods are told disturbed values, the record holds the true ones: a score is that of the points a method has
evaluated, not of the luck of their values.
"""

import dataclasses
import zlib
from typing import Literal

import numpy as np

from l2e.core.box import Box
from l2e.core.settings import Count, Index, Positive


@dataclasses.dataclass(frozen=True)
class Disturbance:
    """How what a method is told differs from the problem; noise comes before rounding.

    **Fields:**

    - `noise`: the gap is multiplied by exp(noise N(0, 1)), anew at each evaluation, as COCO's noisy suite does with
      Gaussian noise (Hansen, Finck, Ros and Auger, INRIA RR-6869, 2009). 0.01 is one per cent.
    - `digits`: the gap is rounded to that many significant digits, which makes steps at every scale.
    - `decimals`: the value is rounded to that many places after the point: a plateau around the optimum.
    - `start`: "random": every method is given the same uniformly random point of the box to begin at, another one for
      each problem and seed; otherwise a method begins where it likes to.

    The gap is f - f*, so that the offset of a function does not decide how much is disturbed.
    """

    noise: Positive | None = None
    digits: Count | None = None
    decimals: Index | None = None
    start: Literal["random"] | None = None

    def __post_init__(self) -> None:
        if all(value is None for value in dataclasses.astuple(self)):
            names = ", ".join(field.name for field in dataclasses.fields(self))
            raise ValueError(f"give at least one of {names}")

    def told(self, values: np.ndarray, optimum: float | None, random: np.random.Generator) -> np.ndarray:
        """What a method is told of true values, in the order of evaluation; those that are not finite stay.

        **Arguments:** `optimum`: f*, needed for noise and digits; `random`: gives each evaluation one number, so that
        what is told does not depend on how evaluations are put into batches.
        """
        if self.needs_optimum:
            assert optimum is not None
            gaps = np.maximum(values - optimum, 0.0)
            if self.noise is not None:
                gaps = gaps * np.exp(self.noise * random.standard_normal(gaps.shape))
            if self.digits is not None:
                gaps = _significant(gaps, self.digits)
            values = np.where(np.isfinite(values), optimum + gaps, values)
        return values if self.decimals is None else np.round(values, self.decimals)

    @property
    def needs_optimum(self) -> bool:
        """Whether it is about gaps."""
        return self.noise is not None or self.digits is not None

    def begin(self, space: Box, problem: str, seed: int) -> np.ndarray | None:
        """Where all methods begin on this problem with this seed, or None: where they like to."""
        if self.start is None:
            return None
        return generator(problem, seed, 1).uniform(np.asarray(space.lower), np.asarray(space.upper))

    @property
    def text(self) -> str:
        """As people read it, say "noise 0.01"."""
        return ", ".join(f"{name} {value}" for name, value in dataclasses.asdict(self).items() if value is not None)


def generator(problem: str, seed: int, stream: int) -> np.random.Generator:
    """Random numbers of a problem and seed, the same for all methods; 0 is the noise, 1 the start."""
    return np.random.default_rng([seed, zlib.crc32(problem.encode()), stream])


def _significant(gaps: np.ndarray, digits: int) -> np.ndarray:
    """Rounded to significant digits; zeros, infinities and NaN stay."""
    usable = np.isfinite(gaps) & (gaps > 0)
    safe = np.where(usable, gaps, 1.0)
    unit = 10.0 ** (np.floor(np.log10(safe)) - digits + 1)
    return np.where(usable, np.round(safe / unit) * unit, gaps)

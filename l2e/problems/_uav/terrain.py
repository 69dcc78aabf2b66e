"""Terrains with threats: what a drone flies over and around.

The 56 terrains are drawn from a seed by spectral synthesis: noise with a power law for its spectrum is fractal relief,
and a second, smooth field makes it rugged in some places and gentle in others. Sizes, heights, and number, size and
whereabouts of the threats are like those of the benchmark of Shehadeh and Kudela (2025), arXiv:2501.14503, whose own
terrains are a file that users may have (see `official`).
"""

import functools
from typing import Any, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.problems._bbob.suite import check_integer

SIZE = 900
"""Length of a map; x and y go from 1 to this, and there is a height for every whole x and y."""

COUNT = 56
"""Terrains of the suite."""

THREATS = (15, 30)
"""Threats on the terrains with odd and with even numbers."""

ALTITUDES = (100.0, 200.0)
"""Lowest and highest altitude of a way-point above the ground."""

DRONE = 1.0
"""Radius of the drone: nearer than this to a threat is a collision."""

DANGER = 10.0
"""Width of the ring around a threat in which flying is possible, but costs."""

_PADDED = 1024
_HURST = (1.1, 1.35)
_LEVEL = (0.0, 350.0)
_RELIEF = (70.0, 300.0)
_BROAD = 250.0
_CONTRAST = 0.5


Numbers: TypeAlias = Array | np.ndarray
"""Of JAX or of numpy."""


class Terrain(eqx.Module):
    """A map, the threats on it, and where to fly from and to.

    **Fields:**

    - `heights`: of the ground above sea level, `heights[y - 1, x - 1]`.
    - `threats`: cylinders that reach to the sky, one row (x, y, radius) each; rows of radius -inf are no threats.
    - `start`, `end`: (x, y, altitude above the ground).
    - `lower`, `upper`: the corners between which (x, y, altitude) of way-points are.
    """

    heights: Float[Numbers, "rows columns"]
    threats: Float[Numbers, "t 3"]
    start: Float[Numbers, "3"]
    end: Float[Numbers, "3"]
    lower: Float[Numbers, "3"]
    upper: Float[Numbers, "3"]

    def of_type(self, dtype: Any) -> "Terrain":
        """The same terrain in JAX with numbers of this type; the many heights stay as they are until they are used."""
        others = (jnp.asarray(part, dtype) for part in (self.threats, self.start, self.end, self.lower, self.upper))
        return Terrain(jnp.asarray(self.heights), *others)

    @property
    def real_threats(self) -> Float[np.ndarray, "t 3"]:
        """The threats without the rows that only fill up the array."""
        threats = np.asarray(self.threats)
        return threats[np.isfinite(threats[:, 2])]


def check_terrain(number: int) -> int:
    """The number of a terrain, or an error that says what is allowed."""
    number = check_integer("terrain", number, 1)
    if number > COUNT:
        raise ValueError(f"terrain must be between 1 and {COUNT}, got {number}")
    return number


def draw_terrain(number: int, seed: int = 0) -> Terrain:
    """Draw a terrain; those drawn last are kept in memory.

    **Arguments:** `number`: 1 to 56; `seed`: 0 for the suite, others for 56 further terrains each.
    """
    return _drawn(number, seed)


@functools.lru_cache(maxsize=COUNT)
def _drawn(number: int, seed: int) -> Terrain:
    random = np.random.default_rng([seed, number])
    heights = _relief(random)
    threats = _threats(THREATS[(number - 1) % 2], random)
    altitude = sum(ALTITUDES) / 2
    while True:
        start = np.append(np.round((0.02 + 0.17 * random.random(2)) * SIZE), altitude)
        end = np.append(np.round((0.98 - 0.17 * random.random(2)) * SIZE), altitude)
        if _is_clear(start, threats) and _is_clear(end, threats):
            return assemble(heights, threats, start, end)
        threats = _threats(len(threats), random)


def assemble(heights: np.ndarray, threats: np.ndarray, start: np.ndarray, end: np.ndarray) -> Terrain:
    """A terrain whose way-points may be everywhere on the map, with the threats filled up to the largest number."""
    filled = np.full((max(THREATS[-1], len(threats)), 3), -np.inf)
    filled[:, :2] = 0
    filled[: len(threats)] = threats
    lower, upper = np.array([1, 1, ALTITUDES[0]]), np.array([SIZE, SIZE, ALTITUDES[1]])
    return Terrain(heights.astype(np.float32), filled, start, end, lower, upper)


def _relief(random: np.random.Generator) -> Float[np.ndarray, "900 900"]:
    """Heights: broad hills, and detail that is strong in rugged country and faint elsewhere."""
    level, hurst = random.uniform(*_LEVEL), random.uniform(*_HURST)
    relief = np.exp(random.uniform(*np.log(_RELIEF)))
    waves = np.hypot(np.fft.fftfreq(_PADDED)[:, None], np.fft.rfftfreq(_PADDED))
    waves[0, 0] = np.inf  # no constant part
    noise = np.fft.rfft2(random.standard_normal((_PADDED, _PADDED)))
    fractal = noise * waves ** -(hurst + 1)
    broad = np.exp(-((waves * _BROAD) ** 2))
    broad[0, 0] = 0
    ruggedness = np.fft.rfft2(random.standard_normal((_PADDED, _PADDED))) * broad
    rugged = np.exp(_CONTRAST * _standard(_field(ruggedness)))
    hills, detail = _field(fractal * broad), _field(fractal * (1 - broad))
    return level + relief * _standard(hills + rugged * detail)


def _field(spectrum: np.ndarray) -> np.ndarray:
    """The map of a spectrum; a map smaller than the period of the waves does not repeat itself."""
    return np.fft.irfft2(spectrum, s=(_PADDED, _PADDED))[:SIZE, :SIZE]


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def _threats(count: int, random: np.random.Generator) -> Float[np.ndarray, "t 3"]:
    """Threats at random; none reaches the last tenth of the map in x, as on the benchmark's own maps."""
    radius = np.round(60 + 30 * random.random(count))
    x = np.round(radius + 0.7 * SIZE * random.random(count))
    y = np.round(radius + 0.9 * SIZE * random.random(count))
    return np.stack([x, y, radius], axis=1)


def _is_clear(point: np.ndarray, threats: np.ndarray) -> bool:
    """Whether a point is outside all threats and the rings around them."""
    distance = np.hypot(threats[:, 0] - point[0], threats[:, 1] - point[1])
    return bool(np.all(distance > threats[:, 2] + DRONE + DANGER))

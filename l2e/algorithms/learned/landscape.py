"""What a population tells of the landscape it lies in, without further evaluations: four numbers.

The walk that such analyses need is the population itself, ordered by distance from its best member.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from l2e.core.traced.types import Points, Scalar, Values

FEATURES = 4
SCALES = 8
CLASSES = 6


def landscape(points: Points, values: Values) -> Float[Array, "features"]:
    """Fitness-distance correlation, ruggedness, autocorrelation and the share of descents away from the best.

    **Arguments:** `values`: finite or `+inf`; failed ones count as the worst of the others.
    """
    values = _ranked_scale(values)
    best = jnp.argmin(values)
    distances = jnp.sqrt(jnp.sum((points - points[best]) ** 2, axis=1))
    walk = values[jnp.argsort(distances)]
    descents = jnp.mean((walk[1:] < walk[:-1]).astype(values.dtype))
    return jnp.stack([_correlation(values, distances), ruggedness(walk), _correlation(walk[1:], walk[:-1]), descents])


def ruggedness(walk: Values) -> Scalar:
    """The largest entropy of changes along a walk, over nine scales at which steps count as flat.

    V. K. Vassilev, T. C. Fogarty, J. F. Miller, "Information characteristics and the structure of landscapes",
    Evolutionary Computation 8 (2000) 31-60. A step is down, flat or up; pairs of unlike neighbours have six classes,
    and the entropy of their frequencies is taken to base six. Flat is what is within a power of two of the largest
    step, or exactly flat.
    """
    steps = walk[1:] - walk[:-1]
    largest = jnp.max(jnp.abs(steps))
    scales = jnp.append(largest / 2.0 ** jnp.arange(SCALES, dtype=walk.dtype), 0)
    symbols = (steps[None, :] > scales[:, None]).astype(jnp.int32) - (steps[None, :] < -scales[:, None])
    frequencies = _class_frequencies(symbols)
    terms = jnp.where(frequencies > 0, frequencies * jnp.log(jnp.where(frequencies > 0, frequencies, 1)), 0)
    return jnp.max(-jnp.sum(terms, axis=1)) / jnp.log(jnp.asarray(CLASSES, walk.dtype))


def _class_frequencies(symbols: Int[Array, "scales steps"]) -> Float[Array, "scales classes"]:
    """How often each ordered pair of unlike neighbours occurs, as a share of all pairs."""
    code = 3 * symbols[:, :-1] + symbols[:, 1:]  # -4 ... 4; like pairs are -4, 0 and 4
    unlike = jnp.asarray([-3, -2, -1, 1, 2, 3], jnp.int32)
    return jnp.mean((code[:, :, None] == unlike).astype(jnp.float32), axis=1)


def _correlation(first: Values, second: Values) -> Scalar:
    """Pearson's correlation, 0 where one of the two does not vary."""
    a, b = first - jnp.mean(first), second - jnp.mean(second)
    product = jnp.sqrt(jnp.sum(a * a) * jnp.sum(b * b))
    return jnp.where(product > 0, jnp.sum(a * b) / jnp.where(product > 0, product, 1), 0)


def _ranked_scale(values: Values) -> Values:
    """Values between 0 for the best and 1 for the worst finite one; failed ones are 1."""
    finite = jnp.isfinite(values)
    least = jnp.min(jnp.where(finite, values, jnp.inf))
    width = jnp.max(jnp.where(finite, values, -jnp.inf)) - least
    usable = jnp.isfinite(width) & (width > 0)
    scaled = (values - jnp.where(usable, least, 0)) / jnp.where(usable, width, 1)
    return jnp.where(usable, jnp.where(finite, scaled, 1), jnp.where(finite, 0.0, 1.0).astype(values.dtype))

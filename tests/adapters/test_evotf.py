"""EvoTF with kept encodings is evosax's EvoTF, also when its context of 100 generations slides."""

import jax
import jax.numpy as jnp
import numpy as np

from l2e.adapters.evotf import with_kept_encodings
from l2e.adapters.unit_cube import quiet
from l2e.core.errors import require
from l2e.core.traced import runtime

GENERATIONS = 110


def path(algorithm) -> np.ndarray:
    """Mean and standard deviations of each generation on a sphere."""
    params = algorithm.default_params
    state = algorithm.init(jax.random.key(0), jnp.ones(3), params)
    seen = []
    for key in jax.random.split(jax.random.key(1), GENERATIONS):
        points, state = algorithm.ask(key, state, params)
        state, _ = algorithm.tell(key, points, jnp.sum(points**2, axis=1), state, params)
        seen.append(np.concatenate([state.mean, state.std]))
    return np.array(seen)


def test_kept_encodings_change_nothing() -> None:
    with quiet("evosax", "flax", "jax"), runtime.float64():
        make = require("evosax.algorithms", "bench").EvoTF_ES
        plain, kept = path(make(6, jnp.zeros(3))), path(with_kept_encodings(make(6, jnp.zeros(3))))
    np.testing.assert_allclose(kept[0], plain[0], rtol=1e-6)
    np.testing.assert_allclose(
        kept, plain, rtol=1e-3, atol=1e-6
    )  # weights in float32, 110 steps that feed on each other
    assert np.abs(plain[-1, :3]).max() < 0.1 < np.abs(plain[0, :3]).max()

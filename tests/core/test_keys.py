"""Seeds mean the same with and without JAX."""

import jax
import numpy as np
import pytest

from l2e.core.keys import as_key, draw_bits, fold_in
from l2e.core.traced import runtime


@pytest.mark.parametrize("seed", [0, 1, 7, 123456789, 2**32 + 5, 2**63 - 1])
def test_keys_are_those_of_jax(seed) -> None:
    with runtime.float64():
        key = jax.random.key(seed, impl="threefry2x32")
        np.testing.assert_array_equal(as_key(seed), jax.random.key_data(key))
        assert draw_bits(as_key(seed)) == int(jax.random.bits(key, dtype=np.uint32))
        np.testing.assert_array_equal(fold_in(as_key(seed), 31), jax.random.key_data(jax.random.fold_in(key, 31)))


def test_whatever_people_call_a_seed_is_taken() -> None:
    np.testing.assert_array_equal(as_key(jax.random.key(5)), as_key(5))
    np.testing.assert_array_equal(as_key(jax.random.PRNGKey(5)), as_key(5))
    np.testing.assert_array_equal(as_key(as_key(5)), as_key(5))
    np.testing.assert_array_equal(as_key(np.random.default_rng(1)), as_key(np.random.default_rng(1)))
    assert as_key(jax.random.key(5, impl="rbg")).shape == (2,)
    assert not np.array_equal(as_key(None), as_key(None))


@pytest.mark.parametrize("rng", [-1, 2**63, True, 1.5, "seed", jax.random.split(jax.random.key(0)), np.zeros(3)])
def test_what_is_no_seed_is_refused(rng) -> None:
    with pytest.raises((TypeError, ValueError), match="rng must be"):
        as_key(rng)

import jax
import numpy as np
import pytest

from l2e.algorithms.normal import normal
from l2e.core.traced import runtime
from l2e.core.traced.keys import IMPLEMENTATION


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 7, 1000])
def test_equals_jax_bit_for_bit(count, dtype):
    with runtime.float64():
        key = jax.random.key(3, impl=IMPLEMENTATION)
        ours = jax.jit(normal, static_argnums=(1, 2))(key, count, dtype)
        theirs = jax.jit(lambda k: jax.random.normal(k, (count,), dtype))(key)
        np.testing.assert_array_equal(ours, theirs)

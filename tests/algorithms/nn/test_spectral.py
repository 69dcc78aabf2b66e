import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.nn import SpectralLinear, as_dtype, spectral_bound
from l2e.core.traced import runtime


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (5, 5), (32, 32), (64, 32), (32, 22)])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_bound_is_above_the_norm_within_its_factor(shape, scale) -> None:
    with runtime.float64():
        weight = scale * jax.random.normal(jax.random.key(0), shape, jnp.float64)
        ratio = float(spectral_bound(weight)) / np.linalg.norm(weight, 2)
    assert 1 - 1e-12 <= ratio <= min(shape) ** (1 / 64) + 1e-12


def test_bound_of_an_orthogonal_matrix_is_the_worst_case() -> None:
    with runtime.float64():
        assert float(spectral_bound(jnp.eye(32))) == pytest.approx(32 ** (1 / 64), rel=1e-12)


@pytest.mark.parametrize("coefficient", [0.3, 1.0, 5.0])
def test_weight_has_at_most_the_norm_asked_for(coefficient) -> None:
    layer = SpectralLinear(12, 9, coefficient=coefficient, gain=50.0, key=jax.random.key(1))
    norm = np.linalg.norm(layer.bounded, 2)
    assert 0.93 * coefficient <= norm <= coefficient * (1 + 1e-5)


def test_small_weights_are_used_as_they_are() -> None:
    layer = SpectralLinear(12, 9, gain=0.1, key=jax.random.key(1))
    np.testing.assert_array_equal(layer.bounded, layer.weight)
    assert np.all(SpectralLinear(4, 3, gain=0.0, key=jax.random.key(1)).bounded == 0)


def test_bias_is_there_unless_refused() -> None:
    key = jax.random.key(0)
    assert SpectralLinear(3, 2, key=key).bias is not None
    layer = SpectralLinear(3, 2, use_bias=False, key=key)
    assert layer.bias is None
    np.testing.assert_array_equal(layer(jnp.zeros((4, 3))), np.zeros((4, 2)))


def test_derivative_equals_central_differences() -> None:
    with runtime.float64():
        weight = jax.random.normal(jax.random.key(2), (6, 4), jnp.float64)
        direction = jax.random.normal(jax.random.key(3), (6, 4), jnp.float64)
        exact = jnp.vdot(jax.grad(spectral_bound)(weight), direction)
        h = 1e-6
        central = (spectral_bound(weight + h * direction) - spectral_bound(weight - h * direction)) / (2 * h)
    assert float(exact) == pytest.approx(float(central), rel=1e-7)


def test_zero_weight_has_a_finite_derivative() -> None:
    assert np.isfinite(jax.grad(lambda w: jnp.sum(spectral_bound(w) * w))(jnp.zeros((3, 3)))).all()


def test_as_dtype_changes_floats_only() -> None:
    with runtime.float64():
        tree = {"weight": jnp.ones(2, jnp.float64), "count": jnp.ones(2, jnp.int32)}
        cast = as_dtype(tree, jnp.float32)
    assert cast["weight"].dtype == jnp.float32
    assert cast["count"].dtype == jnp.int32


@pytest.mark.parametrize("gain", [0.01, 1.0, 30.0])
def test_division_makes_every_norm_the_coefficient(gain) -> None:
    divided = SpectralLinear(6, 4, coefficient=0.7, gain=gain, spectral="divided", key=jax.random.key(0))
    assert 0.7 / 4 ** (1 / 64) - 1e-6 <= np.linalg.norm(divided.bounded, 2) <= 0.7 + 1e-6
    free = SpectralLinear(6, 4, gain=gain, spectral="none", key=jax.random.key(0))
    np.testing.assert_array_equal(free.bounded, free.weight)
    np.testing.assert_array_equal(free.weight, divided.weight)


def test_zeros_are_not_divided() -> None:
    zeros = SpectralLinear(6, 4, gain=0.0, spectral="divided", key=jax.random.key(0))
    np.testing.assert_array_equal(zeros.bounded, np.zeros((4, 6)))

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.problems.landscapes import FAMILIES, draw_landscape


def drawn(family, dimension=4, count=12):
    return [draw_landscape(np.random.default_rng((seed, 7)), family, dimension) for seed in range(count)]


@pytest.mark.parametrize("family", FAMILIES)
def test_minimum_is_where_and_what_it_is_said_to_be(family):
    rng = np.random.default_rng(0)
    for landscape in drawn(family):
        x_opt, f_opt = landscape.optimum
        assert np.all(np.abs(x_opt) <= 5)
        assert landscape.values(np, x_opt[None])[0] == pytest.approx(f_opt, abs=1e-12)
        far = rng.uniform(-5, 5, (400, 4))
        near = np.clip(x_opt + 10.0 ** rng.uniform(-6, 0, (400, 1)) * rng.standard_normal((400, 4)), -5, 5)
        values = landscape.values(np, np.concatenate([far, near]))
        assert np.isfinite(values).all()
        assert values.min() >= f_opt
        assert np.median(values[:400]) > f_opt + 0.3


@pytest.mark.parametrize("family", FAMILIES)
def test_numpy_and_jax_agree(family):
    points = np.random.default_rng(1).uniform(-5, 5, (30, 4))
    for landscape in drawn(family, count=2):
        with jax.enable_x64(True):
            ours = np.asarray(jax.jit(lambda x, item=landscape: item.evaluate(x))(jnp.asarray(points)))
        gap = landscape.values(np, points) - landscape.optimum.f
        size = 0.2 if family == "noise" else 1e-9  # noise oscillates within the last digits of a point
        np.testing.assert_allclose(ours - landscape.optimum.f, gap, rtol=size, atol=1e-9)


def test_is_a_problem_that_can_be_minimised_and_differentiated():
    landscape = draw_landscape(np.random.default_rng(3), "bowl", 3)
    result = l2e.minimize(landscape, budget=300, rng=0)
    assert result.fun - landscape.optimum.f < 1e-6
    gradient = jax.grad(lambda x: landscape.evaluate(x[None])[0])(jnp.asarray(landscape.x_opt, jnp.float32))
    assert np.isfinite(np.asarray(gradient)).all()


def test_same_seed_same_landscape_and_scales_differ():
    points = np.random.default_rng(0).uniform(-5, 5, (50, 4))
    first, again = (draw_landscape(np.random.default_rng(9), "blend", 4).values(np, points) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    sizes = [np.median(item.values(np, points)) - item.optimum.f for item in drawn("waves", count=30)]
    assert max(sizes) > 100 * min(sizes)


def test_plateaus_are_flat_and_noise_is_rough():
    rng = np.random.default_rng(0)
    for landscape in drawn("plateaus", count=5):
        x = landscape.x_opt + 1e-9 * rng.standard_normal((20, 4))
        assert len(np.unique(landscape.values(np, np.clip(x, -5, 5)))) == 1
    for landscape in drawn("noise", count=5):
        x = rng.uniform(-4, 4, 4) + 1e-4 * rng.standard_normal((200, 4))
        gaps = landscape.values(np, x) - landscape.optimum.f
        assert 1e-4 < gaps.std() / gaps.mean() < 0.1


def test_unknown_family_is_an_error_that_names_the_known():
    with pytest.raises(ValueError, match="bowl"):
        draw_landscape(np.random.default_rng(0), "bowls", 3)

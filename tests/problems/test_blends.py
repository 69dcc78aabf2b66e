import jax
import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.problems.blends import BLENDS, SCALES, draw_blend

D = 5


def drawn(family, dimension=D, count=12, **options):
    return [draw_blend(np.random.default_rng((seed, 3)), family, dimension, **options) for seed in range(count)]


@pytest.mark.parametrize("family", BLENDS)
@pytest.mark.parametrize("dimension", [1, 2, D])
def test_minimum_is_where_and_what_it_is_said_to_be(family, dimension):
    rng = np.random.default_rng(0)
    for blend in drawn(family, dimension):
        x_opt, f_opt = blend.optimum
        assert blend.values(np, x_opt[None])[0] == pytest.approx(f_opt, abs=1e-9)
        far = rng.uniform(-5, 5, (400, dimension))
        steps = 10.0 ** rng.uniform(-6, 0, (400, 1)) * rng.standard_normal((400, dimension))
        values = blend.values(np, np.concatenate([far, np.clip(x_opt + steps, -5, 5)]))
        assert np.isfinite(values).all()
        assert values.min() >= f_opt
        assert np.median(values[:400]) > f_opt + 0.1


@pytest.mark.parametrize("family", BLENDS)
def test_numpy_and_jax_agree(family):
    points = np.random.default_rng(1).uniform(-5, 5, (30, D))
    for blend in drawn(family, count=2):
        with jax.enable_x64(True):
            ours = np.asarray(jax.jit(lambda x, item=blend: item.evaluate(x))(jnp.asarray(points)))
        np.testing.assert_allclose(ours, blend.values(np, points), rtol=1e-9)


def test_each_kind_is_what_its_name_says():
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, (200, D))
    for blend in drawn("product"):
        assert 2 <= len(blend.pieces) <= 4
    for blend in drawn("rippled"):
        assert len(blend.pieces) == 1
        calm = blend.pieces[0].value(np, x - blend.x_opt)
        waves = (blend.values(np, x) - blend.f_opt) / blend.size / calm
        most = 1 + 2 * float(blend.ripples.height) * sum(float(blend.ripples.fading) ** j for j in range(SCALES))
        assert waves.min() >= 1 - 1e-9
        assert 1 < waves.max() <= most + 1e-9
    for blend in drawn("groups"):
        assert sorted(i for piece in blend.pieces for i in piece.where) == list(range(D))
        a, b = x[0].copy(), x[0].copy()
        (first, second), away = [piece.where[0] for piece in blend.pieces[:2]], x[1]
        a[first], b[second] = away[first], away[second]
        both = a.copy()
        both[second] = away[second]
        f, fa, fb, fab = blend.values(np, np.stack([x[0], a, b, both]))
        assert abs(fab - fa - fb + f) < 1e-9 * np.abs([f, fa, fb, fab]).max()
    for blend in drawn("terraces"):
        near = x[:1] + 1e-9 * rng.standard_normal((50, D))
        assert len(np.unique(blend.values(np, near))) <= 2


def test_shapes_can_be_chosen_and_the_same_seed_gives_the_same_blend():
    for blend in drawn("product", shapes=("bowl", "soft", "valley", "ridge")):
        assert {piece.shape for piece in blend.pieces} <= {"bowl", "soft", "valley", "ridge"}
    x = np.random.default_rng(0).uniform(-5, 5, (20, D))
    first, again = (draw_blend(np.random.default_rng(9), "product", D).values(np, x) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_blend_can_be_minimised_and_an_unknown_kind_is_an_error():
    blend = draw_blend(np.random.default_rng(4), "groups", 3, ("bowl", "soft"))
    assert l2e.minimize(blend, budget=600, rng=0).fun - blend.optimum.f < 1e-3
    with pytest.raises(ValueError, match="did you mean product"):
        draw_blend(np.random.default_rng(0), "products", 3)

"""Boxes: what is accepted, what is refused and how, and that nothing leaves one."""

import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings

from l2e.algorithms.cmaes.fold import fold, unfold
from l2e.algorithms.population import reflect
from l2e.core.box import Box, box
from l2e.core.traced import runtime

finite = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(1, 0)], "lower end must be below"),
        ([(0, 1), (2, 2)], r"bounds\[1\]"),
        ([(0, np.inf)], "finite"),
        ([(np.nan, 1)], "finite"),
        ([(-1e308, 1e308)], "overflows"),
        ([], "shape"),
        ([1, 2], "shape"),
        ([(1, 2, 3)], "shape"),
        ([("a", "b")], "numbers"),
        (None, "shape"),
    ],
)
def test_bad_bounds_say_what_is_wrong(bounds, message) -> None:
    with pytest.raises(ValueError, match=message):
        box(bounds)


@pytest.mark.parametrize(
    "bounds",
    [
        [(-1, 2), (3, 4)],
        np.array([[-1.0, 2.0], [3.0, 4.0]]),
        scipy.optimize.Bounds([-1, 3], [2, 4]),
        Box(np.array([-1.0, 3.0]), np.array([2.0, 4.0])),
    ],
)
def test_every_way_to_write_bounds(bounds) -> None:
    space = box(bounds)
    np.testing.assert_array_equal(space.lower, [-1, 3])
    np.testing.assert_array_equal(space.upper, [2, 4])
    assert space.dimension == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(finite, st.floats(1e-6, 1e12)), min_size=1, max_size=4), st.lists(st.floats(0, 1), max_size=9)
)
def test_points_never_leave_the_box(pairs, places) -> None:
    bounds = [(low, low + width) for low, width in pairs if low < low + width]
    if not bounds:
        return
    space = box(bounds)
    unit = np.array([[0.0], [1.0], *([place] for place in places)]) * np.ones(space.dimension)
    with runtime.float64():
        traced = np.asarray(space.from_unit(jnp.asarray(unit)))
    for batch in (space.from_unit(unit), traced):
        assert (batch >= space.lower).all()
        assert (batch <= space.upper).all()


@settings(max_examples=200, deadline=None)
@given(st.floats(-50, 50))
def test_mirrors_map_into_the_unit_interval(u) -> None:
    with runtime.float64():
        for mirror in (reflect, fold):
            assert 0 <= float(mirror(np.array([[u]]))[0, 0]) <= 1


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1))
def test_unfold_is_the_preimage(x) -> None:
    with runtime.float64():
        there = unfold(np.array([[x]]))
        np.testing.assert_allclose(float(fold(there)[0, 0]), x, atol=1e-12)


def test_fold_is_smooth_across_faces_and_identity_inside() -> None:
    with runtime.float64():
        u = np.linspace(-0.3, 1.3, 100001)[:, None]
        slope = np.diff(np.asarray(fold(u))[:, 0]) / np.diff(u[:, 0])
        inside = np.linspace(0.06, 0.94, 50)[:, None]
        np.testing.assert_array_equal(np.asarray(fold(inside)), inside)
    assert np.abs(slope).max() <= 1 + 1e-6
    assert np.abs(np.diff(slope)).max() < 1e-3  # a plain mirror would jump by 2

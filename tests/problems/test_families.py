"""Families of problems: seeded members on one box, which differ, and whose values do not depend on the batch."""

import numpy as np
import pytest

from l2e.problems import families
from l2e.problems.families import FAMILIES
from l2e.problems.families.seir import DAYS, Epidemic, simulate
from l2e.problems.families.truss import Truss
from l2e.problems.families.tuning import OTHERS

NAMES = sorted(FAMILIES)
DIMENSIONS = {
    "truss": 10,
    "antenna": 16,
    "seir": 8,
    "tuning": 8,
    "cartpole": 30,
    "pendulum": 12,
    "uav": 30,
    "control": 10,
}


def points(name: str, count: int = 7) -> np.ndarray:
    space = FAMILIES[name](0).space
    return space.from_unit(np.random.default_rng(0).random((count, space.dimension)))


@pytest.mark.parametrize("name", NAMES)
def test_members_share_a_box_of_the_documented_dimension(name: str) -> None:
    boxes = [FAMILIES[name](seed).space for seed in range(3)]
    assert {space.dimension for space in boxes} == {DIMENSIONS[name]}
    for space in boxes[1:]:
        np.testing.assert_array_equal(space.lower, boxes[0].lower)
        np.testing.assert_array_equal(space.upper, boxes[0].upper)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_is_a_member_and_seeds_differ(name: str) -> None:
    x = points(name)
    np.testing.assert_array_equal(FAMILIES[name](3)(x), FAMILIES[name](3)(x))
    assert (FAMILIES[name](3)(x) != FAMILIES[name](4)(x)).any()


@pytest.mark.parametrize("name", NAMES)
def test_values_are_finite_and_do_not_depend_on_the_batch(name: str) -> None:
    member, x = FAMILIES[name](1), points(name)
    together = member(x)
    assert np.isfinite(together).all()
    np.testing.assert_allclose([member(point) for point in x], together, rtol=1e-9)


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_a_seed_that_is_none_is_refused(seed: object) -> None:
    with pytest.raises(ValueError, match="whole number from 0"):
        families.truss(seed)  # pyright: ignore[reportArgumentType]


def test_a_bar_of_twice_the_area_is_stressed_half_as_much() -> None:
    bars = Truss(np.random.default_rng(0))
    stretch, lengths = bars._stretch, bars._lengths
    moved = [
        np.linalg.solve(np.einsum("bi,b,bj->ij", stretch, area * 1e7 / lengths, stretch), bars._loads)
        for area in (np.ones(10), 2 * np.ones(10))
    ]
    np.testing.assert_allclose(moved[0], 2 * moved[1], rtol=1e-9)


def test_an_epidemic_keeps_its_people_and_the_truth_fits_better_than_all_else() -> None:
    epidemic = Epidemic(np.random.default_rng(1))
    cases, beds = simulate(epidemic.truth.tolist())
    assert len(cases) == len(beds) == DAYS
    assert 0 <= sum(cases) <= 1e6
    others = points("seir", 50)
    assert epidemic(epidemic.truth[None])[0] < epidemic(others).min()


def test_data_sets_from_elsewhere_begin_at_a_seed() -> None:
    x = points("tuning")
    assert np.isfinite(families.tuning(OTHERS)(x)).all()


def test_a_drone_flies_over_a_terrain_that_no_suite_has() -> None:
    pytest.importorskip("jax")
    from l2e.problems import drawn_uav
    from l2e.problems.families.uav import terrain_of

    assert terrain_of(0) == (1, 1)
    assert terrain_of(1000) == (49, 18)
    terrain, suite = terrain_of(5)
    problem = drawn_uav(terrain, suite)
    x = points("uav")
    np.testing.assert_allclose(families.uav(5)(x), problem(problem.space.from_unit(x)))

"""Spaces of named parameters: what each kind means, what comes back, and what is refused."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import l2e
from l2e.core.lattice import MixedBox, Steps, kinds
from l2e.core.parameters import Parameter

SPACE = l2e.Space(
    lr=l2e.Log(1e-6, 1),
    layers=l2e.Int(1, 20),
    solver=l2e.Choice("a", "b", "c"),
    momentum=(0, 1),
    seed=7,
    net={"width": l2e.Int(8, 1024, log=True), "bias": l2e.Bool(), "drop": l2e.Float(0, 0.5, step=0.1)},
    size=l2e.Choice("s", "m", "l", ordered=True),
    shift=l2e.Unbounded(10, 2),
)
KINDS: list[tuple[Parameter, Any]] = [
    (l2e.Float(-1, 3), 2.5),
    (l2e.Float(0, 1, step=0.25), 0.75),
    (l2e.Log(1e-3, 1e3), 0.5),
    (l2e.Int(-3, 9), 4),
    (l2e.Int(0, 100, step=5), 35),
    (l2e.Int(1, 10**6, log=True), 777),
    (l2e.Choice("a", "b", "c"), "b"),
    (l2e.Choice(1, 2, ordered=True), 2),
    (l2e.Choice(None, (1, 2), [3]), [3]),
    (l2e.Bool(), False),
    (l2e.Unbounded(5, 0.1), -700.0),
]


@pytest.mark.parametrize(("kind", "value"), KINDS, ids=lambda one: repr(one))
def test_a_value_comes_back_from_its_coordinates(kind: Parameter, value: Any) -> None:
    back = kind.decode(np.asarray(kind.encode(value)))
    assert back == pytest.approx(value, rel=1e-9) if isinstance(value, float) else back == value
    assert type(back) is type(value)


@given(st.lists(st.floats(0, 1), min_size=SPACE.box.dimension, max_size=SPACE.box.dimension))
def test_every_point_of_the_box_stands_for_allowed_parameters(unit: list[float]) -> None:
    point = SPACE.box.from_unit(np.asarray(unit))
    params = SPACE.params(point)
    again = SPACE.params(SPACE.point(params))
    assert list(params) == ["lr", "layers", "solver", "momentum", "seed", "net", "size", "shift"]
    assert 1e-6 <= params["lr"] <= 1
    assert params["layers"] in range(1, 21)
    assert params["seed"] == 7
    assert params["net"]["width"] in range(8, 1025)
    assert {**again, "lr": 0, "shift": 0} == {**params, "lr": 0, "shift": 0}
    assert again["lr"] == pytest.approx(params["lr"])
    assert again["shift"] == pytest.approx(params["shift"], rel=1e-6)


def test_a_vector_has_one_number_for_each_free_parameter() -> None:
    given = {"lr": 0.01, "layers": 3, "solver": "c", "momentum": 0.5, "size": "m", "shift": 11.0}
    point = SPACE.point(given | {"net": {"width": 64, "bias": True, "drop": 0.2}})
    vector = SPACE.vector(point)
    assert vector.tolist() == pytest.approx([0.01, 3, 2, 0.5, 64, 1, 0.2, 1, 11])
    assert np.allclose(SPACE.point(vector), point)


def test_full_names_are_understood_beside_nested_dictionaries() -> None:
    space = l2e.Space(a={"b": (0, 1), "c": {"d": l2e.Int(0, 3)}})
    assert np.array_equal(space.point({"a.b": 0.5, "a.c.d": 2}), space.point({"a": {"b": 0.5, "c": {"d": 2}}}))


def test_equal_ends_are_a_fixed_value() -> None:
    space = l2e.Space(a=(2, 2), b=l2e.Int(4, 4), c=(0, 1))
    assert space.params(np.asarray([0.5])) == {"a": 2, "b": 4, "c": 0.5}


def test_all_integers_have_as_much_room() -> None:
    box = l2e.Space(n=l2e.Int(1, 4)).box
    assert isinstance(box, MixedBox)
    drawn = box.snap(np.random.default_rng(0).uniform(box.lower, box.upper, (40_000, 1)))
    assert np.bincount(drawn.ravel().astype(int))[1:] == pytest.approx([10_000] * 4, rel=0.05)


def test_a_mixed_box_says_how_many_points_it_has() -> None:
    space = l2e.Space(n=l2e.Int(1, 4), c=l2e.Choice(*"abc"), b=l2e.Bool())
    assert isinstance(space.box, MixedBox)
    assert space.box.size == 24
    assert isinstance(SPACE.box, MixedBox)
    assert math.isinf(SPACE.box.size)


def test_mixed_boxes_of_equal_bounds_are_told_apart() -> None:
    ends = np.asarray([-0.5]), np.asarray([3.5])
    assert kinds(MixedBox(*ends, {0: Steps(0, 1, 4)})) != kinds(MixedBox(*ends, {0: Steps(0.5, 2, 2)}))
    assert kinds(l2e.box([(0, 1)])) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: l2e.Space(lr=l2e.Log(0, 1)), "positive"),
        (lambda: l2e.Space(lr=(1, 0)), "parameter 'lr'.*lower end"),
        (lambda: l2e.Space(n=l2e.Int(0, 1.5)), "whole numbers"),  # pyright: ignore[reportArgumentType]
        (lambda: l2e.Space(n=l2e.Int(0, 5, step=0)), "positive number"),
        (lambda: l2e.Space(n=l2e.Choice("a")), "two or more options"),
        (lambda: l2e.Space(n=l2e.Choice("a", "a")), "twice"),
        (lambda: l2e.Space(n=(1, 2, 3)), "is no parameter"),
        (lambda: l2e.Space(n=7), "not fixed"),
        (lambda: l2e.Space({"a.b": (0, 1)}), "words without"),
        (lambda: l2e.Space(x=l2e.Unbounded(0, -1)), "positive"),
        (lambda: SPACE.point({"lr": 1}), "parameter 'layers' is missing"),
        (lambda: SPACE.point({"lrr": 1}), "did you mean lr"),
        (lambda: l2e.Space(n=l2e.Int(0, 5)).point({"n": 2.5}), "parameter 'n' must be a whole number"),
        (lambda: l2e.Space(n=l2e.Int(0, 5)).point({"n": 9}), "between 0 and 5"),
        (lambda: l2e.Space(n=l2e.Choice(1, 2, 3)).point({"n": 4}), "must be one of"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_name(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()

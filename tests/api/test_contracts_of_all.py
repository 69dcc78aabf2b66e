"""What every method that can be asked and told promises: the default, our JAX methods, trained models, own programs."""

import functools

import numpy as np
import pytest

import l2e
from l2e.api import catalog
from l2e.api.models import shipped
from l2e.api.setup import prepare
from l2e.core.program import AbstractProgram
from l2e.core.search import AbstractSearch

BUDGET = 400
DIMENSION = 10  # of the trained models that have one
BOUNDS = [(-1.0, 9.0), (100.0, 101.0), (-1e-3, 1e-3), *[(0.0, 1.0)] * 7]
LOW, HIGH = np.asarray(BOUNDS).T


class Halving(AbstractProgram):
    """A program as a user would write one: random points in a box that shrinks around the best."""

    def batches(self, space, seed, budget, start, account):
        rng, width = np.random.default_rng(seed), np.asarray(space.upper - space.lower)
        best, value = np.asarray((space.lower + space.upper) / 2 if start is None else start), np.inf
        points = best[None]
        while True:
            values = yield np.clip(points, space.lower, space.upper)
            if values.min() < value:
                best, value = points[values.argmin()], values.min()
            points = best + rng.uniform(-0.5, 0.5, (6, space.dimension)) * width
            width = 0.97 * width

    def assess(self, space, budget, values, account):
        return None


PLAIN = [name for name, method in catalog.METHODS.items() if method.kind in ("default", "native")]
TRAINED = [name for name in shipped() if not name.endswith("-30d") and name != "l2e-gate"]
METHODS = {name: name for name in PLAIN + TRAINED} | {"a user's program": Halving()}


def search(name: str, seed: int = 0, start=None, bounds=BOUNDS) -> AbstractSearch:
    made = prepare(bounds, METHODS[name], BUDGET, start, seed).search()
    assert made is not None
    return made


def drive(made: AbstractSearch, generations: int = 8, failed=None) -> list[np.ndarray]:
    """The batches asked on a bowl of the unit box, within the budget."""
    batches, used = [], 0
    for generation in range(generations):
        points = made.ask()[: BUDGET - used]
        if not len(points):
            break
        batches.append(points)
        used += len(points)
        values = (((points - LOW) / (HIGH - LOW) - 0.3) ** 2).sum(axis=1)
        if failed is not None:
            values = np.where(failed(generation, len(points)), np.inf, values)
        made.tell(values)
    return batches


@functools.cache
def plain_run(name: str) -> list[np.ndarray]:
    return drive(search(name, 1))


@pytest.fixture(params=METHODS)
def name(request) -> str:
    return request.param


def test_the_default_all_native_methods_and_all_trained_models_are_here() -> None:
    assert {"auto", "cmaes", "l2e-base-10d", "l2e-mamba-10d", "glhf"} <= set(METHODS)
    assert len(TRAINED) >= 7


def test_batches_are_inside_the_box(name) -> None:
    for points in plain_run(name):
        assert points.ndim == 2
        assert points.shape[1] == DIMENSION
        assert ((points >= LOW) & (points <= HIGH)).all()


def test_same_seed_same_run_other_seed_other_run(name) -> None:
    for a, b in zip(plain_run(name), drive(search(name, 1)), strict=True):
        np.testing.assert_array_equal(a, b)
    other = drive(search(name, 2))
    on_a_bowl_no_dice = name == "auto"  # quasi-Newton alone solves it, and draws nothing
    assert on_a_bowl_no_dice or any(not np.array_equal(a, b) for a, b in zip(plain_run(name), other, strict=False))


def test_ask_is_idempotent(name) -> None:
    made = search(name)
    drive(made, 2)
    np.testing.assert_array_equal(made.ask(), made.ask())


@pytest.mark.parametrize(
    "failed",
    [lambda generation, n: np.arange(n) % 3 == 0, lambda generation, n: np.full(n, generation in (0, 3))],
    ids=["a third", "whole generations"],
)
def test_failed_evaluations_never_become_points_that_are_not_numbers(name, failed) -> None:
    for points in drive(search(name), 6, failed):
        assert ((points >= LOW) & (points <= HIGH)).all()


def test_starts_where_it_is_told(name) -> None:
    """The start is in the first batch, or, for distributions, the batch lies around it."""
    start = LOW + 0.9 * (HIGH - LOW)
    first = search(name, start=start).ask()
    nearest = np.abs((first - start) / (HIGH - LOW)).max(axis=1).min()
    shift = ((first.mean(axis=0) - (LOW + HIGH) / 2) / (HIGH - LOW)).min()
    assert nearest < 1e-12 or shift > 0.1


def test_an_affine_change_of_the_box_does_not_change_the_run(name) -> None:
    left, right = (search(name, bounds=[bounds] * DIMENSION) for bounds in ((0, 1), (-8, 8)))
    for _ in range(3):
        a, b = left.ask(), right.ask()
        np.testing.assert_allclose(a, (b + 8) / 16, atol=1e-6)
        values = ((a - 0.3) ** 2).sum(axis=1)
        left.tell(values)
        right.tell(values)


def test_the_budget_is_kept_and_every_evaluation_is_counted_once(name) -> None:
    calls = []

    def bowl(x):
        calls.append(x)
        return float((((x - LOW) / (HIGH - LOW) - 0.3) ** 2).sum())

    result = l2e.minimize(bowl, bounds=BOUNDS, budget=50, rng=0, method=METHODS[name])
    assert result.nfev == len(calls) <= 50
    assert result.fun == min(map(bowl, calls[:]))

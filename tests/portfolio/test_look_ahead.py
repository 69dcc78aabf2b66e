"""The default method told of several workers: fewer rounds, the same promises."""

import numpy as np
import pytest

from l2e.core.box import box
from l2e.core.program import ProgramSearch
from l2e.portfolio.gate import ACTIONS, FEATURES, Gate, GateWeights
from l2e.portfolio.method import Portfolio
from l2e.portfolio.parallel import ParallelRun, spare, widened
from l2e.portfolio.policy import Policy
from l2e.portfolio.searches import evolution
from l2e.portfolio.surrogate import Surrogate

WORKERS = 8


def bowl(points: np.ndarray) -> np.ndarray:
    return ((points - 0.3) ** 2 * np.arange(1, points.shape[1] + 1)).sum(axis=1)


def valley(points: np.ndarray) -> np.ndarray:
    return (100 * (points[:, 1:] - points[:, :-1] ** 2) ** 2 + (1 - points[:, :-1]) ** 2).sum(axis=1)


def kinks(points: np.ndarray) -> np.ndarray:
    return np.abs(points - 0.7).sum(axis=1)


def played(f, dimension: int, budget: int, workers: int = WORKERS) -> list[np.ndarray]:
    search = ProgramSearch(Portfolio.trained().with_workers(workers), box([(-5.0, 5.0)] * dimension), 1, budget, None)
    batches: list[np.ndarray] = []
    while sum(map(len, batches)) < budget:
        batches.append(search.ask()[: budget - sum(map(len, batches))])
        search.tell(f(batches[-1]))
    return batches


def rounds(batches: list[np.ndarray]) -> int:
    return sum(-(-len(batch) // WORKERS) for batch in batches)


@pytest.mark.parametrize("f", [bowl, valley])
def test_quasi_newton_in_12_dimensions_needs_few_more_rounds_than_the_ideal(f) -> None:
    assert rounds(played(f, 12, 160)) <= 27  # 20 would be ideal; 47 with the batches of a serial search
    assert rounds(played(f, 12, 160, workers=1)) > 40


@pytest.mark.parametrize("f", [bowl, valley, kinks])
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_points_stay_in_the_box_and_the_same_seed_gives_the_same_search(f, dimension) -> None:
    batches = played(f, dimension, 60 * dimension)
    assert all((np.abs(batch) <= 5).all() for batch in batches)
    for one, other in zip(batches, played(f, dimension, 60 * dimension), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_smooth_function_is_still_solved() -> None:
    batches = played(valley, 5, 600)
    assert min(valley(batch).min() for batch in batches) < 1e-6


def test_what_was_looked_ahead_at_is_not_evaluated_again() -> None:
    run = ParallelRun(2, 100, np.random.default_rng(0), workers=4)
    first, second = np.asarray([[1.0, 2.0]]), np.asarray([[3.0, 4.0], [0.0, 1.0]])
    run.look_ahead(second)
    asking = run.evaluate(first)
    np.testing.assert_array_equal(next(asking), np.concatenate([first, second]))
    with pytest.raises(StopIteration) as ended:
        asking.send(np.asarray([1.0, 2.0, 3.0]))
    assert ended.value.value.tolist() == [1.0]
    with pytest.raises(StopIteration) as ended:
        next(run.evaluate(second))
    assert ended.value.value.tolist() == [2.0, 3.0]
    assert run.used == 3


def test_nothing_is_looked_ahead_at_beyond_the_budget() -> None:
    run = ParallelRun(1, 2, np.random.default_rng(0), workers=8)
    run.look_ahead(np.linspace(-1, 1, 7)[:, None])
    assert len(next(run.evaluate(np.asarray([[0.5]])))) == 2


def test_batches_are_filled_up_to_three_quarters_of_the_workers() -> None:
    assert [spare(n, 8) for n in (1, 5, 6, 8, 9, 13)] == [5, 1, 0, 0, 3, 0]
    assert spare(1, 1) == 0


def test_populations_fit_the_workers() -> None:
    assert [widened(n, 8) for n in (2, 4, 6, 8, 9, 10, 11, 12, 16, 18)] == [8, 8, 6, 8, 8, 8, 11, 12, 16, 16]
    assert widened(10, 1) == 10


def test_the_start_is_evaluated_with_what_is_asked_first() -> None:
    gradient, probe = played(bowl, 3, 60)[0], played(valley, 3, 150)[0]
    assert len(gradient) == len(probe) == 4
    assert (np.abs(gradient - gradient[0]).max(axis=1) < 1e-6).all()
    assert np.abs(probe[3] - probe[0]).min() > 1e-6  # steps along some coordinates, along the others, along all
    np.testing.assert_array_equal(probe[1] + probe[2] - probe[0], probe[3])


def test_idle_workers_have_minimisers_of_models_that_could_be_true() -> None:
    rng = np.random.default_rng(3)
    points = rng.uniform(-2, 2, (40, 2))
    run = ParallelRun(2, 400, rng, workers=8)
    run.remember(points, bowl(points) + 0.01 * np.sin(9 * points).sum(axis=1))
    surrogate, mean, matrix = Surrogate(Policy(), Policy().near), np.asarray([0.5, -0.2]), 0.5 * np.eye(2)
    assert surrogate.fit(run, mean, matrix, 6)
    own = surrogate.minimiser_in(mean, matrix)
    np.testing.assert_allclose(own, surrogate.minimiser(), atol=1e-9)
    other = mean + np.asarray([0.1, 0.2])  # the same place from another frame
    shifted = surrogate.minimiser_in(other, 2 * matrix)
    np.testing.assert_allclose(other + 2 * matrix @ shifted, mean + matrix @ own, atol=1e-9)
    others = np.asarray([surrogate.minimiser_in(mean, matrix, rng) for _ in range(20)])
    away = np.linalg.norm(others - own, axis=1)
    assert (away > 0).all()
    assert np.median(away) < 0.3  # in units of the sampling distribution


@pytest.mark.parametrize(("workers", "dimension", "chosen"), [(1, 10, "wide"), (8, 10, "newton"), (8, 2, "wide")])
def test_a_gate_prefers_quasi_newton_where_it_keeps_all_workers_busy(workers, dimension, chosen) -> None:
    inner, outer = np.zeros((1, len(FEATURES))), np.zeros((len(ACTIONS), 1))
    gate = Gate(GateWeights(inner, np.zeros(1), outer, outer @ inner, np.asarray([0.0, 0.05, -1.0, -1.0])))
    run = ParallelRun(dimension, 500, np.random.default_rng(0), workers=workers)
    assert gate.choose(run, evolution(run, np.zeros(dimension), 1.0)) == chosen

"""The default method on grids: margins, options, descents, and that no point is paid for twice."""

from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from l2e.core.evaluator import Evaluator
from l2e.core.lattice import MixedBox, Steps
from l2e.core.parameters import Choice, Int
from l2e.core.space import Space
from l2e.core.stops import BudgetExhausted
from l2e.portfolio.method import Portfolio
from l2e.portfolio.mixed.evolution import MixedEvolution
from l2e.portfolio.mixed.grid import Grid
from l2e.portfolio.mixed.model import LatticeModel
from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.mixed.settle import Settle
from l2e.portfolio.policy import Policy
from l2e.portfolio.quadratic import Quadratic, Ridge
from l2e.portfolio.run import HALF


def integers(counts: list[int], continuous: int = 0) -> MixedBox:
    lower = np.asarray([-0.5] * len(counts) + [-5.0] * continuous)
    upper = np.asarray([count - 0.5 for count in counts] + [5.0] * continuous)
    return MixedBox(lower, upper, {i: Steps(0.0, 1.0, count) for i, count in enumerate(counts)})


def answer(search: Generator[np.ndarray, np.ndarray, Any], f: Any) -> tuple[Any, list[np.ndarray]]:
    """Run a generator of batches to its end: its outcome, and all points it asked for."""
    asked: list[np.ndarray] = []
    try:
        points = next(search)
        while True:
            asked.extend(points)
            points = search.send(np.asarray([f(point) for point in points]))
    except StopIteration as end:
        return end.value, asked


def test_no_integer_freezes_however_small_the_step_is() -> None:
    grid = Grid(integers([2, 4, 16], continuous=2))
    search = MixedEvolution(grid, grid.snap(np.zeros((1, 5)))[0], 1e-6, None)
    spreads = search.sigma * np.sqrt((search.factor**2).sum(axis=1))
    whole = np.zeros(5)
    whole[:] = search.mean
    low, high = grid.edges(whole)
    leave = norm.cdf((low - search.mean[:3]) / spreads[:3]) + norm.sf((high - search.mean[:3]) / spreads[:3])
    assert (leave >= 0.99 / (5 * search.population)).all()
    assert spreads[3:] == pytest.approx([1e-6, 1e-6])


def test_options_that_do_well_become_likely_and_none_becomes_impossible() -> None:
    space = Space(c=Choice(*range(5)), n=Int(0, 9)).box
    assert isinstance(space, MixedBox)
    grid = Grid(space)
    run = MixedRun(grid, 10**6, np.random.default_rng(0))
    search = MixedEvolution(grid, grid.random(run.rng, 1)[0], 2.0, None, local=False)

    def f(point: np.ndarray) -> float:
        return float(point[0] < 0) + 0.01 * point[-1]

    for _ in range(40):
        answer(search.step(run), f)
    assert int(np.argmax(search.chances[0])) == 0
    assert search.chances[0].sum() == pytest.approx(1)
    assert search.chances[0].min() > 0


def test_a_point_is_evaluated_once() -> None:
    box = integers([4, 4, 4])
    seen: list[tuple[float, ...]] = []
    evaluate = Evaluator(lambda x: (seen.append(tuple(x)), float((x**2).sum()))[1], box, 200)
    Portfolio.trained().run(evaluate, box, 0)
    assert len(seen) == len(set(seen)) == 64


def test_the_points_asked_for_are_exact_whole_numbers() -> None:
    box = integers([7, 3, 1000], continuous=2)
    seen: list[np.ndarray] = []
    evaluate = Evaluator(lambda x: (seen.append(x), float(((x - 0.3) ** 2).sum()))[1], box, 200)
    with pytest.raises(BudgetExhausted):
        Portfolio.trained().run(evaluate, box, 0)
    assert (np.asarray(seen)[:, :3] % 1 == 0).all()
    assert evaluate.best_f == pytest.approx(3 * 0.09)


def test_the_minimum_of_a_model_on_the_grid_is_found_by_single_moves_with_the_continuous_ones_following() -> None:
    grid = Grid(integers([8, 8], continuous=1))
    hessian = np.asarray([[2.0, 0.0, 1.5], [0.0, 2.0, 0.0], [1.5, 0.0, 2.0]])
    linear = np.asarray([1.0, -3.0, 0.5])
    some = np.zeros(3)
    known = Ridge(np.eye(3), None, np.eye(3)), some, some
    model = Quadratic(0.0, linear, hessian, 1.0, 0.0, True, some, some, some, some, some, np.eye(3), *known)
    lattice = LatticeModel(model, np.zeros(3), np.eye(3), grid, np.full(3, -HALF), np.full(3, HALF))
    found = lattice.minimise(grid.snap(np.zeros((1, 3)))[0])
    places = grid.place(np.stack([np.arange(8)] * 2, axis=1))[:, 0]
    first, second = (axis.ravel() for axis in np.meshgrid(places, places))
    third = np.clip(-(0.5 + 1.5 * first) / 2, -HALF, HALF)
    best = lattice.value(np.stack([first, second, third], axis=1)).min()
    assert lattice.value(found[None])[0] == pytest.approx(best)


def test_a_descent_alternates_steps_and_gradients() -> None:
    grid = Grid(integers([50, 6], continuous=3))
    run = MixedRun(grid, 10**6, np.random.default_rng(0))
    goal = grid.snap(np.asarray([[2.0, -1.0, 1.0, 2.0, 3.0]]))[0]

    def f(x: np.ndarray) -> float:
        return float(((x - goal) ** 2 * [1, 1, 10, 1, 5]).sum() + ((x - goal)[:2].sum() + (x - goal)[2:].sum()) ** 2)

    start = grid.snap(np.zeros((1, 5)))[0]
    search = Settle(start, f(start), wide=True)
    answer(search.go(run, 400), f)
    assert search.f < 1e-10
    assert run.used < 400


def test_nothing_a_function_returns_ends_a_search() -> None:
    box = integers([5, 5], continuous=2)
    rng = np.random.default_rng(0)
    evaluate = Evaluator(lambda x: rng.choice([np.nan, np.inf, 1e308, -1e308, 0.0]), box, 300)
    with pytest.raises(BudgetExhausted), pytest.warns(RuntimeWarning):
        Portfolio.trained().run(evaluate, box, 0)
    assert evaluate.used == 300


def test_a_model_left_out_is_not_used() -> None:
    box = integers([9, 9, 9], continuous=3)
    evaluate = Evaluator(lambda x: float(((x - 2) ** 2).sum()), box, 600)
    with pytest.raises(BudgetExhausted):
        Portfolio(None, Policy().without("surrogate")).run(evaluate, box, 0)
    assert evaluate.best_f < 1e-10

"""Rugged functions beyond 100 dimensions: short ripples, curvature at a face, evolution that is given time."""

import numpy as np
from helpers.large import D, begun, bowl, drive

import l2e
from l2e.portfolio.large.axes import ADDITIVE, LOCAL, ONE_IN, Eigenvectors, SomeAxes
from l2e.portfolio.large.descent import Descent
from l2e.portfolio.large.entry import LATELY, Entry
from l2e.portfolio.large.evolution import SeparableEvolution
from l2e.portfolio.large.lines import Effort, Lines

S = 20
TURNED = np.linalg.qr(np.random.default_rng(3).standard_normal((D, D)))[0]
HIDDEN = np.linalg.qr(np.random.default_rng(4).standard_normal((S, S)))[0]


def rastrigin(y):
    return (y**2 + 10 * (1 - np.cos(2 * np.pi * y))).sum(axis=1)


def dense_waves(points):
    return rastrigin((points - 1) @ TURNED.T)


def test_ripples_shorter_than_a_grid_make_a_line_wavy() -> None:
    def wavy(function):
        run = begun(function, dimension=S)
        lines = Lines(run.best_x, run.best_f, np.arange(S), None, 0.1)
        drive(lines.search(run, Effort(grid=12, more=0, zooms=0, steps=8)), function)
        return lines.wavy.mean()

    assert wavy(lambda points: ((points - 1) ** 2 + 0.05 * np.cos(40 * points)).sum(axis=1)) > 0.8
    assert wavy(bowl) == 0
    assert wavy(lambda points: ((points - 1) ** 4).sum(axis=1)) == 0


def test_hidden_axes_are_found_from_a_face_beside_much_larger_values() -> None:
    def function(points):
        return 1e3 + rastrigin((points - 1) @ HIDDEN.T * np.linspace(1, 3, S))

    run = begun(function, dimension=S)
    start = np.random.default_rng(0).uniform(-1, 1, S)
    start[:3] = 5.0  # where the function is mirrored
    drive(run.evaluate_aside(start), function)
    run.best_x, run.best_f = start, float(function(start[None])[0])
    unit = Eigenvectors(np.arange(S))
    drive(unit.turn(run), function)
    assert np.median(np.abs(unit._basis @ HIDDEN.T).max(axis=1)) > 0.99


def test_more_axes_at_once_as_long_as_their_moves_add_up() -> None:
    def turns(function, count):
        run, unit, costs = begun(function), SomeAxes(np.arange(D)), []
        for _ in range(count):
            costs.append(unit.cost())
            drive(unit.turn(run), function)
        return unit, costs

    unit, costs = turns(lambda points: np.log1p(bowl(points)), 6)
    assert unit.whole
    assert costs[1] == 2 * costs[0]
    unit, costs = turns(lambda points: (points.sum(axis=1) - 6) ** 2, 3)
    assert not unit.whole
    assert costs[0] == costs[1] == costs[2]
    assert 0 < ADDITIVE < 1 < ONE_IN


def test_a_descent_of_its_own_does_not_jump() -> None:
    run, unit = begun(dense_waves), Descent(np.arange(D), 1)
    unit.alone = True
    drive(unit.turn(run), dense_waves)
    own = unit.f
    drive(run.evaluate_aside(np.full(D, 1.0)), dense_waves)
    assert run.best_f == 0
    drive(unit.turn(run), dense_waves)
    assert 0 < unit.f <= own
    unit.alone = False
    drive(unit.turn(run), dense_waves)
    assert unit.f == 0


def test_evolution_stagnates_when_its_last_turns_gained_nothing() -> None:
    def stagnates(own, populations=1):
        return Entry(SeparableEvolution(np.arange(D), np.zeros(D), 1.0, 1, populations), own=own).stagnates()

    falling = [100.0 - k for k in range(3 * LATELY)]
    assert not stagnates(falling)
    assert not stagnates([7.0] * LATELY)
    assert stagnates(falling + [falling[-1]] * LATELY)
    assert not stagnates(falling + [falling[-1]] * LATELY, 2)


def test_dense_rugged_functions_belong_to_evolution_and_restarts() -> None:
    size = 160  # more than a group has
    turned = np.linalg.qr(np.random.default_rng(3).standard_normal((size, size)))[0]
    place = np.random.default_rng(5).uniform(-4, 4, size)

    def function(points):
        return rastrigin((points - place) @ turned.T)

    result = l2e.minimize(function, bounds=[(-5, 5)] * size, budget=200 * size, rng=0, vectorized=True)
    spent: dict[str, int] = {}
    for span in result.trace:
        spent[span.part] = spent.get(span.part, 0) + span.end - span.begin
    assert spent["separable evolution"] > 0.7 * 200 * size
    assert "graph" not in spent  # what is dense is not asked for its sparse graph


def test_lines_near_the_point_take_no_grid() -> None:
    run = begun(bowl)
    lines = Lines(run.best_x, run.best_f, np.arange(D), None, 0.1)
    drive(lines.search(run, LOCAL), bowl)
    assert not lines.wavy.any()
    assert run.best_f < 1e-6

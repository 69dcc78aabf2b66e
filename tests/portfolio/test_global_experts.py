import numpy as np
import pytest
from helpers.searching import drive, fresh_run, rotation

from l2e.portfolio import probes
from l2e.portfolio.coordinates import Coordinates
from l2e.portfolio.lshade import LShade
from l2e.portfolio.policy import Lines
from l2e.portfolio.run import finish, mirror
from l2e.portfolio.shrinking import Shrinking


def rastrigin(x):
    y = x - 1.3
    return float(10 * (1 - np.cos(2 * np.pi * y)).sum() + y @ y)


def rotated(x):
    return rastrigin(rotation(len(x)) @ (x - 1.3) + 1.3)


def probe(program, function, budget=200, dimension=5):
    run = fresh_run(dimension, budget)
    return drive(program(run), function, budget)


@pytest.mark.parametrize(("function", "separable"), [(rastrigin, True), (rotated, False)])
def test_separability_is_seen(function, separable):
    def program(run):
        value = float((yield from run.evaluate(np.zeros(5)))[0])
        return (yield from probes.is_separable(run, np.zeros(5), value))

    assert bool(probe(program, function)) == separable


def test_interactions_and_ruggedness():
    weak = probe(lambda run: probes.pair_interactions(run), rastrigin)
    strong = probe(lambda run: probes.pair_interactions(run), lambda x: float(np.prod(x)))
    assert weak.max() < 1e-10 < 1e-3 < strong.max()
    smooth = probe(lambda run: probes.ruggedness(run), lambda x: float(x @ x))
    assert smooth <= 1
    assert probe(lambda run: probes.ruggedness(run), rastrigin) > 3
    line = probe(lambda run: probes.look_along_line(run, np.zeros(5)), lambda x: float(x @ x))
    assert line.turns <= 1
    assert line.bend < -2.9


def test_coordinates_solve_separable_rastrigin():
    run = fresh_run(5, 1000)

    def program():
        value = float((yield from run.evaluate(np.zeros(5)))[0])
        expert = Coordinates(np.zeros(5), value, Lines(21, 60))
        yield from expert.step(run)
        return expert.f

    assert drive(program(), rastrigin, 1000) < 1e-3


def test_lshade_and_shrinking_solve_a_multimodal_function_within_what_they_are_told():
    run = fresh_run(5, 10_000)
    expert = LShade(5, 10_000, np.zeros(5), rastrigin(np.zeros(5)))
    drive(finish(expert, run), rastrigin, 10_000)
    assert run.best_f < 1e-6
    run = fresh_run(5, 20_000, 1)
    drive(finish(Shrinking(5, 20_000, run.rng), run), rotated, 20_000)
    assert run.best_f < 1.1  # the best or the second best minimum


def test_mirror_folds_onto_the_cube():
    points = np.asarray([[4.0, 6.0], [-7.0, 16.0], [25.0, -5.0]])
    np.testing.assert_allclose(mirror(points), [[4, 4], [-3, -4], [5, -5]])

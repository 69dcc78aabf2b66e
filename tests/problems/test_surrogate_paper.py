"""The paper's BBOB-surrogate-10D: true functions at places drawn from a stream that starts anew now and then."""

import numpy as np
import pytest

from l2e.api import problem_catalog
from l2e.bench.suite import instances
from l2e.problems import PAPER_SURROGATE_TEST, paper_bbob, paper_surrogate

# function, offset and first coordinates of the optimum, as the platform that the paper used has them
INSTANCES = (
    (3, 2500, (-0.6638, 1.7626, -3.9991)),
    (4, 1800, ()),
    (7, 500, (3.4201, -1.2179, 2.0065)),
    (8, 1900, (-1.2659, -0.2663, -0.0887)),
    (9, 1500, ()),
    (12, 1100, (-0.3577, 0.2546, -3.1253)),
    (14, 1900, (3.5209, 0.6561, 3.0307)),
    (15, 2500, (-0.6638, 1.7626, -3.9991)),
    (16, 1900, (3.5209, 0.6561, 3.0307)),
    (17, 100, (3.2771, -1.7808, 2.5421)),
    (18, 1200, (2.2575, -3.5509, 2.6822)),
    (19, 2000, ()),
    (21, 900, (-2.608, -1.0693, -1.1603)),
    (22, 1300, (0.0787, -2.8104, -2.4353)),
    (23, 1000, (-0.0504, -3.3286, -3.1039)),
    (24, 500, ()),
)


def test_the_table_holds_the_papers_functions():
    assert tuple(row[0] for row in INSTANCES) == PAPER_SURROGATE_TEST


@pytest.mark.parametrize(("function", "offset", "start"), INSTANCES)
def test_instance_is_the_one_of_the_paper(function, offset, start):
    problem = paper_surrogate(function)
    x_opt, f_opt = problem.optimum
    assert f_opt == offset
    np.testing.assert_allclose(x_opt[: len(start)], start, rtol=0, atol=5.01e-5)
    assert problem(x_opt) - offset == pytest.approx(0, abs=1e-9)
    assert problem.name == paper_bbob(function).name
    assert (problem(np.random.default_rng(0).uniform(-5, 5, (50, 10))) > f_opt).all()


def test_stream_starts_anew_after_every_kan():
    """Functions drawn right after a KAN was created share shift and offset."""
    places = [paper_surrogate(function).optimum for function in (2, 3, 10, 13, 15)]
    for place in places:
        np.testing.assert_array_equal(place.x, places[0].x)
        assert place.f == 2500
    assert paper_surrogate(5).optimum.f == 2500
    np.testing.assert_array_equal(np.sign(paper_surrogate(5).optimum.x), np.sign(places[0].x))
    np.testing.assert_array_equal(paper_surrogate(14).optimum.x, paper_surrogate(16).optimum.x)


def test_instances_are_not_those_of_bbob_10d():
    """But for f1, which is the first to be drawn from the same seed."""
    np.testing.assert_array_equal(paper_surrogate(1).optimum.x, paper_bbob(1).optimum.x)
    for function in PAPER_SURROGATE_TEST:
        point = np.full(10, 0.5)
        ours, theirs = paper_surrogate(function), paper_bbob(function)
        assert ours(point) - ours.optimum.f != theirs(point) - theirs.optimum.f


def test_names_of_the_catalog_have_ten_dimensions():
    assert problem_catalog.problem("paper-surrogate:f12").dimension == 10
    assert len(instances("paper-surrogate", (), (10,), (1,))) == 16
    with pytest.raises(ValueError, match="have 10 dimensions, not 30"):
        problem_catalog.problem("paper-surrogate:f12:d30")
    with pytest.raises(ValueError, match="between 1 and 24"):
        paper_surrogate(25)
    with pytest.raises(ValueError, match="names no function"):
        problem_catalog.problem("paper-surrogate:d10")

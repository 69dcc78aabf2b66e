"""CEC'2013 LSGO with the official data files against the competition's own code.

The files are not part of this project; the tests look for them in the folder that `L2E_LSGO_DATA` names and in
../shared/data/lsgo2013 beside the repository.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from l2e.api import problem_catalog
from l2e.problems import lsgo, official_lsgo
from l2e.problems._lsgo.suite import DATA_VARIABLE

BESIDE = Path(__file__).parents[2].parent / "shared" / "data" / "lsgo2013"
FOLDER = Path(os.environ.get(DATA_VARIABLE) or BESIDE)
pytestmark = pytest.mark.skipif(
    not (FOLDER / "F1-xopt.txt").exists(), reason=f"no official LSGO data in {FOLDER}; set {DATA_VARIABLE}"
)

# What PyPI's cec2013lsgo 2.2 (the competition's C++ code) gives, computed once, at the origin, at
# default_rng(function).uniform(-w, w, d), and at places + 1e-3 w cos(0, 1, ..., d-1), where w is the half width of the
# box and places is the file of shifts (cut to d numbers; plus 1 for f12, so that it is the optimum).
REFERENCE = {
    1: (209833896353.3435, 427399466142.92114, 358617.9101836833),
    2: (47620.31161660614, 159346.03758010853, 10.287978860638006),
    3: (21.72900253495255, 21.712220442520522, 0.27254231281798313),
    4: (107955147656065.95, 553790859942367.1, 372126662.83295316),
    5: (48419148.33292464, 132369218.99875605, 11964.723925203414),
    6: (1077732.4653094779, 1075380.0509647783, 13775.938546875137),
    7: (993826981321072.6, 2.2776976941002333e17, 94082.74001190373),
    8: (5.722271501878064e18, 1.556523524024702e19, 11202383829682.129),
    9: (6001603202.501936, 16695996938.93996, 838379.8371862769),
    10: (98115481.64869994, 99108128.85598369, 1368075.9487705415),
    11: (1.0448520164721202e17, 1.8944841487602516e18, 17857270.86555718),
    12: (1711354236949.7214, 10466379187385.75, 1426.7354614931176),
    13: (8.273800489859667e16, 7.301539974831921e20, 419910.60177933023),
    14: (4.4079796812096246e18, 4.826642404122117e18, 1.2033198873405591e21),
    15: (2393892336615501.5, 1.5071870524651315e19, 195.50046286177357),
}
# the origin again, to the digits of published descriptions of the suite
ORIGIN = {1: 2.0983e11, 2: 4.7620e4, 3: 21.729, 4: 1.0796e14, 5: 4.8419e7, 6: 1.0777e6}


def reference_points(function, problem):
    half, d = problem.space.upper[0], problem.dimension
    places = np.loadtxt(FOLDER / f"F{function}-xopt.txt")[:d] + (1 if function == 12 else 0)
    random = np.random.default_rng(function).uniform(-half, half, d)
    return np.stack([np.zeros(d), random, places + 1e-3 * half * np.cos(np.arange(d))])


@pytest.mark.parametrize("function", REFERENCE)
def test_values_are_those_of_the_competition(function):
    problem = lsgo(function, data=FOLDER)
    np.testing.assert_allclose(problem(reference_points(function, problem)), REFERENCE[function], rtol=1e-9)


@pytest.mark.parametrize("function", ORIGIN)
def test_the_origin_has_the_published_value(function):
    problem = lsgo(function, data=FOLDER)
    assert problem(np.zeros(problem.dimension)) == pytest.approx(ORIGIN[function], rel=5e-5)


@pytest.mark.parametrize("function", [f for f in REFERENCE if f != 14])
def test_the_minimum_is_zero_at_the_optimum(function):
    problem = lsgo(function, data=FOLDER)
    assert problem.optimum is not None
    assert (np.abs(problem.optimum.x) <= problem.space.upper).all()
    assert problem(problem.optimum.x) == problem.optimum.f == 0


def test_the_official_functions_have_a_name_of_their_own(monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(FOLDER))
    problem = problem_catalog.problem("official-lsgo:f12")
    assert problem(np.zeros(1000)) == pytest.approx(REFERENCE[12][0], rel=1e-12)
    assert official_lsgo(12)(np.ones(1000)) == lsgo(12)(np.ones(1000)) != lsgo(12, instance=1)(np.ones(1000))

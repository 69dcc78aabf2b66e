"""The paper's instances against values computed with the platform that the paper used."""

import numpy as np
import pytest

from l2e.problems import PAPER_TEST, PAPER_TRAIN, bbob, paper_bbob
from l2e.problems._bbob.paper import PAPER_NAMES

# function, offset, first three coordinates of the optimum, f(0) - offset, f(1) - offset
CHECKS_10D = (
    (1, 700, (-3.620004, -2.094303, -1.05428), 7.056603e01, 1.000072e02),
    (2, 1900, (3.995905, -0.242156, -1.398766), 5.100968e06, 3.949779e06),
    (3, 100, (2.974119, -3.360603, 2.39493), 1.588556e03, 1.372708e03),
    (4, 1000, (2.895068, -2.753123, 1.761375), 6.068333e03, 1.925056e03),
    (5, 2000, (5.0, -5.0, 5.0), 2.043476e02, 1.924060e02),
    (6, 400, (3.147813, 1.089678, 1.757164), 6.956941e04, 6.526611e04),
    (7, 300, (-0.467656, 0.441657, -1.916175), 6.780912e01, 9.713899e01),
    (8, 1300, (-1.250955, -0.026894, -0.533924), 2.021147e04, 5.947160e04),
    (9, 1300, (-0.477509, -0.89291, 0.470365), 5.850000e01, 3.160445e03),
    (10, 600, (2.277903, 3.372575, 1.927776), 4.299752e06, 5.925862e06),
    (11, 900, (0.703526, 0.148998, 2.915956), 1.966674e05, 2.680087e06),
    (12, 2000, (1.308107, -3.504485, -0.321994), 6.816987e07, 1.729179e08),
    (13, 2400, (-3.398175, 2.523448, 3.705087), 1.813594e03, 1.767014e03),
    (14, 1500, (-0.355935, 1.794712, -0.234993), 2.315634e01, 3.275804e01),
    (15, 1700, (-0.761008, 1.125452, 2.320806), 4.351265e02, 5.897376e02),
    (16, 1400, (-0.844063, -0.865394, 0.183335), 2.656781e01, 2.393834e01),
    (17, 200, (0.495819, 1.459033, -3.245859), 1.043366e01, 2.147575e01),
    (18, 700, (2.885043, -0.632229, -3.393869), 5.082322e01, 7.153311e01),
    (19, 1700, (0.211738, 0.439551, 0.884641), 2.503737e-01, 1.110144e01),
    (20, 2100, (2.104844, 2.104844, -2.104844), 1.033748e04, 1.737925e04),
    (21, 700, (-0.732155, 0.721059, -2.067548), 6.497934e01, 7.354542e01),
    (22, 2400, (1.898251, -2.53836, 1.706831), 8.505242e01, 8.309011e01),
    (23, 600, (0.058589, -3.175887, -0.112552), 2.656331e01, 1.743782e01),
    (24, 1200, (1.25, -1.25, -1.25), 1.563917e02, 1.820277e02),
)
CHECKS_30D = (
    (1, 1400, (-3.620004, -2.094303, -1.05428), 1.773831e02, 2.348016e02),
    (2, 1100, (-1.153131, -0.142998, 2.316281), 8.830501e06, 1.635927e07),
    (3, 100, (0.584194, 0.876664, -3.481026), 7.039990e02, 9.022340e02),
    (4, 700, (2.255987, 2.757275, 3.994276), 1.619689e04, 1.434284e04),
    (5, 1600, (-5.0, 5.0, 5.0), 5.945520e02, 6.361126e02),
    (6, 2300, (0.836026, 3.996849, 2.141701), 5.778147e05, 5.717534e05),
    (7, 2200, (2.167217, -3.630305, -2.562078), 1.497082e03, 1.468574e03),
    (8, 1300, (-2.110489, 1.276127, -2.347784), 9.038648e04, 2.497118e05),
    (9, 1300, (-0.559435, 0.674185, -0.416859), 1.885000e02, 8.318492e03),
    (10, 900, (0.105011, -3.605748, 0.534948), 1.442800e07, 1.975812e07),
    (11, 1700, (-0.618767, 0.952037, 1.967692), 5.061680e06, 1.183700e06),
    (12, 2300, (-3.347348, 1.487901, 0.756864), 6.986979e08, 9.420050e08),
    (13, 1000, (1.232221, -2.460925, -1.363431), 2.323332e03, 2.481926e03),
    (14, 100, (-1.301911, 1.913065, 1.063458), 7.587438e01, 1.895351e02),
    (15, 1800, (3.906373, 2.870834, -0.785517), 1.152229e03, 1.060840e03),
    (16, 400, (-1.513859, -1.816144, 2.191027), 5.479574e01, 1.217643e02),
    (17, 1400, (3.575108, -0.205319, 3.829997), 6.635719e01, 1.150435e02),
    (18, 1300, (-3.99422, -2.395959, -1.129745), 7.696890e01, 8.537207e01),
    (19, 1300, (0.092773, 0.231304, -0.706975), 2.503737e-01, 1.329585e01),
    (20, 1500, (-2.104844, -2.104844, 2.104844), 2.639710e04, 3.145816e04),
    (21, 1500, (1.931974, 3.955705, 2.524955), 8.151778e01, 8.230404e01),
    (22, 1100, (0.426582, -0.496041, -1.535496), 8.460396e01, 8.574800e01),
    (23, 1300, (-1.96303, 0.001940245, -3.630585), 7.860873e00, 1.311375e01),
    (24, 1400, (-1.25, 1.25, 1.25), 4.811835e02, 6.735730e02),
)
CHECKS = [(10, *row) for row in CHECKS_10D] + [(30, *row) for row in CHECKS_30D]
HALF_A_DIGIT = 5.01e-7  # the values above have seven digits, the coordinates six behind the point


@pytest.mark.parametrize(("dimension", "function", "offset", "start", "at_zero", "at_one"), CHECKS)
def test_instance_is_the_one_of_the_paper(dimension, function, offset, start, at_zero, at_one):
    problem = paper_bbob(function, dimension)
    x_opt, f_opt = problem.optimum
    assert f_opt == offset
    np.testing.assert_allclose(x_opt[:3], start, rtol=0, atol=HALF_A_DIGIT)
    values = problem(np.stack([np.zeros(dimension), np.ones(dimension), x_opt])) - offset
    np.testing.assert_allclose(values[:2], [at_zero, at_one], rtol=HALF_A_DIGIT)
    assert values[2] == pytest.approx(0, abs=1e-12)


def test_both_tables_hold_all_functions():
    assert [row[0] for row in CHECKS_10D] == [row[0] for row in CHECKS_30D] == list(range(1, 25))


def test_training_and_test_functions_do_not_overlap():
    assert sorted(PAPER_TRAIN + PAPER_TEST) == list(range(1, 25))


def test_names_are_those_of_the_paper():
    assert len(set(PAPER_NAMES)) == 24
    assert paper_bbob(18, 2).name == "Schaffers_high_cond"


def test_rastrigin_is_rotated_here_and_separable_in_coco():
    def mixed_difference(problem):
        """f(a + b) - f(a) - f(b) + f(0) in two coordinates: zero exactly for a separable function."""
        x = problem.optimum.x
        a, b = np.eye(3)[:2]
        return problem(x + a + b) - problem(x + a) - problem(x + b) + problem(x)

    assert abs(mixed_difference(bbob(3, 1, 3))) < 1e-9
    assert abs(mixed_difference(paper_bbob(3, 3))) > 1


@pytest.mark.parametrize("function", [1, 7, 22, 24])
def test_any_dimension_follows_the_same_recipe(function):
    problem = paper_bbob(function, 100)
    assert problem(problem.optimum.x) == pytest.approx(problem.optimum.f, rel=0, abs=1e-9)
    assert np.all(problem(np.random.default_rng(0).uniform(-5, 5, (50, 100))) > problem.optimum.f)

"""CEC'2013 LSGO with generated data: minimum, structure, JAX transformations, the recipe, the reader of data files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.api import problem_catalog
from l2e.core.traced import runtime
from l2e.core.traced.problem import stack
from l2e.problems import lsgo, official_lsgo
from l2e.problems._lsgo import data as recipe
from l2e.problems._lsgo.logarithm import logarithm
from l2e.problems._lsgo.suite import DATA_VARIABLE, LSGO_GROUPS, NAMES, build

pytestmark = pytest.mark.usefixtures("quick_compilation")
FUNCTIONS = range(1, 16)
GROUPED = [f for f in FUNCTIONS if f in recipe.SIZES]
STEPS = {6: 1e-8, 10: 1e-8}  # far from their optima these have waves of length 1e-4 and less


@pytest.fixture(autouse=True)
def no_official_data(monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)


@jax.jit
def gradients(problem, points):
    return jax.vmap(jax.grad(lambda point: problem.evaluate(point[None])[0]))(points)


def sample(problem, n, seed=0):
    half = problem.space.upper[0]
    return np.random.default_rng(seed).uniform(-half, half, (n, problem.dimension))


def groups_of(problem):
    """The members of all groups, one array each."""
    return [members for groups in problem.parameters.groups for members in groups.members]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_dimension_box_and_name(function):
    problem = lsgo(function)
    half = {2: 5, 5: 5, 9: 5, 3: 32, 6: 32, 10: 32}.get(function, 100)
    assert problem.dimension == (905 if function in (13, 14) else 1000)
    assert (problem.space.lower == -half).all()
    assert (problem.space.upper == half).all()
    assert problem.name == NAMES[function - 1]


def test_every_function_is_in_one_reported_group():
    assert sorted(function for group in LSGO_GROUPS.values() for function in group) == list(FUNCTIONS)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f != 14])
def test_the_minimum_is_zero_at_the_optimum(function):
    problem = lsgo(function)
    assert problem.optimum is not None
    x, half = problem.optimum.x, problem.space.upper[0]
    assert problem(x) == problem.optimum.f == 0
    for size in (1e-6, 1e-2, 0.3):
        assert (problem(x + size * sample(problem, 16)) > 0).all()
    step = 1e-3 * half * np.eye(problem.dimension)[:: problem.dimension // 20]
    assert (problem(x + step) > 0).all()
    assert (problem(x - step) > 0).all()


def test_f14_has_no_common_optimum():
    problem = lsgo(14)
    assert problem.optimum is None
    assert (problem(sample(problem, 8)) > 0).all()


@pytest.mark.parametrize("function", LSGO_GROUPS["separable"])
def test_separable_functions_improve_one_coordinate_at_a_time(function):
    """Whatever the other coordinates are, the best value of one is its value at the optimum."""
    problem = lsgo(function)
    (point,) = sample(problem, 1)
    chosen = np.random.default_rng(1).choice(1000, 40, replace=False)
    moved = np.repeat(point[None], 40, 0)
    moved[np.arange(40), chosen] = problem.optimum.x[chosen]
    assert (problem(moved) < problem(point)).all()


@pytest.mark.parametrize("function", GROUPED)
def test_variables_interact_with_their_group_only(function):
    """Moving what a group shares with no other changes the slope along each of these, and along no other group."""
    problem = lsgo(function)
    members = groups_of(problem)
    counts = np.bincount(np.concatenate(members), minlength=problem.dimension)
    (point,) = sample(problem, 1)
    points = np.repeat(point[None], len(members) + 1, 0)
    for row, group in zip(points[1:], members, strict=True):
        row[group[counts[group] == 1]] *= 0.5
    with runtime.float64():
        slopes = np.asarray(gradients(problem, points))
    apart = np.abs(slopes[1:] - slopes[0]) > 1e-9 * np.abs(slopes[0])
    for changed, group in zip(apart, members, strict=True):
        own = group[counts[group] == 1]  # of what is shared, the slope in a far heavier group may hide the change
        assert set(own) <= set(np.flatnonzero(changed)) <= set(group)


@pytest.mark.parametrize("function", GROUPED)
def test_groups_take_the_variables_as_the_suite_says(function):
    problem = lsgo(function)
    members = groups_of(problem)
    counts = np.bincount(np.concatenate(members), minlength=problem.dimension)
    assert sorted(len(group) for group in members) == sorted(recipe.SIZES[function])
    left = problem.parameters.rest
    if function in recipe.OVERLAPS:
        assert (counts == 2).sum() == 5 * 19
        assert left is None
        assert set(counts) == {1, 2}
    elif function in (4, 5, 6, 7):
        assert len(left) == 700
        assert (counts[left] == 0).all()
        assert counts.sum() == 300
    else:
        assert (counts == 1).all()
        assert left is None


def test_overlapping_groups_agree_on_f13_and_conflict_on_f14():
    for function, agree in ((13, True), (14, False)):
        seen: dict[int, float] = {}
        same = []
        for groups in lsgo(function).parameters.groups:
            for variable, place in zip(np.ravel(groups.members), np.ravel(groups.optima), strict=True):
                if int(variable) in seen:
                    same.append(seen[int(variable)] == place)
                seen[int(variable)] = place
        assert len(same) == 95
        assert all(same) if agree else not any(same)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_compiled_and_mapped_values_are_those_of_single_points(function):
    problem = lsgo(function)
    points = sample(problem, 5)
    single = np.asarray([problem(point) for point in points])
    np.testing.assert_allclose(problem(points), single, rtol=1e-12)
    with runtime.float64():
        mapped = jax.jit(jax.vmap(lambda point: problem.evaluate(point[None])[0]))(jnp.asarray(points))
    np.testing.assert_allclose(np.asarray(mapped), single, rtol=1e-12)
    assert isinstance(problem(points[0]), float)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_finite_and_those_of_differences(function):
    problem = lsgo(function)
    (point,) = sample(problem, 1, seed=3)
    centre = point if problem.optimum is None else problem.optimum.x
    with runtime.float64():
        slopes = np.asarray(gradients(problem, np.stack([point, centre, np.zeros_like(point)])))
    assert np.isfinite(slopes).all()
    direction = slopes[0] / np.abs(slopes[0]).max()
    step = STEPS.get(function, 1e-6)
    difference = (problem(point + step * direction) - problem(point - step * direction)) / (2 * step)
    assert difference == pytest.approx(slopes[0] @ direction, rel=1e-4)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_float32_stays_float32_and_close(function):
    problem = lsgo(function)
    points = sample(problem, 4)
    values = jax.jit(lambda p, x: p.evaluate(x))(problem, points.astype(np.float32))
    assert values.dtype == jnp.float32
    np.testing.assert_allclose(np.asarray(values), problem(points), rtol=2e-3)


def test_instances_of_a_function_can_be_stacked_and_mapped_over():
    problems = [lsgo(8, instance=i) for i in (1, 2, 3)]
    points = sample(problems[0], 2)
    with runtime.float64():
        mapped = jax.jit(jax.vmap(lambda p: p.evaluate(points)))(stack(problems))
    np.testing.assert_allclose(np.asarray(mapped), [p(points) for p in problems], rtol=1e-12)
    assert len({float(value) for value in np.asarray(mapped)[:, 0]}) == 3


@pytest.mark.parametrize("function", FUNCTIONS)
def test_data_follow_the_recipe(function):
    data, again = recipe.generate(function, 1), recipe.generate(function, 1)
    np.testing.assert_array_equal(data.places, again.places)
    assert not np.array_equal(data.places, recipe.generate(function, 2).places)
    share = data.places / recipe.HALF_WIDTHS[function]
    assert (np.abs(share) <= 1).all()
    assert share.std() == pytest.approx(0.5396, abs=0.04)  # of a normal number cut off at one standard deviation
    assert len(share) == (905 if function == 13 else 1000)
    if data.groups is not None:
        assert sorted(data.groups.order) == list(range(recipe.DIMENSIONS[function]))
        for size, rotation in data.groups.rotations.items():
            np.testing.assert_allclose(rotation @ rotation.T, np.eye(size), atol=1e-12)


def test_weights_spread_over_many_decades():
    logarithms = np.concatenate([np.log10(recipe.generate(8, seed).groups.weights) for seed in range(1, 41)])
    assert logarithms.mean() == pytest.approx(0, abs=0.4)  # 800 numbers of standard deviation 3
    assert logarithms.std() == pytest.approx(3, abs=0.3)


def write(folder, function, data):
    """The data of a function as the official text files."""
    shifts = data.places - 1 if function == 12 else data.places
    lines = {"xopt": "\n".join(repr(float(number)) for number in shifts)}
    if data.groups is not None:
        order, sizes, weights, rotations = data.groups
        lines["p"] = ",".join(str(variable + 1) for variable in order)
        lines["s"] = "\n".join(str(size) for size in sizes)
        lines["w"] = "\n".join(repr(float(weight)) for weight in weights)
        for size, rotation in rotations.items():
            lines[f"R{size}"] = "\n".join(",".join(repr(float(x)) for x in row) for row in rotation)
    for what, text in lines.items():
        (folder / f"F{function}-{what}.txt").write_text(text + "\n")


@pytest.mark.parametrize("function", [1, 5, 8, 12, 13, 14])
def test_files_give_the_function_they_were_written_from(function, tmp_path, monkeypatch):
    data = recipe.generate(function, 7)
    write(tmp_path, function, data)
    expected = build(function, data)
    points = sample(expected, 3)
    np.testing.assert_allclose(lsgo(function, data=tmp_path)(points), expected(points), rtol=1e-13)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    np.testing.assert_array_equal(lsgo(function)(points), lsgo(function, data=tmp_path)(points))
    np.testing.assert_array_equal(official_lsgo(function)(points), lsgo(function, data=tmp_path)(points))
    assert not np.allclose(lsgo(function, instance=1)(points), lsgo(function)(points))


@pytest.mark.parametrize(
    ("what", "text", "message"),
    [
        ("xopt", "1\n2\n", "F4-xopt.txt must hold 1000 numbers, found 2"),
        ("xopt", "1,two", "F4-xopt.txt must hold numbers only, found 'two'"),
        ("xopt", "nan", "F4-xopt.txt holds a number that is not finite"),
        ("p", ",".join(["1"] * 1000), "F4-p.txt must hold each of the numbers 1 to 1000 once"),
        ("s", "50\n30\n", "F4-s.txt must hold group sizes of 25, 50 or 100, found"),
        ("s", "100\n" * 11, "F4-s.txt must hold group sizes that take some of the 1000 variables, found .* take 1100"),
        ("s", "", "F4-s.txt must hold group sizes that take some of the 1000 variables, found ones that take 0"),
        ("w", "1\n", "F4-w.txt must hold 7 numbers, found 1"),
        ("R25", "0.5", "F4-R25.txt must hold 625 numbers, found 1"),
    ],
)
def test_malformed_files_are_refused_by_name(what, text, message, tmp_path):
    write(tmp_path, 4, recipe.generate(4, 1))
    (tmp_path / f"F4-{what}.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        lsgo(4, data=tmp_path)


def test_groups_of_f8_must_take_all_variables(tmp_path):
    write(tmp_path, 8, recipe.generate(8, 1))
    (tmp_path / "F8-s.txt").write_text("100\n" * 9)
    with pytest.raises(
        ValueError, match="must hold group sizes that take all 1000 variables, found ones that take 900"
    ):
        lsgo(8, data=tmp_path)


def test_missing_folders_and_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
        lsgo(1, data=tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"cannot read .*F1-xopt.txt: No such file"):
        lsgo(1, data=tmp_path)
    with pytest.raises(FileNotFoundError, match=f"export {DATA_VARIABLE}="):
        official_lsgo(1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"function": 0}, ValueError, "function must be at least 1, got 0"),
        ({"function": 16}, ValueError, "function must be between 1 and 15, got 16"),
        ({"function": "f1"}, TypeError, "function must be an integer, got 'f1'"),
        ({"instance": 0}, ValueError, "instance must be at least 1, got 0"),
        ({"instance": 1, "data": "here"}, ValueError, "give either data"),
    ],
)
def test_errors_say_what_is_allowed(arguments, error, message):
    with pytest.raises(error, match=message):
        lsgo(**arguments)


def test_names_in_the_catalog():
    point = np.ones(1000)
    assert (
        problem_catalog.problem("lsgo:f5")(point)
        == problem_catalog.problem("lsgo:f5:i1:d1000")(point)
        == lsgo(5)(point)
    )
    assert problem_catalog.problem("lsgo:f5:i2")(point) == lsgo(5, instance=2)(point)
    with pytest.raises(ValueError, match="f13 of LSGO has 905 variables, not 1000"):
        problem_catalog.problem("lsgo:f13:d1000")


def test_the_logarithm_is_that_of_numpy_and_has_a_gradient():
    with runtime.float64():
        numbers = np.concatenate([10.0 ** np.linspace(-300, 300, 2001), 1 + np.linspace(-1e-6, 1e-6, 101), [0.5, 2, 1]])
        told, slopes = jax.jit(jax.vmap(jax.value_and_grad(logarithm)))(jnp.asarray(numbers))
        np.testing.assert_allclose(told, np.log(numbers), rtol=4e-16, atol=1e-22)
        np.testing.assert_allclose(slopes, 1 / numbers, rtol=1e-15)
    assert logarithm(jnp.float32(3)).dtype == jnp.float32

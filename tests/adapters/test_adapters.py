"""Every third-party searcher keeps the contract: it is counted exactly, keeps to the box, and stops when told to."""

import dataclasses
import subprocess
import sys
import warnings

import jax
import numpy as np
import pytest

from l2e.adapters import evosax
from l2e.adapters.evosax import STRATEGIES, EvosaxES, EvosaxLGA
from l2e.adapters.minion import POPULATION_SIZES, Minion
from l2e.adapters.pycma import LQCMA, PyCMA
from l2e.adapters.scipy import ScipyCOBYQA, ScipyDE, ScipyDualAnnealing, ScipyLBFGSB, ScipySLSQP
from l2e.adapters.unit_cube import NothingFiniteError, UnitMeter
from l2e.core.adapter import AbstractAdapter
from l2e.core.box import box
from l2e.core.errors import MissingExtraError, UnknownNameError
from l2e.core.evaluator import Evaluator
from l2e.core.stops import ObjectiveError, StopSearch

CUBE = box([(-5.0, 5.0)] * 3)
INSIDE = np.array([1.3, -2.1, 0.7])
LOPSIDED = box([(-1.0, 9.0), (100.0, 101.0), (-1e-3, 1e-3)])
CORNER = np.array([-1.0, 101.0, 1e-3])
BUDGET = 700


@dataclasses.dataclass(frozen=True)
class Case:
    """A method, and the values it must reach on the sphere within the budget, without and with failing evaluations."""

    name: str
    method: AbstractAdapter
    reaches: float
    with_failures: float = 0.3
    whole_budget: bool = True


# Above the worst of six seeds by a margin, and below what uniform sampling finds.
CASES = [
    Case("pycma", PyCMA(), 1e-11, whole_budget=False),
    Case("pycma-ipop", PyCMA(restarts="ipop"), 1e-11),
    Case("pycma-bipop", PyCMA(restarts="bipop"), 1e-11),
    Case("lq-cma", LQCMA(), 1e-20),
    Case("lq-cma-once", LQCMA(restarts="none"), 1e-20, whole_budget=False),
    Case("scipy-de", ScipyDE(), 0.05),
    Case("scipy-annealing", ScipyDualAnnealing(), 1e-11, with_failures=1.0),  # a failure spoils a local search
    Case("scipy-annealing-plain", ScipyDualAnnealing(no_local_search=True), 0.1),
    Case("scipy-slsqp", ScipySLSQP(), 1e-11),
    Case("scipy-lbfgsb", ScipyLBFGSB(), 1e-11),
    Case("scipy-cobyqa", ScipyCOBYQA(), 1e-11),
    Case("minion-LSHADE", Minion("LSHADE"), 1e-2),
    Case("minion-JADE", Minion("JADE"), 2e-2),
    Case("minion-jSO", Minion("jSO"), 1e-4),
    Case("minion-NLSHADE_RSP", Minion("NLSHADE_RSP"), 1e-3),
    Case("minion-NLSHADE_LBC", Minion("NLSHADE_LBC"), 1e-4),
    Case("minion-LSHADE_cnEpSin", Minion("LSHADE_cnEpSin"), 1e-3),
    Case("minion-LSRTDE", Minion("LSRTDE"), 1e-4),
    Case("minion-IMODE", Minion("IMODE"), 1e-2),
    Case("minion-ARRDE", Minion("ARRDE"), 1e-6),
    Case("minion-small", Minion("LSHADE", population_size=20), 1e-2),
    Case("evosax-LES", EvosaxES("LES"), 1e-2),
    Case("evosax-EvoTF", EvosaxES("EvoTF"), 1e-2),
    Case("evosax-CMAAnchoredLES", EvosaxES("CMAAnchoredLES"), 1e-11),
    Case("evosax-LGA", EvosaxLGA(), 1e-2),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def sphere(point):
    return float(np.sum((point - INSIDE) ** 2))


def to_corner(point):
    return float(np.sum(((point - CORNER) / np.asarray(LOPSIDED.width)) ** 2))


class Counting:
    """Remembers every point it was called with."""

    def __init__(self, function):
        self.function = function
        self.calls = []

    def __call__(self, point):
        self.calls.append(point.copy())
        return self.function(point)


def search(method, function, space=CUBE, budget=BUDGET, seed=0, start=None, **settings):
    """Run a method to its end: the points it evaluated, the evaluator, and why it ended."""
    counting = Counting(function)
    evaluate = Evaluator(counting, space, budget, **settings)
    try:
        reason = method.run(evaluate, space, seed, start)
    except StopSearch as stop:
        reason = stop.reason
    assert evaluate.stop is None or evaluate.stop.reason == reason
    return np.array(counting.calls), evaluate, reason


@every_case
@pytest.mark.parametrize("budget", [1, 37, 300])
def test_calls_are_what_the_evaluator_counted(case, budget):
    points, evaluate, reason = search(case.method, sphere, budget=budget)
    assert len(points) == evaluate.used <= budget
    if case.whole_budget:
        assert evaluate.used == budget
        assert reason == "budget"
    else:
        assert evaluate.used == budget or reason.startswith("converged: ")


@every_case
def test_reaches_the_minimum_of_the_sphere(case):
    _, evaluate, _ = search(case.method, sphere)
    assert evaluate.best_f <= case.reaches


def test_uniform_sampling_misses_every_stated_value():
    points = np.random.default_rng(0).uniform(-5, 5, (50, BUDGET, 3))
    best = np.sum((points - INSIDE) ** 2, axis=-1).min(axis=1)
    assert np.quantile(best, 0.1) > 1.5 * max(case.reaches for case in CASES)


def test_every_named_algorithm_is_tested():
    methods = [case.method for case in CASES]
    assert {method.algorithm for method in methods if isinstance(method, Minion)} == set(POPULATION_SIZES)
    assert {method.algorithm for method in methods if isinstance(method, EvosaxES)} == set(STRATEGIES)


@every_case
def test_same_seed_same_points(case):
    first, _, _ = search(case.method, sphere, seed=3, budget=200)
    again, _, _ = search(case.method, sphere, seed=3, budget=200)
    other, _, _ = search(case.method, sphere, seed=4, budget=200)
    np.testing.assert_array_equal(first, again)
    n = min(len(first), len(other))
    assert not np.array_equal(first[:n], other[:n])


@every_case
def test_stays_in_a_lopsided_box_with_the_minimum_in_a_corner(case):
    points, evaluate, _ = search(case.method, to_corner, LOPSIDED)
    assert (points >= LOPSIDED.lower).all()
    assert (points <= LOPSIDED.upper).all()
    assert evaluate.best_f <= 1e-2


@every_case
def test_start_is_the_first_evaluation(case):
    start = np.array([0.5, 100.9, -5e-4])
    points, _, _ = search(case.method, to_corner, LOPSIDED, budget=30, start=start)
    np.testing.assert_allclose((points[0] - start) / np.asarray(LOPSIDED.width), 0.0, atol=1e-6)


@every_case
def test_start_in_a_corner(case):
    points, evaluate, _ = search(case.method, to_corner, LOPSIDED, budget=60, start=CORNER)
    assert evaluate.best_f <= 1e-10
    assert (points >= LOPSIDED.lower).all()
    assert (points <= LOPSIDED.upper).all()


@every_case
def test_goes_on_when_a_share_of_the_evaluations_fails(case):
    dice = np.random.default_rng(5)

    def unreliable(point):
        thrown = dice.uniform()
        if thrown < 0.1:
            raise KeyError("lost")
        return np.nan if thrown < 0.2 else -np.inf if thrown < 0.3 else sphere(point)

    with pytest.warns(RuntimeWarning, match="such points rank last"):
        points, evaluate, reason = search(case.method, unreliable)
    assert len(points) == evaluate.used
    assert evaluate.used == BUDGET or reason.startswith("converged: ")
    assert 0.15 * evaluate.used < evaluate.failed < 0.45 * evaluate.used
    assert evaluate.best_f <= case.with_failures


@every_case
def test_goes_on_when_every_evaluation_fails(case):
    with pytest.warns(RuntimeWarning, match="such points rank last"):
        points, evaluate, reason = search(case.method, lambda point: np.nan, budget=150)
    assert len(points) == evaluate.used == evaluate.failed == 150
    assert reason == "budget"


@every_case
def test_failures_before_the_first_success_do_no_harm(case):
    seen = []

    def late(point):
        seen.append(point)
        return np.nan if len(seen) <= 20 else sphere(point)

    with pytest.warns(RuntimeWarning, match="such points rank last"):
        _, evaluate, _ = search(case.method, late)
    assert evaluate.failed == 20
    assert evaluate.best_f <= 0.3


@every_case
@pytest.mark.parametrize("function", [lambda point: 3.0, lambda point: 1e300 * sphere(point)], ids=["flat", "huge"])
def test_tolerates_values_without_a_scale(case, function):
    points, evaluate, _ = search(case.method, function, budget=120)
    assert len(points) == evaluate.used
    assert np.isfinite(evaluate.best_f)


@every_case
def test_stops_at_the_target_without_a_budget(case):
    points, evaluate, reason = search(case.method, sphere, budget=None, target=0.2)
    assert reason == "target"
    assert sphere(points[-1]) <= 0.2
    assert all(sphere(point) > 0.2 for point in points[:-1])
    assert len(points) == evaluate.used < 5000


@every_case
@pytest.mark.parametrize("error", [ObjectiveError, KeyboardInterrupt])
def test_errors_come_out_as_themselves(case, error):
    seen = []

    def failing(point):
        seen.append(point)
        if len(seen) == 25:
            raise KeyboardInterrupt if error is KeyboardInterrupt else ZeroDivisionError
        return sphere(point)

    with pytest.raises(error):
        search(case.method, failing, on_error="raise")
    assert len(seen) == 25


@every_case
def test_leaves_global_random_state_folder_and_output_alone(case, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    kept = np.random.get_state()  # noqa: NPY002 - the global generator is what is tested
    try:
        runs = []
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002
            before = np.random.get_state()  # noqa: NPY002
            runs.append(search(case.method, sphere, budget=60)[0])
            after = np.random.get_state()  # noqa: NPY002
            assert before[2:] == after[2:]
            np.testing.assert_array_equal(before[1], after[1])
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    np.testing.assert_array_equal(*runs)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@every_case
def test_warnings_of_the_objective_are_not_hidden(case):
    def warned(point):
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        return sphere(point)

    with pytest.warns(UserWarning, match="mind the gap"):
        search(case.method, warned, budget=3)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name.startswith(("scipy", "minion"))], ids=lambda c: c.name
)
def test_one_dimension(case):
    line = box([(-2.0, 3.0)])
    _, evaluate, _ = search(case.method, lambda point: float((point[0] - 1.1) ** 2), line, budget=200)
    assert evaluate.used == 200
    assert evaluate.best_f <= 1e-2


@pytest.mark.parametrize("method", [PyCMA(), LQCMA()])
def test_pycma_refuses_one_dimension(method):
    with pytest.raises(ValueError, match="at least two coordinates"):
        search(method, sphere, box([(-2.0, 3.0)]))


@pytest.mark.parametrize(
    ("method", "package"),
    [
        (PyCMA(), "cma"),
        (LQCMA(), "cma"),
        (Minion(), "minionpy"),
        (EvosaxES(population_size=5), "evosax"),
        (EvosaxLGA(population_size=5), "evosax"),
    ],
)
def test_a_missing_package_names_the_extra(method, package, monkeypatch):
    class Absent:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for module in [name for name in sys.modules if name == package or name.startswith(package + ".")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*pip install 'l2e\[bench\]'"):
        search(method, sphere)


def test_importing_the_adapters_imports_no_optional_package():
    code = (
        "import sys, l2e.adapters.pycma, l2e.adapters.minion, l2e.adapters.evosax, "
        "l2e.adapters.scipy; print({'cma', 'minionpy', 'evosax'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_generations_are_evaluated_as_batches():
    sizes = {}
    for name, method in [
        ("de", ScipyDE()),
        ("cma", PyCMA(population_size=9)),
        ("les", EvosaxES()),
        ("shade", Minion()),
    ]:
        seen = sizes.setdefault(name, [])

        def batch(points, seen=seen):
            seen.append(len(points))
            return np.sum((points - INSIDE) ** 2, axis=1)

        evaluate = Evaluator(batch, CUBE, 90, vectorized=True)
        with pytest.raises(StopSearch):
            method.run(evaluate, CUBE, 0)
    assert sizes["de"] == [45, 45]
    assert sizes["cma"] == [9] * 10
    assert sizes["les"] == [16] * 5 + [10]
    assert sizes["shade"][0] == 18 * 3


def test_restarts_change_the_population():
    def batch_sizes(restarts):
        sizes = []

        def flat(points):
            sizes.append(len(points))
            return np.zeros(len(points))

        with pytest.raises(StopSearch):
            PyCMA(restarts=restarts, population_size=6).run(Evaluator(flat, CUBE, 2000, vectorized=True), CUBE, 0)
        return [size for size in sizes if size > 1]

    doubled = batch_sizes("ipop")
    assert set(doubled[:-1]) <= {6 * 2**i for i in range(9)}
    assert doubled[:-1] == sorted(doubled[:-1])
    assert max(doubled) >= 96
    turns = batch_sizes("bipop")
    assert turns != sorted(turns)
    assert min(turns[:-1]) >= 6


def test_equal_shapes_share_one_evosax_algorithm():
    search(EvosaxES(), sphere, budget=20)
    built = evosax._build.cache_info().currsize
    search(EvosaxES(standard_deviation=0.5), sphere, seed=9, budget=20)
    assert evosax._build.cache_info().currsize == built


def test_evosax_searches_in_float64_and_the_objective_runs_in_the_callers_precision():
    offset, seen = 1e4, set()

    def function(point):
        seen.add(str(jax.numpy.zeros(()).dtype))
        return offset + sphere(point)

    _, evaluate, _ = search(EvosaxES("CMAAnchoredLES"), function, budget=1500)
    assert evaluate.best_f - offset < 1e-9
    assert seen == {"float32"}


def test_failed_values_are_told_as_worse_than_all_so_far():
    values = iter([np.nan, 2.0, np.nan, 7.0, np.nan, -1e200, 1e200, 1e300])
    meter = UnitMeter(Evaluator(lambda point: next(values), CUBE, None), CUBE, limit=1e100)
    centre = np.full(3, 0.5)
    with pytest.warns(RuntimeWarning, match="rank last"), pytest.raises(NothingFiniteError):
        meter.finite(centre)
    assert meter.finite(centre) == 2.0
    assert meter.finite(centre) > 2.0
    assert meter.finite([centre, centre]).tolist() == [7.0, 7.05]
    assert -1e103 < meter.finite(centre) < -1e100
    large, larger = meter.finite(centre), meter.finite(centre)
    assert 1e100 < large < larger < 1e103


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: PyCMA(restarts="bi-pop"), UnknownNameError, "did you mean bipop"),
        (lambda: PyCMA(sigma=0.0), ValueError, "share of the width"),
        (lambda: LQCMA(population_size=2), ValueError, "at least 4"),
        (lambda: Minion("L-SHADE"), UnknownNameError, "did you mean"),
        (lambda: Minion(population_size=3), ValueError, "at least 10"),
        (lambda: EvosaxES("LGA"), UnknownNameError, "allowed: CMAAnchoredLES"),
        (lambda: EvosaxLGA(population_size=1), ValueError, "at least 4"),
        (lambda: EvosaxES(standard_deviation=0.0), ValueError, "standard_deviation"),
    ],
)
def test_wrong_settings_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()

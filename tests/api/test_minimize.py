"""`minimize` as users call it: conventions, errors at the door, failures, resuming, Ctrl-C."""

import dataclasses

import jax
import numpy as np
import pytest
import scipy.optimize

import l2e
from l2e.algorithms import CMAES
from l2e.core.adapter import AbstractAdapter
from l2e.core.checkpoint import CheckpointError
from l2e.core.errors import UnknownNameError

BOUNDS = [(-5, 5)] * 3


def sphere(x):
    return float(((x - 1) ** 2).sum())


def short(function=sphere, **options):
    return l2e.minimize(function, **{"bounds": BOUNDS, "budget": 300, "rng": 0} | options)


def test_result_has_scipys_fields() -> None:
    result = short()
    assert isinstance(result, scipy.optimize.OptimizeResult)
    assert result.nfev == 300
    assert result.fun == sphere(result.x) == result.history.fun[-1]
    assert (result.success, result.status, result.reason) == (True, 1, "budget")
    assert (np.diff(result.history.fun) < 0).all()
    assert result.nit > 1
    assert result.failures == []


def test_reaches_eight_digits_in_float64_and_leaves_the_users_setting_alone() -> None:
    assert not jax.config.jax_enable_x64
    result = short(budget=3000, target=1e-14)
    assert result.fun <= 1e-14
    assert result.reason == "target"
    assert not jax.config.jax_enable_x64
    assert jax.numpy.ones(1).dtype == jax.numpy.float32


def test_the_objective_runs_under_the_users_own_setting() -> None:
    seen = set()

    def function(x):
        seen.add(str(jax.numpy.ones(1).dtype))
        return sphere(x)

    short(function, budget=20)
    assert seen == {"float32"}


@pytest.mark.parametrize(
    "bounds", [BOUNDS, np.array(BOUNDS), scipy.optimize.Bounds([-5] * 3, [5] * 3), l2e.box(BOUNDS)]
)
def test_bounds_in_any_form_give_the_same_run(bounds) -> None:
    np.testing.assert_array_equal(short(bounds=bounds).x, short().x)


def test_same_seed_same_result_for_every_kind_of_rng() -> None:
    for make in (lambda: 7, lambda: np.random.default_rng(7), lambda: jax.random.key(7), lambda: jax.random.PRNGKey(7)):
        np.testing.assert_array_equal(short(rng=make()).x, short(rng=make()).x)
    assert not np.array_equal(short(rng=7, method="cmaes").x, short(rng=8, method="cmaes").x)
    assert not np.array_equal(short(rng=None, method="cmaes").x, short(rng=None, method="cmaes").x)


def test_vectorized_and_single_are_the_same_run() -> None:
    batches = []

    def function(points):
        batches.append(points.shape)
        return ((points - 1) ** 2).sum(axis=1)

    result = short(function, vectorized=True)
    np.testing.assert_array_equal(result.x, short().x)
    assert sum(n for n, _ in batches) == 300


def test_args_are_passed_on() -> None:
    result = short(lambda x, shift, scale: scale * float(((x - shift) ** 2).sum()), args=(2.0, 3.0), budget=1500)
    np.testing.assert_allclose(result.x, 2, atol=1e-3)


def test_x0_is_used() -> None:
    near = short(x0=[1, 1, 1], budget=20).fun
    far = short(x0=[-5, -5, -5], budget=20).fun
    assert near < far


def test_callback_and_stop_iteration() -> None:
    def callback(intermediate_result):
        if intermediate_result.nfev >= 50:
            raise StopIteration

    result = short(callback=callback)
    assert result.reason == "callback"
    assert 50 <= result.nfev < 120
    assert result.success


def test_a_problem_brings_its_own_box() -> None:
    problem = l2e.problems.bbob(function=1, instance=1, dimension=3)
    result = l2e.minimize(problem, budget=2000, rng=0)
    assert result.fun - problem.optimum.f < 1e-8
    assert l2e.minimize(l2e.HostFunction(sphere, l2e.box(BOUNDS)), budget=300, rng=0).fun == short().fun


def test_an_optimizer_object_is_a_method() -> None:
    result = short(method=CMAES(12))
    assert result.method == "CMAES"
    assert result.nit == 25


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bounds": [(5, -5)] * 3}, ValueError, "lower end"),
        ({"bounds": [(-np.inf, 5)]}, ValueError, "finite"),
        ({"bounds": None}, ValueError, "bounds are needed"),
        ({"budget": 0}, ValueError, "at least 1"),
        ({"budget": -3}, ValueError, "at least 1"),
        ({"budget": 2.5}, TypeError, "whole number"),
        ({"budget": "many"}, TypeError, "whole number"),
        ({"method": "cmeas"}, UnknownNameError, "did you mean cmaes"),
        ({"method": 3}, TypeError, "name or an algorithm"),
        ({"x0": [0, 0]}, ValueError, r"shape \(3,\)"),
        ({"x0": [0, 0, 9]}, ValueError, r"x0\[2\] = 9.0 is outside"),
        ({"x0": [0, 0, np.nan]}, ValueError, "finite"),
        ({"rng": -1}, ValueError, "non-negative"),
        ({"rng": "zero"}, TypeError, "rng must be"),
        ({"on_error": "ignore"}, UnknownNameError, "penalize"),
        ({"max_seconds": 0}, ValueError, "positive"),
        ({"timeout": -1}, ValueError, "positive"),
        ({"population_size": 2, "method": "cmaes"}, ValueError, "at least 4"),
        ({"population_size": 0}, ValueError, "at least 1"),
    ],
)
def test_bad_input_is_an_error_at_the_door(options, error, message) -> None:
    calls = []
    with pytest.raises(error, match=message):
        short(lambda x: calls.append(1) or 0.0, **options)
    assert not calls


def test_unknown_options_are_errors() -> None:
    with pytest.raises(TypeError, match="popsize"):
        short(popsize=3)
    with pytest.raises(TypeError, match="callable"):
        short(3)


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
@pytest.mark.parametrize("bad", ["nan", "inf", "raise"])
@pytest.mark.parametrize("method", ["cmaes-bipop", "de", "lshade", "pso"])
def test_partly_failing_objectives_are_minimised_all_the_same(bad, method) -> None:
    def function(x):
        if x[0] < 0:
            if bad == "raise":
                raise ArithmeticError("left half")
            return float(bad)
        return sphere(x)

    result = short(function, method=method, budget=2500)
    assert result.fun < 1e-2
    assert result.x[0] >= 0
    assert result.n_failed > 0
    assert result.nfev == 2500


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_when_everything_fails_it_says_so() -> None:
    result = short(lambda x: np.nan)
    assert not result.success
    assert result.x is None
    assert result.fun == np.inf
    assert "none of 300 evaluations" in result.message
    assert result.status == -1


def test_on_error_raise() -> None:
    with pytest.raises(l2e.ObjectiveError):
        short(lambda x: np.nan, on_error="raise")


def test_a_budget_smaller_than_the_population() -> None:
    for method in ("cmaes-bipop", "de", "lshade", "pso", "sahlpso", "random-search"):
        result = short(budget=3, method=method)
        assert result.nfev == 3
        assert result.success


class Stopper:
    """An objective that is interrupted by the user at a certain evaluation."""

    def __init__(self, at: int):
        self.at = at
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return sphere(x)


def test_ctrl_c_keeps_the_best_so_far() -> None:
    with pytest.raises(l2e.InterruptedSearch) as caught:
        short(Stopper(at=100))
    result = caught.value.result
    assert result.reason == "interrupted"
    assert not result.success
    assert result.nfev == 99
    assert np.isfinite(result.fun)


@pytest.mark.parametrize("method", ["cmaes-bipop", "de", "lshade"])
def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, method) -> None:
    whole = short(method=method, budget=900)
    path = tmp_path / "run.l2e"
    for at in (137, 250):
        with pytest.raises(l2e.InterruptedSearch):
            short(Stopper(at), method=method, budget=900, checkpoint=path)
    resumed = short(method=method, budget=900, checkpoint=path)
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.history.nfev, whole.history.nfev)
    np.testing.assert_array_equal(resumed.history.fun, whole.history.fun)
    assert (resumed.nfev, resumed.nit) == (whole.nfev, whole.nit)
    calls = []
    again = short(lambda x: calls.append(1), method=method, budget=900, checkpoint=path)
    assert again.fun == whole.fun
    assert not calls


def test_a_checkpoint_of_another_search_is_refused(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    short(checkpoint=path)
    for other in ({"rng": 5}, {"bounds": [(-4, 4)] * 3}, {"x0": [0.5, 0.5, 0.5]}, {"method": "de"}):
        with pytest.raises(CheckpointError, match=r"another search: .*differ"):
            short(checkpoint=path, **other)
    path.write_bytes(b"rubbish")
    with pytest.raises(CheckpointError, match="not a saved search"):
        short(checkpoint=path)


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_failures_survive_a_checkpoint(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    first = short(lambda x: np.nan if x[0] > 0 else sphere(x), checkpoint=path)
    second = short(checkpoint=path)
    assert second.n_failed == first.n_failed > 0
    assert [failure.reason for failure in second.failures] == [failure.reason for failure in first.failures]
    np.testing.assert_array_equal(second.failures[-1].x, first.failures[-1].x)


def test_the_former_name_of_the_default_says_what_it_is_called_now() -> None:
    with pytest.raises(UnknownNameError, match=r"'auto'.*'l2e-base-10d' or 'l2e-mamba-10d'"):
        l2e.minimize(lambda x: 0.0, bounds=[(0, 1)], budget=1, method="l2e")


@dataclasses.dataclass(frozen=True)
class Broken(AbstractAdapter):
    """A method that evaluates a little and then fails."""

    def run(self, evaluate, space, seed, start=None) -> str:
        evaluate(np.full((3, space.dimension), 0.5))
        raise ZeroDivisionError("inside the method")


def test_a_method_that_fails_loses_nothing() -> None:
    with pytest.raises(ZeroDivisionError, match="inside the method") as caught:
        short(method=Broken())
    assert caught.value.result.nfev == 3
    assert caught.value.result.fun == sphere(np.full(3, 0.5))
    assert "3 evaluations were made" in caught.value.__notes__[0]


def test_a_callback_that_fails_loses_nothing() -> None:
    def callback(intermediate_result):
        raise LookupError("in the callback")

    with pytest.raises(LookupError, match="in the callback") as caught:
        short(callback=callback)
    assert caught.value.result.nfev > 0

"""Evaluations that fail: the policy, and the end of a run that brings nothing but one error."""

import pytest

import l2e
from l2e.core.errors import MissingExtraError
from l2e.core.failing import SAME_BUGS, SAME_ERRORS, OnError, SameErrors, on_error_policy

BOUNDS = [(-5.0, 5.0)] * 3


def test_policies_by_their_words() -> None:
    assert on_error_policy("penalize") == OnError(True, 0)
    assert on_error_policy("raise") == OnError(False, 0)
    assert on_error_policy("retry") == OnError(True, 1)
    assert on_error_policy("retry(12)") == OnError(True, 12)


@pytest.mark.parametrize("given", ["ignore", "retry()", "retry(-1)", None, 3])
def test_other_words_are_errors_that_name_the_allowed_ones(given) -> None:
    with pytest.raises(ValueError, match=r"allowed: penalize, raise, retry"):
        on_error_policy(given)


@pytest.mark.parametrize(("error", "calls"), [(TypeError("two arguments"), SAME_BUGS), (OSError("x"), SAME_ERRORS)])
def test_a_run_whose_first_calls_all_raise_the_same_ends_and_shows_it(error, calls) -> None:
    def broken(x):
        raise error

    with pytest.warns(RuntimeWarning, match="the objective raised"):
        result = l2e.minimize(broken, bounds=BOUNDS, budget=500, rng=0)
    assert result.nfev == calls
    assert not result.success
    assert result.reason == "errors"
    assert type(error).__name__ in result.message
    assert "in broken: raise error" in result.message


def test_a_missing_extra_is_said_at_once_and_costs_nothing() -> None:
    def robot(x):
        raise MissingExtraError("this needs 'brax'")

    with pytest.raises(MissingExtraError, match="brax"):
        l2e.minimize(robot, bounds=BOUNDS, budget=50, rng=0)


def test_a_run_goes_on_if_one_call_succeeds_or_the_errors_differ() -> None:
    def mostly(x):
        if x[0] < 4:
            raise OSError("somewhere else")
        return 1.0

    def different(x):
        raise OSError(str(x[0]))

    for function in (mostly, different):
        with pytest.warns(RuntimeWarning, match="the objective raised"):
            assert l2e.minimize(function, bounds=BOUNDS, budget=60, rng=0, x0=[4.5, 0, 0]).nfev == 60


def test_values_that_are_no_numbers_never_end_a_run() -> None:
    watch = SameErrors()
    assert all(watch.saw("returned nan", "") is None for _ in range(100))


def test_a_failure_has_its_seconds_and_the_last_line_of_the_traceback() -> None:
    def sometimes(x):
        if x[0] > 0:
            raise ValueError("too far")
        return float((x**2).sum())

    with pytest.warns(RuntimeWarning, match="the objective raised"):
        result = l2e.minimize(sometimes, bounds=BOUNDS, budget=60, rng=0)
    failure = result.failures[0]
    assert failure.reason == "raised ValueError('too far')"
    assert failure.where.endswith('in sometimes: raise ValueError("too far")')
    assert 0 <= failure.seconds < 60
    assert result.evaluations.status[failure.evaluation - 1] == "raised"


def test_a_callback_that_returns_true_stops_and_gets_the_batch() -> None:
    seen = []

    def watch(state) -> bool:
        seen.append((state.points.shape, state.values_of_points.shape))
        return state.nfev >= 10

    result = l2e.minimize(lambda x: float((x**2).sum()), bounds=BOUNDS, budget=60, rng=0, callback=watch)
    assert result.reason == "callback"
    assert 10 <= result.nfev < 60
    assert all(points == (*values, 3) for points, values in seen)

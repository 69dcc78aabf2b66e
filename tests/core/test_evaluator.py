"""The one meter: it counts every call, refuses the one after the last, and records what happened."""

import time

import numpy as np
import pytest

from l2e.core.box import box
from l2e.core.evaluator import Evaluator
from l2e.core.meter import MAX_RECORDED_FAILURES
from l2e.core.stops import BudgetExhausted, ObjectiveError, OutOfTime, StoppedByCallback, TargetReached

SPACE = box([(-1, 1)] * 2)


class Counting:
    """The sphere, which remembers how often it was called."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return float((x**2).sum())


def test_counts_and_refuses_the_evaluation_after_the_last() -> None:
    function = Counting()
    evaluate = Evaluator(function, SPACE, budget=5)
    evaluate(np.zeros((3, 2)))
    with pytest.raises(BudgetExhausted):
        evaluate(np.full((4, 2), 0.5))
    assert function.calls == evaluate.used == 5
    with pytest.raises(BudgetExhausted):
        evaluate(np.zeros(2))
    assert function.calls == 5


def test_single_points_and_batches_give_the_same_values() -> None:
    evaluate = Evaluator(Counting(), SPACE, budget=10)
    assert evaluate(np.array([0.5, 0.5])) == 0.5
    np.testing.assert_array_equal(evaluate(np.array([[0.5, 0.5], [0, 1]])), [0.5, 1.0])


def test_history_holds_the_improvements() -> None:
    evaluate = Evaluator(Counting(), SPACE, budget=10)
    evaluate(np.array([[1, 1], [1, 0], [1, 1], [0.5, 0]]))
    np.testing.assert_array_equal(evaluate.history.nfev, [1, 2, 4])
    np.testing.assert_array_equal(evaluate.history.fun, [2, 1, 0.25])
    np.testing.assert_array_equal(evaluate.best_x, [0.5, 0])


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_values_are_failures_and_rank_last(bad) -> None:
    evaluate = Evaluator(lambda x: bad if x[0] > 0 else 1.0, SPACE, budget=10)
    values = evaluate(np.array([[0.5, 0], [-0.5, 0]]))
    assert values[0] == np.inf
    assert (evaluate.best_f, evaluate.failed, evaluate.used) == (1.0, 1, 2)
    assert evaluate.failures[0].evaluation == 1
    np.testing.assert_array_equal(evaluate.failures[0].x, [0.5, 0])


def test_exceptions_are_recorded_with_their_words_and_warned_of_once() -> None:
    def function(x):
        raise ZeroDivisionError("no bread")

    evaluate = Evaluator(function, SPACE, budget=10)
    with pytest.warns(RuntimeWarning, match="no bread") as caught:
        evaluate(np.zeros((3, 2)))
    assert len(caught) == 1
    assert evaluate.failed == 3
    assert "no bread" in evaluate.failures[2].reason


def test_on_error_raise() -> None:
    evaluate = Evaluator(lambda x: np.nan, SPACE, budget=10, on_error="raise")
    with pytest.raises(ObjectiveError, match="nan"):
        evaluate(np.zeros(2))

    def broken(x):
        raise KeyError("x")

    with pytest.raises(ObjectiveError, match="KeyError"):
        Evaluator(broken, SPACE, budget=10, on_error="raise")(np.zeros(2))


@pytest.mark.parametrize(
    ("answer", "message"),
    [([1, 2], "shape"), ("high", "real number"), ("3.5", "real number"), (None, "real number"), (1j, "real number")],
)
def test_an_answer_that_is_no_number_is_an_error_at_once(answer, message) -> None:
    with pytest.raises(ObjectiveError, match=message):
        Evaluator(lambda x: answer, SPACE, budget=10)(np.zeros(2))


def test_vectorized_answers_are_checked() -> None:
    evaluate = Evaluator(lambda x: np.zeros(len(x) + 1), SPACE, budget=10, vectorized=True)
    with pytest.raises(ObjectiveError, match=r"3 real numbers, it returned an array of shape \(4,\)"):
        evaluate(np.zeros((3, 2)))


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_recorded_failures_are_bounded() -> None:
    evaluate = Evaluator(lambda x: np.full(len(x), np.nan), SPACE, budget=10**6, vectorized=True)
    evaluate(np.zeros((MAX_RECORDED_FAILURES + 50, 2)))
    assert evaluate.failed == MAX_RECORDED_FAILURES + 50
    assert len(evaluate.failures) == MAX_RECORDED_FAILURES


def test_target_stops_within_the_batch() -> None:
    function = Counting()
    evaluate = Evaluator(function, SPACE, budget=10, target=0.3)
    with pytest.raises(TargetReached):
        evaluate(np.array([[1, 0], [0.5, 0], [0, 0]]))
    assert function.calls == evaluate.used == 2
    assert evaluate.best_f == 0.25


def test_callback_sees_progress_and_stops() -> None:
    seen = []

    def callback(intermediate_result):
        seen.append((intermediate_result.nfev, intermediate_result.fun))
        if intermediate_result.nfev >= 4:
            raise StopIteration

    evaluate = Evaluator(Counting(), SPACE, budget=10, callback=callback)
    evaluate(np.ones((2, 2)))
    with pytest.raises(StoppedByCallback):
        evaluate(np.zeros((2, 2)))
    assert seen == [(2, 2.0), (4, 0.0)]


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_a_hanging_evaluation_is_given_up() -> None:
    def function(x):
        time.sleep(900 if x[0] > 0 else 0)
        return 1.0

    began = time.monotonic()
    evaluate = Evaluator(function, SPACE, budget=10, timeout=3.0)
    values = evaluate(np.array([[1, 0], [-1, 0]]))
    assert time.monotonic() - began < 600
    assert values.tolist() == [np.inf, 1.0]
    assert "timed out" in evaluate.failures[0].reason


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_max_seconds_ends_a_run_that_hangs() -> None:
    evaluate = Evaluator(lambda x: time.sleep(900), SPACE, budget=10, max_seconds=0.2)
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        evaluate(np.zeros((3, 2)))
    assert time.monotonic() - began < 600


def test_points_outside_the_box_are_refused() -> None:
    evaluate = Evaluator(Counting(), SPACE, budget=10)
    for bad in ([1.01, 0], [np.nan, 0]):
        with pytest.raises(ValueError, match="outside"):
            evaluate(np.array(bad))
    with pytest.raises(ValueError, match="shape"):
        evaluate(np.zeros(3))
    assert evaluate.used == 0


def test_the_function_may_scribble_on_its_argument() -> None:
    def scribble(x):
        x[:] = 99
        return 1.0

    evaluate = Evaluator(scribble, SPACE, budget=10)
    points = np.full((2, 2), 0.25)
    evaluate(points)
    np.testing.assert_array_equal(points, 0.25)
    np.testing.assert_array_equal(evaluate.best_x, [0.25, 0.25])

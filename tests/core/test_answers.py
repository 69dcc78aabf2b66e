"""Whatever an objective answers is a number, a recorded failure, or an error that says what it was."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.core.answers import as_numbers, description


class Tensor:
    """As PyTorch's tensors behave: numpy cannot have one that requires a gradient."""

    def __init__(self, value):
        self.value = value

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")

    def detach(self):
        return Detached(self.value)


class Detached:
    def __init__(self, value):
        self.value = value

    def cpu(self):
        return self

    def double(self):
        return self

    def numpy(self):
        return np.asarray(self.value, dtype=np.float64)


class UnreadableError(Exception):
    def __repr__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        (3, 3.0),
        (np.float32(2.5), 2.5),
        (np.asarray(4.0), 4.0),
        (np.asarray([4.0]), 4.0),
        (np.asarray([[4.0]]), 4.0),
        ([7], 7.0),
        (True, 1.0),
        (jnp.asarray(1.5, jnp.bfloat16), 1.5),
        (np.float16(0.5), 0.5),
        pytest.param(10**400, np.inf, id="huge"),
        pytest.param(-(10**400), -np.inf, id="minus huge"),
        (Tensor(2.0), 2.0),
    ],
)
def test_one_number_of_any_kind_is_taken(answer, number) -> None:
    np.testing.assert_array_equal(as_numbers(answer, 1), [number])


NO_NUMBERS = [None, "3", 1j, [1.0, 2.0], [[1.0], [2.0, 3.0]], {}, object(), np.zeros((1, 1, 1))]


@pytest.mark.parametrize("answer", NO_NUMBERS)
def test_an_answer_that_is_no_number_is_a_recorded_failure_of_a_function_that_has_given_numbers(answer) -> None:
    with pytest.warns(RuntimeWarning, match="must return one real number"):
        result = l2e.minimize(lambda x: answer if x[0] > 1 else 1.0, bounds=[(-5, 5)] * 2, budget=50, rng=0)
    assert result.nfev == 50
    assert 0 < result.n_failed < 50
    assert result.fun == 1.0


@pytest.mark.parametrize("answer", NO_NUMBERS)
def test_a_function_whose_first_answer_is_no_number_is_wrong_and_said_so_at_once(answer) -> None:
    calls = []
    with pytest.raises(l2e.ObjectiveError, match="must return one real number") as caught:
        l2e.minimize(lambda x: calls.append(x) or answer, bounds=[(-5, 5)] * 2, budget=50, rng=0)
    assert len(calls) == 1
    assert caught.value.result.nfev == 0


def test_with_on_error_raise_any_answer_that_is_no_number_ends_the_search() -> None:
    with pytest.raises(l2e.ObjectiveError, match="must return one real number") as caught:
        l2e.minimize(lambda x: None if x[0] > 1 else 1.0, bounds=[(-5, 5)] * 2, budget=50, rng=0, on_error="raise")
    assert caught.value.result.nfev > 0


def raises(x):
    raise UnreadableError


def exits(x):
    raise SystemExit(3)


@pytest.mark.parametrize("objective", [raises, exits, lambda x: 10**400, lambda x: np.nan])
def test_failures_are_recorded_and_nothing_escapes(objective) -> None:
    def mixed(x):
        return objective(x) if x[0] > 0 else float(x @ x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = l2e.minimize(mixed, bounds=[(-5, 5)] * 2, budget=60, rng=0)
    assert result.nfev == 60
    assert 0 < result.n_failed < 60


def test_a_failures_text_is_short() -> None:
    def fails(x):
        raise ValueError("x" * 100_000)

    with pytest.warns(RuntimeWarning, match="raised"):
        result = l2e.minimize(fails, bounds=[(-5, 5)] * 2, budget=5, rng=0)
    assert all(len(failure.reason) <= 300 for failure in result.failures)
    assert description("y" * 1000).endswith("...")

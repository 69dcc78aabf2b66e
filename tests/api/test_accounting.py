"""For every method, ours and others': evaluations used == calls the function saw <= budget, an early end is honest."""

import numpy as np
import pytest

import l2e
from l2e.api import catalog

BOUNDS = [(-1.0, 9.0), (100.0, 101.0), (-1e-3, 1e-3)]
BUDGET = 250
MAY_END_EARLY = {"cmaes", "pycma"}


class Counting:
    """A rough bowl that counts its calls and checks where it is called."""

    def __init__(self):
        self.calls = 0
        self.low, self.high = np.asarray(BOUNDS).T

    def __call__(self, x):
        self.calls += 1
        assert x.shape == (3,)
        assert (x >= self.low).all()
        assert (x <= self.high).all()
        u = (x - self.low) / (self.high - self.low)
        return float(((u - 0.2) ** 2).sum() + 0.01 * np.sin(40 * u).sum())


@pytest.mark.parametrize("name", catalog.METHODS)
def test_used_equals_calls_seen(name) -> None:
    function = Counting()
    result = l2e.minimize(function, bounds=BOUNDS, budget=BUDGET, method=name, rng=3)
    assert result.nfev == function.calls
    assert result.fun == Counting()(result.x)
    if name in MAY_END_EARLY:
        assert result.nfev <= BUDGET
        assert (result.nfev == BUDGET) == (result.reason == "budget")
    else:
        assert result.nfev == BUDGET
        assert result.reason == "budget"


@pytest.mark.parametrize("name", catalog.METHODS)
def test_target_ends_the_run_at_the_evaluation_that_reached_it(name) -> None:
    function = Counting()
    result = l2e.minimize(function, bounds=BOUNDS, budget=BUDGET, method=name, rng=3, target=0.5)
    assert result.nfev == function.calls
    assert result.reason == "target"
    assert result.fun <= 0.5
    assert result.history.nfev[-1] == result.nfev


@pytest.mark.parametrize("name", catalog.METHODS)
def test_same_seed_same_result(name) -> None:
    first, second = (l2e.minimize(Counting(), bounds=BOUNDS, budget=120, method=name, rng=11) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_array_equal(first.history.fun, second.history.fun)

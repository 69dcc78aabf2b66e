"""Whatever values the default is told, it asks for points of the box until the budget is used, and never raises.

`tools/attack_values.py` plays the same landscapes by the thousand.
"""

import sys

import numpy as np
import pytest
from golden.golden_runs import BUDGETS, DIMENSION, FUNCTIONS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import l2e
from l2e.core.program import ProgramSearch
from l2e.portfolio.method import Portfolio
from l2e.portfolio.run import HUGE, tamed
from tools.attack_values import DIMENSIONS, KINDS, LARGEST, PER_DIMENSION, SMALLEST, attack, run, trained

QUIET = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 2**32 - 1),
    dimension=st.integers(*DIMENSIONS),
    per_dimension=st.integers(*PER_DIMENSION),
    tell=st.booleans(),
)
def test_any_landscape(kind, seed, dimension, per_dimension, tell):
    rng = np.random.default_rng(seed)
    outcome = attack(0, KINDS[kind], rng, dimension, per_dimension * dimension, trained(), tell)
    assert outcome.error is None, outcome.text
    assert outcome.refused == 0


VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, LARGEST, -LARGEST, SMALLEST])


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(dimension=st.integers(1, 6), levels=st.lists(VALUES, min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_any_values_in_any_order(dimension, levels, seed):
    """Values that have nothing to do with the points, told to the program itself."""
    rng = np.random.default_rng(seed)
    space = l2e.box([(-5.0, 5.0)] * dimension)
    search = ProgramSearch(Portfolio.trained(), space, seed, 60 * dimension, None)
    told = 0
    while told < 60 * dimension:
        points = search.ask()
        assert len(points) > 0
        assert (np.abs(points) <= 5).all()
        search.tell(rng.choice(levels, len(points)))
        told += len(points)


def values_of(function, dimension, budget):
    seen = []

    def watched(x):
        seen.append(x)
        return function(x)

    result = l2e.minimize(watched, bounds=[(-5, 5)] * dimension, budget=budget, rng=0)
    assert len(seen) == result.nfev == budget
    assert (np.abs(np.asarray(seen)) <= 5).all()
    return result


@QUIET
@pytest.mark.parametrize(
    ("function", "dimension", "budget"),
    [
        (lambda x: -np.exp(-22.5 * ((x - 4) ** 2).sum()), 3, 300),
        (lambda x: sys.float_info.max if x.sum() > 0 else (x**2).sum(), 2, 200),
        (lambda x: sys.float_info.max if x.sum() > 0 else (x**2).sum(), 5, 3000),
        (lambda x: 1e300 * (x**2).sum(), 4, 400),
        (lambda x: 3.0, 4, 2400),
        (lambda x: float(np.floor(x[0])), 4, 2400),
        (lambda x: 1e-320 * (x**2).sum(), 4, 400),
        (lambda x: np.inf, 3, 1800),
        (lambda x: np.nan, 3, 300),
        (lambda x: float(x[0] > 0), 3, 1800),
    ],
    ids=["likelihood", "penalty", "rich", "huge", "constant", "steps", "subnormal", "infinite", "nan", "ties"],
)
def test_functions_that_once_ended_a_search(function, dimension, budget):
    values_of(function, dimension, budget)


def test_a_narrow_likelihood_and_a_penalty_are_also_minimised():
    likelihood = values_of(lambda x: -np.exp(-2.5 * ((x - 4) ** 2).sum()), 3, 3000)
    assert likelihood.fun < -0.99
    penalty = values_of(lambda x: sys.float_info.max if x.sum() > 0 else ((x + 1) ** 2).sum(), 5, 1000)
    assert penalty.fun < 1e-6


def test_ordinary_searches_have_no_failed_part():
    for function in FUNCTIONS:
        for per_dimension in BUDGETS:
            budget = per_dimension * DIMENSION
            search = ProgramSearch(Portfolio.trained(), l2e.box([(-5, 5)] * DIMENSION), 7, budget, None)
            told = 0
            while told < budget:
                points = search.ask()
                search.tell(np.asarray([function(x) for x in points]))
                told += len(points)
            assert not [span for span in search.account.spans if span.reason.startswith("failed")]
            assert "failed" not in search.account.notes


def test_values_are_compressed_in_their_order_and_ordinary_ones_are_untouched():
    ordinary = np.asarray([1.0, -HUGE, 5e-324, 0.0])
    assert tamed(ordinary) is ordinary
    extreme = np.asarray([-LARGEST, -1e200, -HUGE, -1.0, 0.0, 3.0, HUGE, 1e101, 1e300, LARGEST])
    compressed = tamed(extreme)
    assert (np.diff(compressed) > 0).all()
    assert np.isfinite(compressed**2).all()
    np.testing.assert_array_equal(compressed[2:7], extreme[2:7])
    np.testing.assert_array_equal(tamed(np.asarray([np.nan, -np.inf, np.inf, 1e300]))[:3], [np.inf] * 3)


def test_the_command_repeats_a_run_by_its_number():
    assert run(5, seed=3) == run(5, seed=3)

"""Searches that end when they have settled."""

import numpy as np
import pytest

import l2e
from l2e.core.box import box
from l2e.core.ending import Ending
from l2e.core.meter import Meter


def sphere(x) -> float:
    return float(((x - 0.7) ** 2).sum())


def told(ending: Ending, values) -> int:
    """After how many evaluations it ends; 0 if it does not."""
    meter = Meter(box([(-1.0, 1.0)]), None)
    for value in values:
        meter.count(np.zeros(1), float(value))
        if ending.check(meter) is not None:
            return meter.used
    return 0


def test_patience_counts_from_the_last_improvement_that_counts() -> None:
    assert told(Ending(1, tol=0.5, patience=5), [9, 8, 7, 7, 7, 7, 7, 7, 7]) == 8
    assert told(Ending(1, tol=0.5, patience=5), [9, 8, 7, *[7 - 0.09 * k for k in range(1, 6)]]) == 8
    assert told(Ending(1, tol=0.1, patience=5), [9, 8, 7, *[7 - 0.2 * k for k in range(1, 99)]]) == 0


def test_many_small_improvements_add_up() -> None:
    assert told(Ending(1, tol=0.5, patience=5), [10 - 0.2 * k for k in range(50)]) == 0


def test_without_numbers_a_late_improvement_asks_for_more_patience() -> None:
    assert told(Ending(1), [1, *[0] * 200]) == 52
    assert told(Ending(1), [*[1] * 40, *[0] * 200]) == 41 + 50
    assert told(Ending(1), [*np.linspace(9, 0, 90), *[0] * 200]) == 180


def test_nothing_ends_before_a_value_is_found() -> None:
    ending, meter = Ending(1, patience=1), Meter(box([(-1.0, 1.0)]), None)
    with pytest.warns(RuntimeWarning, match="returned nan"):
        meter.count(np.zeros(1), np.nan)
    assert ending.check(meter) is None


def test_a_sphere_without_a_budget_ends_within_a_hundred_evaluations_per_dimension() -> None:
    result = l2e.minimize(sphere, bounds=[(-5, 5)] * 10, rng=0)
    assert result.nfev <= 1000
    assert result.fun < 1e-12
    assert result.success
    assert result.reason == "settled"
    assert "no improvement by more than" in result.message


def test_with_a_budget_the_run_uses_it_unless_told_otherwise() -> None:
    options = {"bounds": [(-5, 5)] * 3, "budget": 400, "rng": 0}
    assert l2e.minimize(sphere, **options).nfev == 400
    assert l2e.minimize(sphere, patience=40, **options).nfev < 120
    assert l2e.minimize(sphere, tol=1e-6, **options).nfev < 300


@pytest.mark.parametrize("options", [{"tol": -1}, {"tol": np.inf}, {"patience": 0}, {"patience": 1.5}, {"tol": "x"}])
def test_odd_numbers_are_errors(options) -> None:
    with pytest.raises((ValueError, TypeError), match=r"tol must be|patience must be"):
        l2e.minimize(sphere, bounds=[(-5, 5)] * 3, **options)

"""Models that no left-out member has judged: when they are used, and with what."""

import dataclasses

import numpy as np
import pytest

from l2e.api.family_plans import follows, unmeasured
from l2e.portfolio.transfer.knowledge import Knowledge

M, D = 24, 8


def knowledge(spread: float, dimension: int = D, turned: float = 0.1) -> Knowledge:
    """Ends in one corner, so far apart; gradients that much unlike."""
    rng = np.random.default_rng(0)
    ends = np.clip(0.75 + spread * rng.standard_normal((M, dimension)), 0, 1)
    gradient = 1 + turned * rng.standard_normal((M, dimension))
    cross = np.where(np.eye(M, dtype=bool), 0.0, np.nan)
    return Knowledge(ends, np.zeros(M), rng.random(M), gradient, cross, np.zeros((dimension, dimension)))


def test_ends_that_lie_together_are_used_and_the_look_follows() -> None:
    plans = unmeasured(knowledge(0.05), evolves=True, longest=50)
    assert [plan.follow for _, plan in plans.entries] == ["near", "near", "near", "evolution"]
    assert all(plan.opened for _, plan in plans.entries)
    plain = unmeasured(knowledge(0.05), evolves=False, longest=50)
    assert [plan.follow for _, plan in plain.entries] == ["near"] * 4


def test_features_that_tell_the_ends_open_it() -> None:
    known = knowledge(0.05, turned=1.2)
    told = dataclasses.replace(known, traits=np.random.default_rng(1).standard_normal((M, 2)))
    assert not unmeasured(told, evolves=True, longest=50).plan(10).opened
    told = dataclasses.replace(known, traits=known.ends)
    assert unmeasured(told, evolves=True, longest=50).plan(10).opened


def test_gradients_that_hardly_tell_close_it_and_unknown_ones_do_not() -> None:
    known = knowledge(0.05, turned=1.2)
    assert known.kin is not None
    assert known.kin.is_family
    plan = unmeasured(known, evolves=True, longest=50).plan(10)
    assert not plan.opened
    assert "left out" in plan.why
    unknown = dataclasses.replace(known, gradient=np.full((M, D), np.nan))
    assert unmeasured(unknown, evolves=True, longest=50).plan(10).opened


@pytest.mark.parametrize(("dimension", "budget", "first"), [(8, 20, "near"), (8, 50, "near"), (30, 20, "default")])
def test_the_look_follows_only_where_searches_begin_with_one(dimension: int, budget: int, first: str) -> None:
    found = follows(knowledge(0.05, dimension), budget)
    assert found[0] == first
    assert ("evolution" in found) == (dimension > 24 or budget > 35)

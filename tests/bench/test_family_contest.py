"""Contests on families: members are problems, and models and journals of other members are methods."""

from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e.api import problem_catalog, transfers
from l2e.bench.experiment import Experiment
from l2e.bench.methods import build
from l2e.bench.plan import make_plan
from l2e.bench.run_host import run_on_host
from l2e.bench.suite import build_problem
from l2e.problems.families import FAMILIES

RIVALS = ("archives", "warm-cmaes", "optuna-source", "rgpe")


@pytest.fixture(scope="module")
def learned(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("truss")
    family = l2e.Family.of(FAMILIES["truss"], range(6))
    l2e.learn(family, 6 * 60, rng=0, folder=folder / "journals").save(folder / "truss")
    return folder


def test_every_family_has_problems_and_members_are_those_of_the_seed() -> None:
    assert set(problem_catalog.MEMBERS) == set(FAMILIES)
    problem = build_problem("family-truss:f1003:d10")
    x = np.zeros((2, 10))
    np.testing.assert_array_equal(problem(x), FAMILIES["truss"](1003)(x))
    with pytest.raises(ValueError, match="have 10 dimensions, not 9"):
        build_problem("family-truss:f1003:d9")


def test_a_contest_compares_a_model_with_what_others_make_of_the_same_journals(learned: Path) -> None:
    methods = ("auto", f"{learned}/truss.safetensors", *(f"{name}@{learned}/journals" for name in RIVALS))
    contest = Experiment("trusses", "family-truss", methods, (10,), (1000,), budget_per_dimension=2, seeds=(0,))
    plan = make_plan(contest)
    assert len(plan.specs) == len(methods)
    assert len({spec.key for spec in plan.specs}) == len(methods)
    for spec in plan.specs:
        record = run_on_host(spec)
        assert record.error is None
        assert record.used == 20
        assert np.isfinite(record.fun[-1])


def test_the_members_of_a_test_are_the_default_of_a_suite() -> None:
    contest = Experiment("c", "family-seir", ("auto",), (8,), budget=20)
    assert [instance.function for instance in contest.problems()] == list(range(1000, 1020))


def test_what_is_no_model_and_no_journal_says_so(learned: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown method of a family 'wram-cmaes'.*warm-cmaes"):
        build(f"wram-cmaes@{learned}/journals", 10, 100)
    with pytest.raises(ValueError, match="no journal"):
        build(f"rgpe@{tmp_path}", 10, 100)
    for name in (f"{learned}/truss.safetensors", f"archives@{learned}/journals", f"rgpe@{learned}/journals"):
        with pytest.raises(ValueError, match="10"):
            build(name, 8, 100)
    assert len(transfers.journals(learned / "journals")) == 6

"""Disturbed runs: methods are told disturbed values, records hold the true ones."""

import dataclasses
import json

import numpy as np
import pytest

from l2e.api import problem_catalog
from l2e.bench.disturbance import Disturbance, generator
from l2e.bench.experiment import parse_experiment
from l2e.bench.plan import make_plan
from l2e.bench.record import RunRecord
from l2e.bench.run_host import run_on_host
from l2e.bench.store import Store
from l2e.report.collection import collect

FACTS = {"name": "x", "suite": "bbob", "functions": [8], "dimensions": [3], "budget": 200, "seeds": 1}


def spec_of(method: str, **disturb):
    facts = {**FACTS, "methods": [method]} | ({"disturb": disturb} if disturb else {})
    plan = make_plan(parse_experiment(facts))
    assert {task.engine for task in plan.tasks(plan.specs)} == {"host"} or not disturb
    return plan.specs[0]


def test_what_is_told() -> None:
    true = 50.0 + np.array([0.0, 1.23456e-7, 0.0567891, 9.996, 1234.5, np.inf])
    rounded = Disturbance(digits=3).told(true, 50.0, generator("p", 0, 0))
    np.testing.assert_allclose(rounded - 50.0, [0, 1.23e-7, 0.0568, 10.0, 1230, np.inf], atol=1e-13)
    flat = Disturbance(decimals=2).told(true, None, generator("p", 0, 0))
    np.testing.assert_allclose(flat, [50, 50, 50.06, 60.0, 1284.5, np.inf])

    noise = Disturbance(noise=0.01)
    many = np.full(4000, 51.0)
    told = noise.told(many, 50.0, generator("p", 0, 0)) - 50.0
    assert np.log(told).std() == pytest.approx(0.01, rel=0.05)
    assert np.log(told).mean() == pytest.approx(0.0, abs=6e-4)
    same = generator("p", 0, 0)  # whatever the batches are
    np.testing.assert_array_equal(
        told, np.concatenate([noise.told(many[:7], 50.0, same), noise.told(many[7:], 50.0, same)]) - 50
    )
    assert not np.array_equal(told, noise.told(many, 50.0, generator("p", 1, 0)) - 50.0)


@pytest.mark.parametrize("disturb", [{"noise": 0.5}, {"digits": 1}, {"decimals": 0}])
def test_the_record_is_of_true_values(disturb) -> None:
    # random search does not look at values: its points are the same, so its trace must be
    plain, disturbed = run_on_host(spec_of("random-search")), run_on_host(spec_of("random-search", **disturb))
    assert disturbed.error is None
    assert disturbed.used == plain.used == 200
    np.testing.assert_array_equal(disturbed.nfev, plain.nfev)
    np.testing.assert_array_equal(disturbed.fun, plain.fun)
    # others do; the same seed gives the same run
    looking = spec_of("cmaes", **disturb)
    first, second = run_on_host(looking), run_on_host(looking)
    np.testing.assert_array_equal(first.fun, second.fun)
    assert first.fun.tolist() != run_on_host(spec_of("cmaes")).fun.tolist()


@pytest.mark.parametrize("method", ["auto", "cmaes", "pycma-bipop", "scipy-slsqp"])
def test_all_begin_at_the_same_random_point(method) -> None:
    spec = spec_of(method, start="random")
    problem = problem_catalog.problem(spec.problem)
    assert spec.disturb is not None
    start = spec.disturb.begin(problem.space, spec.problem, spec.seed)
    assert start is not None
    record = run_on_host(spec)
    assert record.error is None
    assert record.nfev[0] == 1
    assert record.fun[0] == pytest.approx(problem(start), rel=1e-12)
    other = spec.disturb.begin(problem.space, spec.problem, spec.seed + 1)
    assert other is not None
    assert not np.array_equal(start, other)


def test_a_disturbed_run_has_a_key_of_its_own_and_a_name_where_both_are_shown(tmp_path) -> None:
    specs = [spec_of("random-search"), spec_of("random-search", noise=0.01), spec_of("random-search", noise=0.02)]
    assert len({spec.key for spec in specs}) == 3
    records = [run_on_host(spec) for spec in specs]
    again = RunRecord.from_line(records[1].line)
    assert again.spec == specs[1]
    assert "disturb" not in json.loads(records[0].line)["spec"]
    store = Store(tmp_path)
    store.open()
    store.append(records)
    names = [run.problem for run in collect(store).runs]
    assert names == ["f8 Rosenbrock", "f8 Rosenbrock, noise 0.01", "f8 Rosenbrock, noise 0.02"]
    assert dataclasses.asdict(specs[2])["disturb"]["noise"] == 0.02

"""Whole runs in one program give the traces of the host loop, whatever else is in the call."""

import numpy as np
import pytest

from l2e.bench.experiment import parse_experiment
from l2e.bench.plan import make_plan
from l2e.bench.record import improvements
from l2e.bench.run_compiled import run_compiled
from l2e.bench.run_host import run_on_host

FACTS = {"name": "x", "suite": "bbob", "functions": [1, 15], "instances": [1, 3], "dimensions": [4], "seeds": 3}


def plan_of(method: str, budget: int):
    return make_plan(parse_experiment({**FACTS, "methods": [method], "budget": budget}))


@pytest.mark.parametrize(("method", "budget", "endings"), [("cmaes", 2505, {"converged"}), ("de", 605, {"budget"})])
def test_traces_equal_those_of_the_host_exactly(method, budget, endings) -> None:
    plan = plan_of(method, budget)
    assert all(task.engine == "compiled" for task in plan.tasks(plan.specs))
    problems = plan.problems["bbob", 4]
    records = run_compiled(plan.specs, problems)
    assert {record.reason for record in records} == endings
    for record in records[::4]:
        alone = run_on_host(record.spec)
        assert alone.engine == "host"
        assert alone.error is None
        assert (record.used, record.reason, record.failed) == (alone.used, alone.reason, alone.failed)
        np.testing.assert_array_equal(record.nfev, alone.nfev)
        np.testing.assert_array_equal(record.fun, alone.fun)
    one, *_ = run_compiled(plan.specs[5:6], problems)
    np.testing.assert_array_equal(one.fun, records[5].fun)
    assert one.key == records[5].key


def test_improvements_are_what_a_meter_would_record() -> None:
    trace = improvements(np.array([np.inf, 5.0, 7.0, 5.0, 3.0, np.inf, 1.0]))
    np.testing.assert_array_equal(trace.nfev, [2, 5, 7])
    np.testing.assert_array_equal(trace.fun, [5, 3, 1])
    assert len(improvements(np.full(3, np.inf)).nfev) == 0


def test_methods_with_padding_go_through_the_host() -> None:
    plan = plan_of("cmaes-bipop", budget=5000)
    assert {task.engine for task in plan.tasks(plan.specs)} == {"host"}

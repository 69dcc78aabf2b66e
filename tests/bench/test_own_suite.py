"""Suites of a user's own: `module:factory` in an experiment."""

import json

import pytest

from l2e.api import catalog
from l2e.bench import suite
from l2e.bench.experiment import parse_experiment, refuse_foreign_code
from l2e.bench.plan import make_plan
from l2e.bench.quote import quote, quote_table
from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.run_here import run_here
from l2e.bench.store import Store, read_store
from l2e.bench.worker import _run
from l2e.report.collection import collect, collect_contests

BASIC = {
    "name": "own",
    "suite": "own_suite:bowls",
    "functions": [1, 2],
    "instances": [1, 3],
    "dimensions": [3],
    "methods": ["random-search", "de"],
    "budget": 120,
    "seeds": 2,
}


@pytest.fixture(autouse=True)
def _found(monkeypatch, request):
    monkeypatch.syspath_prepend(request.path.parent)


def records_of(experiment) -> list[RunRecord]:
    """All runs of an experiment, done as workers do them."""
    plan = make_plan(experiment)
    tasks = plan.tasks(plan.specs)
    return [r for task in tasks for r in _run({"engine": task.engine, "problems": task.problems}, list(task.runs))]


def stored(folder, experiment, records) -> Store:
    folder.mkdir(exist_ok=True)
    store = Store(folder)
    store.open()
    store.note_experiment(experiment)
    (folder / "records.jsonl").write_text("".join(record.line + "\n" for record in records))
    return read_store(folder)

    return read_store(folder)


def test_names_hold_suite_and_place():
    name = "own_suite:bowls:f2:i3:d4"
    assert suite.suite_of(name) == "own_suite:bowls"
    assert suite.parts(name) == {"function": 2, "instance": 3, "dimension": 4}
    assert suite.suite_of("bbob:f10:i3:d20") == "bbob"
    assert suite.build_problem(name)([0.3] * 4) == 2


@pytest.mark.parametrize(("name", "engine"), [("bowls", "host"), ("traced", "compiled")])
def test_functions_of_python_run_on_the_host_and_those_of_jax_inside_a_program(name, engine):
    experiment = parse_experiment({**BASIC, "suite": f"own_suite:{name}"})
    records = records_of(experiment)
    assert len(records) == 16
    assert {record.engine for record in records} == {engine}
    assert all(record.error is None and record.used == 120 for record in records)
    for record in records:
        assert record.spec.problem.startswith(f"own_suite:{name}:f")
        assert RunRecord.from_line(record.line).key == record.key


def test_fields_of_a_problem_are_part_of_a_runs_identity():
    plan = make_plan(parse_experiment(BASIC))
    by_problem = {spec.problem: spec.made_of for spec in plan.specs}
    assert len(set(by_problem.values())) == 4
    spec = plan.specs[0]
    assert RunSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    shipped = RunSpec("bbob:f1:i1:d2", "de", "0", 0, 10)
    assert set(shipped.to_json()) == {"problem", "method", "searcher", "seed", "budget", "log"}


def test_a_report_runs_no_code_of_the_suite_unless_it_is_trusted(tmp_path):
    experiment = parse_experiment(BASIC)
    store = stored(tmp_path, {**BASIC}, records_of(experiment))
    (shown,) = collect_contests(store)
    assert {run.f_opt for run in shown.runs} == {None}
    assert "--trust asks it for optima" in shown.remarks[-1]
    (asked,) = collect_contests(store, trust=True)
    assert {run.f_opt for run in asked.runs} == {1.0, 2.0}
    assert not asked.remarks
    assert len(collect(store).runs) == 16


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_suite:nothing", "made a int, not a problem"),
        ("own_suite:fails", "RuntimeError: the simulator is not installed"),
        ("own_suite:absent", "write module:factory, found from the current folder"),
        ("no_such_suite:absent", "write module:factory, found from the current folder"),
    ],
)
def test_a_suite_that_fails_is_one_sentence(name, message):
    with pytest.raises(ValueError, match=message):
        make_plan(parse_experiment({**BASIC, "suite": name}))


def test_functions_must_be_named():
    with pytest.raises(ValueError, match="needs a list of functions"):
        make_plan(parse_experiment({**BASIC, "functions": []}))


def test_a_file_from_elsewhere_may_not_name_a_suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = parse_experiment(BASIC)
    with pytest.raises(ValueError, match=r"names Python code to run \(own_suite:bowls\)"):
        refuse_foreign_code(tmp_path.parent / "e.toml", experiment)
    refuse_foreign_code(tmp_path / "e.toml", experiment)


def test_variants_may_have_suites_of_their_own():
    variants = {"mine": {}, "theirs": {"suite": "bbob", "instances": [1]}}
    plan = make_plan(parse_experiment({**BASIC, "variants": variants}))
    found = {suite.suite_of(spec.problem) for spec in plan.specs}
    assert found == {"own_suite:bowls", "bbob"}
    assert set(plan.problems) == {("bbob", 3)}
    engines = {suite.suite_of(t.runs[0].problem): t.engine for t in plan.tasks(plan.specs)}
    assert engines == {"own_suite:bowls": "host", "bbob": "compiled"}


def test_runs_in_this_process_take_problems_of_ones_own():
    spec = make_plan(parse_experiment(BASIC)).specs[0]
    searcher = catalog.method("scipy-de").build(3, 120, None)
    (record,) = run_here(searcher, [spec], [spec.problem])
    assert record.used <= 120


def test_a_quote_counts_the_evaluations_of_missing_runs():
    plan = make_plan(parse_experiment(BASIC))
    (found,) = quote(plan.specs[4:])
    assert (found.suite, found.dimension, found.runs, found.evaluations) == ("own_suite:bowls", 3, 12, 12 * 120)
    assert found.seconds >= 0
    table = quote_table([found])
    assert list(table.columns[3].cells) == ["1,440", "1,440"]


def test_a_function_that_never_works_is_a_failed_run_and_no_part_of_a_report(tmp_path):
    experiment = {**BASIC, "suite": "own_suite:half", "instances": [1], "seeds": 1}
    records = records_of(parse_experiment(experiment))
    broken = [record for record in records if ":f1:" in record.spec.problem]
    assert len(broken) == 2
    for record in broken:
        assert f"all {record.used} evaluations failed, the first raised KeyError('no licence')" in str(record.error)
    assert [record.error for record in records if record not in broken] == [None, None]
    (results,) = collect_contests(stored(tmp_path / "some", experiment, records))
    assert len(results.runs) == 2
    assert any("left out: own_suite:half:f1:i1:d3: all " in remark for remark in results.remarks)
    with pytest.raises(ValueError, match=r"no run in .* has a value; own_suite:half:f1:i1:d3: all "):
        collect_contests(stored(tmp_path / "none", experiment, broken))

"""Official archives: COCO's observer and IOHprofiler's Analyzer see every evaluation of every run."""

import json
import re

import pytest

from l2e.api import problem_catalog
from l2e.bench.experiment import parse_experiment
from l2e.bench.official import check_loggers, run_logged
from l2e.bench.plan import make_plan

FACTS = {"name": "x", "suite": "bbob", "functions": [1], "instances": [1, 2], "dimensions": [2, 3], "budget": 30}


def test_both_archives_hold_all_runs(tmp_path) -> None:
    facts = {**FACTS, "methods": ["random-search"], "seeds": 1}
    plan = make_plan(parse_experiment(facts), ("coco", "ioh"))
    (task,) = plan.tasks(plan.specs)
    records = run_logged(task.runs, tmp_path)
    assert [record.used for record in records] == [30] * 4
    assert [record.error for record in records] == [None] * 4

    info = (tmp_path / "coco" / "random-search" / "bbobexp_f1.info").read_text()
    assert info.count("funcId = 1") == 2  # one entry per dimension
    assert info.count(":30|") == 4  # instance:evaluations|precision
    ioh = json.loads((tmp_path / "ioh" / "random-search" / "IOHprofiler_f1_Sphere.json").read_text())
    runs = [run for scenario in ioh["scenarios"] for run in scenario["runs"]]
    assert [run["evals"] for run in runs] == [30] * 4
    gaps = [record.fun[-1] - problem_catalog.problem(record.spec.problem).optimum.f for record in records]
    assert [run["best"]["y"] for run in runs] == pytest.approx(gaps, rel=1e-6)
    logged = [float(part.split("|")[1]) for part in re.findall(r":30\|[^,\s]+", info)]
    assert logged == pytest.approx(gaps, rel=0.06)  # two digits
    assert not list(tmp_path.glob("*/.*"))


def test_an_archive_is_written_whole_or_not_at_all(tmp_path) -> None:
    """A missing run brings back all runs of its archive, since the loggers write it in one go."""
    facts = {**FACTS, "methods": ["random-search"], "seeds": 1}
    plan = make_plan(parse_experiment(facts), ("coco",))
    assert plan.complete_archives(plan.specs[:1]) == list(plan.specs)
    plain = make_plan(parse_experiment(facts))
    assert plain.complete_archives(plain.specs[:1]) == [plain.specs[0]]


def test_what_cannot_be_logged_is_told() -> None:
    with pytest.raises(ValueError, match="did you mean coco"):
        check_loggers(["cocoo"], "bbob")
    with pytest.raises(ValueError, match='suite = "bbob"'):
        check_loggers(["coco"], "paper-bbob")

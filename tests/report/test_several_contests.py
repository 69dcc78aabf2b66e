"""A store of an experiment with several budgets and variants: a report of each contest, and one overview."""

import csv
import dataclasses

import numpy as np
import pytest
from helpers.made_records import made

from l2e.bench.disturbance import Disturbance
from l2e.bench.experiment import parse_experiment
from l2e.bench.store import Store
from l2e.core.settings import plain
from l2e.report.collection import collect, collect_contests
from l2e.report.targets import reached
from l2e.report.write import write_reports

EXPERIMENT = parse_experiment(
    {
        "name": "many",
        "title": "Many <contests>",
        "suite": "bbob",
        "functions": [1, 8],
        "dimensions": [2, 3],
        "budgets_per_dimension": [50, 200],
        "seeds": 2,
        "methods": ["a", "b", "slow"],
        "limits": {"slow": 50},
        "reference": "b",
        "variants": {
            "plain": {},
            "noise": {"disturb": {"noise": 0.01}, "methods": ["a", "b"]},
            "pair": {"methods": ["a", "c"], "budgets_per_dimension": [50], "reference": "c"},
        },
    }
)


def record(method: str, function: int, dimension: int, budget: int, seed: int, disturb=None):
    gap = 10.0 ** -hash_of(method, function, dimension, budget, seed, str(disturb))
    made_record = made(method, function, seed, [500.0, gap], budget=budget * dimension, dimension=dimension)
    return dataclasses.replace(made_record, spec=dataclasses.replace(made_record.spec, disturb=disturb))


def hash_of(*parts) -> int:
    return int(np.random.default_rng([len(str(part)) + ord(str(part)[0]) for part in parts]).integers(0, 9))


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("contests") / "store")
    store.open()
    store.note_experiment(plain(EXPERIMENT))
    for dimension in (2, 3):
        for function in (1, 8):
            for seed in range(2):
                for budget in (50, 200):
                    for method in ("a", "b", "own"):
                        store.append([record(method, function, dimension, budget, seed)])
                        store.append([record(method, function, dimension, budget, seed, Disturbance(noise=0.01))])
                store.append([record(method, function, dimension, 50, seed) for method in ("slow", "c")])
    store.append([record("a", 1, 2, 70, 0), record("a", 15, 2, 50, 0)])  # of no contest
    return store


def test_each_contest_has_its_own_runs_and_methods(store) -> None:
    found = {results.name: results for results in collect_contests(store)}
    assert list(found) == ["plain-50x", "plain-200x", "noise-50x", "noise-200x", "pair-50x"]
    assert found["plain-50x"].methods == ("a", "b", "slow", "own")  # "own" is named nowhere: somebody added it
    assert found["plain-200x"].methods == ("a", "b", "own")
    assert found["pair-50x"].methods == ("a", "c", "own")
    assert {name: results.reference for name, results in found.items()} == {
        "plain-50x": "b", "plain-200x": "b", "noise-50x": "b", "noise-200x": "b", "pair-50x": "c",
    }  # fmt: skip
    assert found["noise-200x"].title == "Many <contests>: noise, 200·d evaluations"
    for name, results in found.items():
        budget = int(name.split("-")[1].removesuffix("x"))
        assert {run.budget / run.dimension for run in results.runs} == {budget}
        disturbed = {store.records[run.key].spec.disturb is not None for run in results.runs}
        assert disturbed == {name.startswith("noise")}
        assert len(results.runs) == len(results.methods) * 2 * 2 * 2
        assert results.remarks == ("2 records are left out: they belong to no contest of the experiment",)


def test_contests_and_methods_can_be_chosen(store) -> None:
    (one,) = collect_contests(store, ["b", "a"], ["noise-50x"])
    assert (one.name, one.methods, one.remarks) == ("noise-50x", ("b", "a"), ())
    assert [results.name for results in collect_contests(store, ["slow"])] == ["plain-50x"]
    with pytest.raises(ValueError, match="unknown contest 'noise-20x'; did you mean noise-200x"):
        collect_contests(store, only=["noise-20x"])
    with pytest.raises(ValueError, match="no records of nobody"):
        collect_contests(store, ["nobody"])
    with pytest.raises(ValueError, match="has several contests: plain-50x, plain-200x"):
        collect(store)


def test_reports_are_written_in_folders_and_an_overview_links_them(store, tmp_path) -> None:
    contests = collect_contests(store)
    first, *others = write_reports(contests, tmp_path, figures=False)
    assert first == tmp_path / "index.html"
    assert others == [tmp_path / results.name / "index.html" for results in contests]
    page = first.read_text()
    assert "<h1>Many &lt;contests&gt;</h1>" in page
    for results in contests:
        assert f'<a href="{results.name}/index.html">' in page
        assert "Many &lt;contests&gt;" in (tmp_path / results.name / "index.html").read_text()
    rows = {
        row["contest"]: row for row in csv.DictReader((tmp_path / "tables" / "overview.csv").read_text().splitlines())
    }
    assert list(rows)[:3] == ["plain-50x, 2-D", "plain-50x, 3-D", "plain-200x, 2-D"]
    for results in contests:
        for dimension in (2, 3):
            row = rows[f"{results.name}, {dimension}-D"]
            for method in ("a", "b", "slow", "own", "c"):
                runs = [run for run in results.runs if (run.method, run.dimension) == (method, dimension)]
                if runs:
                    assert (
                        float(row[method]) == reached(runs, np.asarray([run.budget / dimension for run in runs[:1]]))[0]
                    )
                else:
                    assert row[method] == ""

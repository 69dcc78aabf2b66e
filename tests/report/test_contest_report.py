"""Reports of a contest: each number is the one in the records, and says which."""

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.made_records import contest, made

from l2e.bench.store import Store
from l2e.core.problem import GAP_FLOOR
from l2e.report.collection import Results, collect
from l2e.report.published import published
from l2e.report.standard_tables import all_tables, shares
from l2e.report.targets import TARGETS, hits, reached, shown_budgets
from l2e.report.write import write_report


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store(tmp_path / "store")
    store.open()
    store.append(contest())
    store.append([made("bad", 1, 9, [50.0, 40.0], error="RuntimeError: broke"), made("partial", 1, 0, [1e-9])])
    store.note_experiment(
        {"name": "x", "title": "A <contest>", "methods": ["good", "middle", "bad"], "reference": "good"}
    )
    return store


@pytest.fixture
def results(store) -> Results:
    return collect(store)


def test_runs_know_their_optimum_group_and_key(store, results) -> None:
    assert results.methods == ("good", "middle", "bad", "partial")
    assert results.complete == ("good", "middle", "bad")
    assert len(results.ordered) == len({run.group for run in results.problems.values()}) == 5
    for run in results.runs:
        record = store.records[run.key]
        assert run.final == pytest.approx(max(record.fun[-1] - run.f_opt, 0))
        assert (run.method, run.seed) == (record.spec.method, record.spec.seed)


def test_targets_are_counted_as_by_hand() -> None:
    from l2e.report.records import Run

    run = Run("p", "a", 0, 40, 40, np.array([1, 10, 20]), np.array([101.0, 51.0, 1.0]), 1.0, 0.1, dimension=2)
    times = hits(run)
    assert len(TARGETS) == 51
    assert times[0] == 1  # f* + 100 at once: its value is f* + 100
    assert times[1] == 10  # 10^1.8 = 63
    assert times[2] == 20  # 10^1.6 = 39.8, not reached by 50
    assert (times[2:] == 20).all()
    np.testing.assert_allclose(reached([run], np.array([0.5, 4.9, 5.0, 10.0])), [1 / 51, 1 / 51, 2 / 51, 1])


def test_every_cell_is_computed_from_the_records_it_names(store, results) -> None:
    tables = {table.name: table for table in all_tables(results, with_published=False)}
    assert list(tables) == ["ranking", "shares", "mean", "median", "reference", "cpu"]
    known = {run.key: run for run in results.runs}
    for table in tables.values():
        for line in table.lines:
            for head, cell in zip(table.heads, line.cells, strict=True):
                assert (len(cell.keys) > 0) == (cell.text != ""), (table.name, line.label, head)
                assert set(cell.keys) <= known.keys()
    for name, of in (("mean", np.mean), ("median", np.median)):
        for line in tables[name].lines:
            for head, cell in zip(tables[name].heads, line.cells, strict=True):
                if cell.text:
                    runs = [known[key] for key in cell.keys]
                    assert {(run.problem, run.method) for run in runs} == {(line.label, head)}
                    gaps = [0.0 if run.final <= GAP_FLOOR else run.final for run in runs]
                    assert cell.value == pytest.approx(of(gaps))
    for line in tables["shares"].lines:
        for head, cell in zip(tables["shares"].heads, line.cells, strict=True):
            budget = float(line.label.split()[-1].removesuffix("·d"))
            if cell.text:
                assert cell.value == reached([known[key] for key in cell.keys], np.array([budget]))[0]
                assert {known[key].method for key in cell.keys} == {head}


def test_best_second_and_ranks(results) -> None:
    tables = {table.name: table for table in all_tables(results, with_published=False)}
    second = tables["mean"].lines[1]
    assert [cell.mark for cell in second.cells] == ["best", "second", "", ""]
    first = tables["mean"].lines[0]  # on f1 the partial method solved it
    assert [cell.mark for cell in first.cells] == ["second", "", "", "best"]
    assert first.cells[3].text == "solved"
    ranking = tables["ranking"]
    assert [line.label for line in ranking.lines] == ["good", "middle", "bad", "partial"]
    assert [line.cells[0].text for line in ranking.lines] == ["1.00", "2.00", "3.00", "-"]
    assert ranking.lines[2].cells[-1].text == "1"  # one failed run
    against = tables["reference"].lines
    assert [line.label for line in against] == ["middle", "bad"]
    assert against[0].cells[0].text == "5 / 0 / 0"


def test_published_numbers_are_labelled_and_grey(store) -> None:
    store.note_experiment({**store.experiment(), "published": "bbob-10d"})
    mean = next(table for table in all_tables(collect(store), with_published=True) if table.name == "mean")
    column = mean.heads.index("DE (published)")
    cells = {line.label.split()[0]: line.cells[column] for line in mean.lines}
    assert cells["f6"].text == "49.3 ± 6.5"
    assert all(cell.mark == "grey" and not cell.keys for cell in cells.values())
    assert cells["f1"].text == ""
    assert published("bbob-10d")["PSO"][4] == (342.9, 65.91)
    assert all(len(rows) == 16 for suite in ("bbob-10d", "bbob-30d") for rows in published(suite).values())


def test_only_the_chosen_methods_in_their_order(store) -> None:
    assert collect(store, ["bad", "good"]).methods == ("bad", "good")
    with pytest.raises(ValueError, match="no records of nobody"):
        collect(store, ["nobody"])


def test_a_report_is_written(store, results, tmp_path) -> None:
    out = tmp_path / "report"
    write_report(results, out)
    page = (out / "index.html").read_text()
    assert "A &lt;contest&gt;" in page
    assert 'src="http' not in page
    assert "@@" not in page[:20_000]
    assert all(run.key in page for run in results.runs)
    names = {path.name for path in (out / "figures").iterdir()}
    drawn = ("convergence", "ecdf", "ecdf-by-problem", "boxes", "cpu", "radar", "critical-difference")
    assert names == {f"{name}.{kind}" for name in drawn for kind in ("png", "pdf")}
    assert (out / "tables" / "mean.md").read_text().count("**") >= 10
    assert r"\textbf{" in (out / "tables" / "mean.tex").read_text()
    _check_sources(out / "tables", results)
    ranking = list(csv.DictReader((out / "tables" / "ranking.csv").read_text().splitlines()))
    assert [float(row["mean rank"]) for row in ranking[:3]] == [1, 2, 3]


def _check_sources(folder: Path, results: Results) -> None:
    sources = json.loads((folder / "sources.json").read_text())
    rows = list(csv.reader((folder / "median.csv").read_text().splitlines()))
    for row in rows[1:]:
        for head, text in zip(rows[0][1:], row[1:], strict=True):
            ranges = sources["cells"]["median"][row[0]][head]
            keys = [key for first, last in ranges for key in sources["keys"][first : last + 1]]
            assert keys == list(results.keys((row[0],), (head,)))
            if text:
                assert float(text) == np.median(results.gaps(row[0], head))


def test_budgets_below_the_usual_ones_are_shown_as_they_are(results) -> None:
    small = [dataclasses.replace(run, budget=20 * run.dimension) for run in results.runs]
    assert shown_budgets(small) == [20]
    table = shares(dataclasses.replace(results, runs=tuple(small), cells={}))
    assert table.lines
    assert "within 20 evaluations" in table.note


def test_the_whole_budget_is_shown_and_the_usual_ones_below_it(results) -> None:
    runs = tuple(dataclasses.replace(run, budget=300 * run.dimension) for run in results.runs)
    assert shown_budgets(runs) == [50, 200, 300]
    table = shares(dataclasses.replace(results, runs=runs, cells={}))
    assert {line.label for line in table.lines if "all" in line.label} == {f"2-D, all, {b}·d" for b in (50, 200, 300)}
    assert "within 50, 200 or 300 evaluations" in table.note

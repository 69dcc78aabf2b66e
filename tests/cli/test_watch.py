"""Looking at a journal: show, watch and export, also while a search writes it."""

import csv

import numpy as np
import pytest

import l2e
from l2e.cli.commands import main
from l2e.core.journal import Journal, is_open
from l2e.core.journal_reader import read_journal
from l2e.report.run_page import run_page
from l2e.report.run_record import evaluations_of


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.l2e"

    def f(x) -> float:
        if x[0] > 1.2:
            raise ValueError("<b>too far</b>")
        return float(((x - 1) ** 2).sum())

    with pytest.warns(RuntimeWarning, match="too far"):
        result = l2e.minimize(f, bounds=[(-5.0, 5.0)] * 3, budget=90, rng=0, method="auto", checkpoint=path)
    assert result.n_failed
    return path, result


def run(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    captured = capsys.readouterr()
    assert ended.value.code == 0, captured.err
    return captured.out


def test_the_record_of_the_journal_is_that_of_the_result(journal) -> None:
    path, result = journal
    read = evaluations_of(read_journal(path))
    np.testing.assert_array_equal(read.x, result.evaluations.x)
    np.testing.assert_array_equal(read.f, result.evaluations.f)
    assert list(read.status) == list(result.evaluations.status)
    assert list(read.part) == list(result.evaluations.part)
    assert np.isfinite(read.seconds).all()
    assert set(read.part) >= {"start"}


def test_show_has_failures_parts_and_a_chart(journal, capsys) -> None:
    out = run(capsys, "show", str(journal[0]))
    assert "times: raised ValueError('<b>too far</b>')" in " ".join(out.split())
    assert "asked by" in out
    assert "evaluations 1 to 90" in out


def test_export_writes_every_evaluation(journal, capsys, tmp_path) -> None:
    path, result = journal
    assert "90 evaluations" in run(capsys, "export", str(path), str(tmp_path / "run.csv"))
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 90
    assert [float(row["x1"]) for row in rows] == result.evaluations.x[:, 1].tolist()
    assert {row["status"] for row in rows} == {"ok", "raised"}
    assert set(rows[0]) == {"evaluation", "x0", "x1", "x2", "f", "status", "seconds", "part", "reason"}


def test_parquet_holds_the_same(journal, capsys, tmp_path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, result = journal
    run(capsys, "export", str(path), str(tmp_path / "run.parquet"))
    assert parquet.read_table(tmp_path / "run.parquet")["x0"].to_pylist() == result.evaluations.x[:, 0].tolist()


def test_evaluations_become_a_table_of_pandas(journal) -> None:
    pytest.importorskip("pandas")
    table = journal[1].evaluations.to_pandas()
    assert len(table) == 90
    assert table.f.min() == journal[1].fun


def test_watch_looks_once_and_writes_a_page(journal, capsys, tmp_path) -> None:
    path, result = journal
    page = tmp_path / "run.html"
    out = run(capsys, "watch", str(path), "--html", str(page), "--once")
    assert "not running" in out
    assert f"{result.fun:.10g}" in out
    text = page.read_text()
    assert "http-equiv" not in text  # it is over, so nothing changes any more
    assert 1 < text.count("<polyline") <= 40
    assert "&lt;b&gt;too far&lt;/b&gt;" in text


def test_a_page_of_a_running_search_reloads_itself(journal) -> None:
    text = run_page("run", {}, journal[1].evaluations, 3.0)
    assert '<meta http-equiv="refresh" content="3">' in text


def test_a_running_search_is_seen_to_run_and_can_be_read(tmp_path, capsys) -> None:
    path = tmp_path / "run.l2e"
    writing = Journal(path, {"dimension": 2, "settings": {"method": "x"}, "budget": 9})
    writing.begin(np.zeros((2, 2)))
    writing.end(1.0, None)
    assert is_open(path)
    out = " ".join(run(capsys, "watch", str(path), "--once").split())
    assert "state running" in out
    assert "under way 1" in out
    writing.close()
    assert not is_open(path)


def test_a_journal_without_values_can_be_looked_at(tmp_path, capsys) -> None:
    path = tmp_path / "run.l2e"
    Journal(path, {"dimension": 2, "settings": {"method": "x"}, "budget": 9}).close()
    assert "no evaluation has given a value yet" in run(capsys, "watch", str(path), "--once")
    run(capsys, "watch", str(path), "--once", "--html", str(tmp_path / "run.html"))

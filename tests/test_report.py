"""Records, tables and pages: each number is the one in the records."""

import numpy as np

from l2e.report import figures, page
from l2e.report.records import GAP_FLOOR, Run, grid, median_curve
from l2e.report.summary import cells, summarize


def run(method: str = "a", values=(5.0, 3.0, 1.0), at=(1, 4, 9), f_opt: float | None = 1.0, problem: str = "p") -> Run:
    return Run(problem, method, 0, 20, 12, np.asarray(at), np.asarray(values), f_opt, 0.1)


def test_a_curve_is_the_best_so_far() -> None:
    np.testing.assert_array_equal(run().curve(np.array([1, 3, 4, 8, 9, 20])), [4, 4, 2, 2, 0, 0])
    assert run().final == 0
    assert run(f_opt=None).final == 1
    late = run(at=(2, 4, 9))
    assert late.curve(np.array([1]))[0] == np.inf
    empty = run(values=(), at=())
    assert empty.final == np.inf


def test_median_over_runs() -> None:
    runs = [run(values=(v,), at=(1,), f_opt=0.0) for v in (1.0, 2.0, 30.0)]
    np.testing.assert_array_equal(median_curve(runs, grid(20)), 2.0)


def test_the_best_method_is_marked_and_ties_below_the_floor_are_ties() -> None:
    runs = [
        run("a", (2.0,), (1,), 0.0, "p"),
        run("b", (1.0,), (1,), 0.0, "p"),
        run("a", (1e-12,), (1,), 0.0, "q"),
        run("b", (GAP_FLOOR,), (1,), 0.0, "q"),
        run("b", (3.0,), (1,), 0.0, "r"),
    ]
    first, second, third = summarize(runs, ["a", "b"])
    assert first.best == {"b"}
    assert second.best == {"a", "b"}
    assert cells(first, ["a", "b"]) == [("2", "12", False), ("1", "12", True)]
    assert cells(second, ["a"]) == [("solved", "12", True)]
    assert cells(third, ["a", "b"]) == [("", "", False), ("3", "12", True)]


def test_picture_and_page_are_written(tmp_path) -> None:
    runs = [run("a"), run("b", (4.0, 2.0, 1.5))]
    figures.convergence(runs, tmp_path / "deep" / "curves.png", "title")
    assert (tmp_path / "deep" / "curves.png").stat().st_size > 5000
    page.write_page(tmp_path / "page.html", "A <title>", "intro", runs, summarize(runs, ["a", "b"]), ["a", "b"])
    text = (tmp_path / "page.html").read_text()
    assert "A &lt;title&gt;" in text
    assert text.count("plotly-graph-div") >= 1

"""Runs as a report sees them, the picture of a single one, and the demo, which is a contest of two methods."""

import io

import numpy as np
import pytest
from rich.console import Console

from l2e.api import problem_catalog
from l2e.report import demo
from l2e.report.figures import convergence
from l2e.report.records import Run


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


def test_the_picture_of_a_run_is_written(tmp_path) -> None:
    convergence([run("a")], tmp_path / "deep" / "curve.png", "title with $")
    assert (tmp_path / "deep" / "curve.png").stat().st_size > 5000


@pytest.mark.parametrize("terminal", [False, True])
def test_the_demo_is_a_contest_of_two_methods(tmp_path, terminal) -> None:
    console = Console(record=True, width=100, force_terminal=terminal, file=io.StringIO())
    results = demo.run_demo(tmp_path, dimension=2, budget=60, seeds=2, method="random-search", console=console)
    assert results.methods == ("random-search", "cmaes-bipop")
    assert len(results.runs) == 2 * 2 * len(demo.FUNCTIONS)
    assert all(run.error is None and run.nfev == 60 for run in results.runs)
    page = (tmp_path / "demo.html").read_text()
    assert 'id="table-median"' in page
    assert all(problem in page for problem in results.ordered)
    assert (tmp_path / "demo.png").stat().st_size > 5000
    lines = console.export_text().splitlines()
    assert lines[-2:] == [f"picture: {tmp_path / 'demo.png'}", f"page:    {tmp_path / 'demo.html'}"]
    assert sum("f8 Rosenbrock" in line for line in lines) >= 1


def test_no_function_of_the_demo_has_a_special_value_at_the_centre_of_its_box() -> None:
    for function in demo.FUNCTIONS:
        gaps = []
        for instance in range(1, 6):
            problem = problem_catalog.problem(f"bbob:f{function}:i{instance}:d5")
            gaps.append(problem(np.zeros(5)) - problem.optimum.f)
        assert np.ptp(gaps) > 0.1 * np.mean(gaps), function  # on f19 it is 0.25 in every instance

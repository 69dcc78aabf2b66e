"""The page on what the default method loses, from made records whose shares are known."""

import runpy
import sys
from pathlib import Path

import pytest
from made_records import made

from l2e.bench.store import Store

SCRIPT = Path(__file__).parents[2] / "experiments" / "where_it_loses.py"
ALL, NONE, HALF = 1e-9, 1e3, 10**-2.9  # gaps that reach 51, 0 and 25 of the targets


def written(tmp_path, monkeypatch) -> str:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--results", str(tmp_path), "--out", str(tmp_path / "page.md")])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    return (tmp_path / "page.md").read_text()


def contest_of(tmp_path, name: str, gaps: dict[tuple[str, int], list[float]], dimension: int = 5) -> None:
    """Runs of 50 D evaluations: for a method and a function the gap of each seed."""
    store = Store(tmp_path / name)
    store.open()
    for (method, function), reached in gaps.items():
        for seed, gap in enumerate(reached):
            store.append([made(method, function, seed, [1e4, gap], budget=50 * dimension, dimension=dimension)])
    store.note_experiment({"name": name, "methods": sorted({method for method, _ in gaps})})


def test_cells_that_are_lost_are_listed_worst_first_and_those_beyond_luck_are_bold(tmp_path, monkeypatch) -> None:
    gaps = {
        ("l2e", 6): [NONE] * 4,
        ("pycma-bipop", 6): [ALL, ALL, ALL, HALF],
        ("de", 6): [NONE] * 3 + [HALF],
        ("l2e", 10): [ALL] * 4,
        ("pycma-bipop", 10): [HALF] * 4,
        ("l2e-untrained", 10): [ALL] * 4,
    }
    contest_of(tmp_path, "flagship-50d", gaps)
    contest_of(tmp_path, "flagship-noise-50d", {("l2e", 20): [NONE], ("de", 20): [HALF]}, dimension=10)
    contest_of(tmp_path, "flagship-ablation-50d", {("l2e", 20): [NONE], ("de", 20): [ALL]})
    rows = [line for line in written(tmp_path, monkeypatch).splitlines() if line.startswith("| ")]
    assert rows[1:4] == [
        "| **-0.873** | ± 0.127 | 0.000 | 0.873 | pycma-bipop | moderate | 5-D | 50 D | plain | 4 |",
        "| -0.490 |  | 0.000 | 0.490 | de | weakly structured | 10-D | 50 D | noise | 1 |",
        "| -0.123 | ± 0.123 | 0.000 | 0.123 | de | moderate | 5-D | 50 D | plain | 4 |",
    ]
    assert rows[5:] == [
        "| 50 D | moderate | -0.873 | ± 0.127 | 5 | 100% |",
        "| 50 D | ill-conditioned | +0.510 | ± 0.000 | 5 | 0% |",
        "| 50 D | all | -0.181 | ± 0.268 | 5 | 50% |",
    ]


def test_without_contests_it_says_so(tmp_path, monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit):
        written(tmp_path, monkeypatch)
    assert "no contest of l2e" in capsys.readouterr().err

"""The pages of the results are what the records say, and say so again when the tool is run."""

import json
from pathlib import Path

import pytest
import results_pages
from contest_pages import losses
from helpers.made_records import made

from l2e.bench.store import Store
from l2e.report.collection import Results, collect
from l2e.report.losses import Comparison, comparisons, joined

ROOT = Path(__file__).parents[2]
ALL, NONE, HALF = 1e-9, 1e3, 10**-2.9  # gaps that reach 51, 0 and 25 of the targets


def test_every_page_in_the_repository_is_what_the_tool_writes() -> None:
    pages = results_pages.all_pages(ROOT)
    assert len(pages) == 19  # sixteen pages and their index, that of the stores, and the README
    for path, text in pages.items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"run tools/results_pages.py: {path} differs"
    written = {path.name for path in (ROOT / "docs" / "results").glob("*.md")}
    assert written == {path.name for path in pages if path.parent == Path("docs/results")}
    assert (ROOT / "docs" / "results" / "flagship.png").is_file()
    assert (ROOT / "docs" / "results" / "families.png").is_file()


def test_the_stores_hold_records_and_what_was_run_and_nothing_that_a_report_writes() -> None:
    for path in (ROOT / "results").rglob("*"):
        assert path.suffix in ("", ".gz", ".json", ".jsonl", ".md"), path
        assert path.name == "README.md" or path.suffix != ".md", path
        assert path.name != "sources.json", path
    for note in (ROOT / "results").glob("*/experiment.json"):
        assert "l2e" not in json.loads(note.read_text())["methods"]  # the default is called auto


def test_a_table_goes_between_its_marks_and_nowhere_else() -> None:
    before, after = results_pages.MARKS
    assert results_pages.with_table(f"a\n{before}old\n{after}\nb\n", "| new |\n") == f"a\n{before}| new |\n{after}\nb\n"
    assert results_pages.with_table("no marks", "| new |\n") == "no marks"


def results_of(tmp_path, name: str, gaps: dict[tuple[str, int], list[float]], dimension: int = 5) -> Results:
    """Runs of 50·d evaluations: for a method and a function the gap of each seed."""
    store = Store(tmp_path / name)
    store.open()
    for (method, function), reached in gaps.items():
        for seed, gap in enumerate(reached):
            store.append([made(method, function, seed, [1e4, gap], budget=50 * dimension, dimension=dimension)])
    return collect(store)


@pytest.fixture
def cells(tmp_path) -> list[Comparison]:
    gaps = {
        ("auto", 6): [NONE] * 4,
        ("pycma-bipop", 6): [ALL, ALL, ALL, HALF],
        ("de", 6): [NONE] * 3 + [HALF],
        ("auto", 10): [ALL] * 4,
        ("pycma-bipop", 10): [HALF] * 4,
        ("elsewhere", 15): [ALL] * 4,  # where auto has no runs
    }
    plain = results_of(tmp_path, "plain", gaps)
    noisy = results_of(tmp_path, "noise", {("auto", 20): [NONE], ("de", 20): [HALF]}, dimension=10)
    return [*comparisons(plain, "auto", "plain"), *comparisons(noisy, "auto", "noise")]


def test_comparisons_are_paired_by_problem(cells) -> None:
    found = {(cell.rival, cell.group, cell.dimension, cell.setting): cell for cell in cells}
    assert set(found) == {
        ("pycma-bipop", "moderate", 5, "plain"),
        ("de", "moderate", 5, "plain"),
        ("pycma-bipop", "ill-conditioned", 5, "plain"),
        ("de", "weakly structured", 10, "noise"),
    }
    worst = found["pycma-bipop", "moderate", 5, "plain"]
    assert worst.ours.tolist() == [0.0] * 4
    assert sorted(worst.theirs) == pytest.approx([25 / 51, 1, 1, 1])
    assert worst.is_clear
    assert not found["de", "moderate", 5, "plain"].is_clear
    assert not found["de", "weakly structured", 10, "noise"].is_clear  # one problem has no standard error
    (both,) = joined([cell for cell in cells if cell.rival == "pycma-bipop"])
    assert (both.group, len(both.ours)) == ("all", 8)


def test_cells_that_are_lost_are_listed_worst_first_and_those_beyond_luck_are_bold(cells) -> None:
    summary, table, _, _, bipop = losses(cells)
    assert summary.startswith("Of 4 comparisons `auto` is behind in 3, in 1 of them by more than two standard errors")
    assert table.splitlines()[2:] == [
        "| **-0.873** | ± 0.127 | 0.000 | 0.873 | pycma-bipop | moderate | 5-D | 50·d | plain | 4 |",
        "| -0.490 |  | 0.000 | 0.490 | de | weakly structured | 10-D | 50·d | noise | 1 |",
        "| -0.123 | ± 0.123 | 0.000 | 0.123 | de | moderate | 5-D | 50·d | plain | 4 |",
    ]
    assert bipop.splitlines()[2:] == [
        "| 50·d | moderate | -0.873 | ± 0.127 | 5 | 100% |",
        "| 50·d | ill-conditioned | +0.510 | ± 0.000 | 5 | 0% |",
        "| 50·d | all | -0.181 | ± 0.268 | 5 | 50% |",
    ]

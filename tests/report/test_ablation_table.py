"""The ablation table of a report: differences to the complete method, by group, and the tests behind them."""

import csv
import json

import numpy as np
import pytest
from helpers.made_records import contest, made

from l2e.bench.store import Store
from l2e.report import statistics
from l2e.report.ablation_table import HEADS, ablation_tables
from l2e.report.collection import collect
from l2e.report.targets import reached
from l2e.report.write import write_report

FUNCTIONS = (1, 2, 6, 7, 10, 11, 15, 21)  # two of each of three groups, one of each of the others


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    """`bad` is worse than `good` everywhere, `middle` differs from it on f1 and f2 only, `partial` is not finished."""
    store = Store(tmp_path_factory.mktemp("ablation") / "store")
    store.open()
    store.append(contest(("good", "unused", "bad"), FUNCTIONS))
    for function in FUNCTIONS:
        for seed in range(4):
            gap = 10.0 if function <= 2 else 1e-3 * (1 + 0.1 * seed)
            store.append([made("middle", function, seed, [500.0, gap])])
    store.append([made("partial", 1, 0, [1.0])])
    return store


def table(store: Store, **ablation):
    store.note_experiment({"methods": ["good", "middle", "bad"], "ablation": ablation})
    return ablation_tables(collect(store))


def test_differences_and_tests_are_those_of_the_records(store) -> None:
    (found,) = table(store, full="good", variants={"without much": "middle", "without all": "bad"})
    lines = {line.label: line for line in found.lines}
    results = collect(store)
    groups = list(dict.fromkeys(run.group for run in results.runs))
    labels = ("good", "without much", "without all")
    assert list(lines) == [f"{place}: {label}" for place in ("all", *groups) for label in labels]
    for place in ("all", *groups):
        problems = [p for p in results.ordered if place in ("all", results.problems[p].group)]
        of = {m: [results.gaps(p, m) for p in problems] for m in ("good", "middle", "bad")}
        logarithms = {m: np.mean([np.log10(np.median(gap)) for gap in gaps]) for m, gaps in of.items()}
        p_values = [statistics.compare(of["good"], of[m]).p for m in ("middle", "bad")]
        for label, method, holm in zip(labels[1:], ("middle", "bad"), statistics.holm(p_values), strict=True):
            cells = dict(zip(HEADS, lines[f"{place}: {label}"].cells, strict=True))
            expected = statistics.compare(of["good"], of[method])
            assert cells["gap difference"].value == pytest.approx(logarithms[method] - logarithms["good"])
            assert cells["full won / tied / lost"].text == f"{expected.wins} / {expected.ties} / {expected.losses}"
            assert cells["p (Holm)"].value == pytest.approx(holm)
            assert cells["effect"].value == expected.effect
            runs = [run for run in results.runs if run.problem in problems and run.method == method]
            assert cells["targets"].value == reached(runs, np.array([50.0]))[0]
            assert set(cells["p"].keys) == set(results.keys(problems, ("good", method)))
    bad = lines["all: without all"]
    assert bad.cells[6].mark == "best"  # eight problems, all worse: p = 2 / 2^8, doubled by Holm
    assert bad.cells[6].value == pytest.approx(4 / 2**8)
    assert (bad.method, bad.against) == ("bad", "good")
    assert lines["separable: without much"].group == "separable"


def test_variants_are_all_other_methods_if_none_is_named_and_only_finished_ones(store) -> None:
    (found,) = table(store, full="good")
    assert [line.label for line in found.lines if line.label.startswith("all")] == [
        f"all: {method}" for method in ("good", "middle", "bad", "unused")
    ]
    assert table(store, full="partial") == []
    assert table(store, full="good", variants={"x": "partial"}) == []
    store.note_experiment({"methods": ["good"]})
    assert ablation_tables(collect(store)) == []


def test_two_that_failed_do_not_differ() -> None:
    nothing, something = np.array([np.inf, np.inf]), np.array([1.0, 1.0])
    assert statistics.decades(nothing, nothing) == 0.0
    found = statistics.compare([nothing, something], [nothing, 10 * something])
    assert (found.p, found.effect) == (1.0, 1.0)


def test_it_is_written_in_all_formats_and_on_the_page(store, tmp_path) -> None:
    table(store, full="good", variants={"without all": "bad"})
    results = collect(store, ("good", "bad"))
    write_report(results, tmp_path, figures=False)
    page = (tmp_path / "index.html").read_text()
    assert '<section id="table-ablation">' in page
    assert 'data-group="separable" data-method="bad" data-against="good"' in page
    rows = list(csv.DictReader((tmp_path / "tables" / "ablation.csv").read_text().splitlines()))
    assert {row["where"] for row in rows} >= {"all: good", "all: without all"}
    assert r"\textbf{" in (tmp_path / "tables" / "ablation.tex").read_text()
    assert "| all: without all |" in (tmp_path / "tables" / "ablation.md").read_text()
    sources = json.loads((tmp_path / "tables" / "sources.json").read_text())
    first, last = sources["cells"]["ablation"]["all: without all"]["p"][0]
    assert set(sources["keys"][first : last + 1]) <= set(results.keys(results.ordered, ("good", "bad")))

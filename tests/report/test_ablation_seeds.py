"""Ablations over several trainings: the training is the unit, pairs have the same seed and the same budget."""

import json
import sys

import ablation_seeds
import arm_pages
import numpy as np
import pytest
from helpers.made_records import made
from recorded import Recorded

from l2e.bench.store import Store

GAPS = {"plain 20 0": 1.0, "plain 20 1": 10.0, "freed 20 0": 10.0, "freed 20 1": 1000.0, "plain 40 0": 0.1}
"""Final gaps on both functions, by training; there are two budgets."""


@pytest.fixture
def folder(tmp_path):
    store = Store(tmp_path / "runs")
    store.open()
    rows = []
    for name, gap in GAPS.items():
        budget = int(name.split()[1])
        for function in (6, 10):
            store.append([made(name, function, 0, [1e5, 1e4, gap], [1, budget // 2, budget], budget)])
        means = {"f6": gap, "f10": gap}
        rows.append(
            {"name": name, "budget": budget, "means": means, "validation_untrained": 2.0, "validation": 1.0, "step": 3}
        )
        own = tmp_path / "runs" / name.replace(" ", "-")
        own.mkdir()
        own.joinpath("metrics.jsonl").write_text(json.dumps({"step": 1, "validation": 1.0}) + "\n")
    (tmp_path / "runs" / "ablation.json").write_text(json.dumps({"rows": rows}))
    (tmp_path / "runs" / "experiment.json").write_text("{}")
    return tmp_path


def run(folder, monkeypatch, against: str) -> None:
    out = folder / "results" / "ablation-sharing-seeds"
    arguments = ["ablation_seeds", str(folder / "runs"), "--out", str(out), "--against", against]
    monkeypatch.setattr(sys, "argv", [*arguments, "--figures", str(folder / "picture")])
    ablation_seeds.main()


def test_trainings_are_the_unit_and_pairs_have_a_seed_and_a_budget(folder, monkeypatch) -> None:
    run(folder, monkeypatch, "plain")
    facts = json.loads((folder / "results" / "ablation-sharing-seeds" / "arms.json").read_text())
    plain, freed, more = (facts["arms"][arm] for arm in ("plain 20", "freed 20", "plain 40"))
    assert plain["seeds"] == pytest.approx({"0": 0.0, "1": 1.0})
    assert (plain["mean"], plain["error"]) == pytest.approx((0.5, 0.5))  # of two trainings, not of four functions
    assert freed["against"] == "plain 20"
    assert freed["differences"] == {"plain 20": pytest.approx([1.5, 0.5, 0.2048], abs=1e-4)}  # t = 3, one degree
    assert plain["differences"] == {"freed 20": pytest.approx([-1.5, 0.5, 0.2048], abs=1e-4)}
    assert more["differences"] == {}  # one training has no error
    assert more["against"] == "plain 40"
    assert freed["last_half"][0] == pytest.approx(-2.0)  # 1e4 at half of the budget
    metrics = (folder / "results" / "ablation-sharing-seeds" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["training"] for line in metrics] == list(GAPS)
    for name in ("picture-arms.png", "picture-curves.png"):
        assert (folder / name).stat().st_size > 10_000


def test_an_arm_that_is_not_there_is_named(folder, monkeypatch) -> None:
    with pytest.raises(SystemExit, match="no arm free to compare plain 20 with"):
        run(folder, monkeypatch, "free")


def test_the_page_shows_arms_and_the_control_for_a_leak(folder, monkeypatch) -> None:
    run(folder, monkeypatch, "plain")
    leak = [
        {"model": f"plain-{seed}", "gaps": {"f12": {"off": [100.0, 100.0], "on": [on, on]}}}
        for seed, on in ((0, 1.0), (1, 10.0))
    ]
    path = folder / "results" / "ablation-sharing-seeds" / "guide-left-on.json"
    path.write_text(json.dumps(leak))
    texts = arm_pages.arms(Recorded(folder / "results"))
    rows = texts[3].splitlines()
    assert rows[2].startswith("| plain 20 | 2 | 2.00, 1.00 | 0.500 ± 0.500 |  |  |")
    assert rows[3].startswith("| freed 20 | 2 | 2.00, 1.00 | 2.000 ± 1.000 | +1.500 ± 0.500 to plain 20 | 0.2 |")
    assert texts[-1].splitlines()[-1] == "| plain | 1.50 ± 0.50 |"


def test_gaps_are_read_where_the_budget_says(folder) -> None:
    store = Store(folder / "runs")
    store.open()
    found = ablation_seeds._traces([*store.records.values()], {"plain 20 0": 20})
    assert list(found["plain 20 0"]) == ["f6", "f10"]
    np.testing.assert_allclose(found["plain 20 0"]["f6"], [5, 5, 4, 4, 0], atol=1e-9)

"""From an ablation file to a table: variants change what they name, are trained and scored once, and are ranked."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from l2e.bench import score
from l2e.cli.commands import main
from l2e.report.ablation import _rank, load_ablation, merged

HERE = Path(__file__).parents[2] / "experiments"
TRAINING = """
[optimizer]
operator = "base"
population_size = 8
width = 4
[tasks]
functions = [1]
[estimator]
kind = "truncated"
length = 2
[training]
steps = 1
generations = 3
validation_batch = 1
"""
ABLATION = """
title = "Tiny"
training = "tiny.toml"
seeds = 1
full = "blended"
remarks = "Nothing to see."
[common.training]
steps = 2
[variants."one for each"]
paper = { mean = 3.0 }
[variants."blended"]
optimizer = { deployed_gate = "soft", schedule = "shared" }
"""


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


@pytest.fixture
def files(tmp_path) -> Path:
    (tmp_path / "tiny.toml").write_text(TRAINING)
    (tmp_path / "ablation.toml").write_text(ABLATION)
    return tmp_path


def test_the_papers_tables_can_be_read_and_differ_where_they_say() -> None:
    components = load_ablation(HERE / "ablation-components.toml")
    rows = {variant.name[0]: variant for variant in components.variants}
    assert rows["1"].config.guidance is None
    assert rows["4"].config.guidance is not None
    assert rows["2"].config.optimizer.deployed_gate == "fixed"
    assert rows["3"].config.optimizer.operator == "base"
    assert [rows[item].paper["mean"] for item in "1234"] == [5.294e5, 8.213e5, 3.506e4, 5.098e3]
    sharing = load_ablation(HERE / "ablation-sharing.toml")
    assert [(v.config.optimizer.schedule, v.config.training.generations + 1) for v in sharing.variants] == [
        (schedule, batches) for schedule in ("shared", "unshared") for batches in (20, 50, 100, 200)
    ]


def test_a_change_replaces_keys_and_leaves_the_rest() -> None:
    assert merged({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}, "b": {"z": 4}}) == {"a": {"x": 1, "y": 3}, "b": {"z": 4}}


def test_equal_gaps_share_a_rank() -> None:
    rows = [{}, {}, {}]
    _rank(rows, np.array([[1.0, 5.0], [1.0, 4.0], [2.0, 3.0]]))
    assert [row["measured"]["rank"] for row in rows] == [2.25, 1.75, 2.0]
    assert rows[0]["measured"]["mean"] == 3.0


def test_an_ablation_trains_scores_and_tells_and_does_nothing_twice(files, monkeypatch) -> None:
    monkeypatch.setattr(score, "PAPER_TEST", (10, 14))
    arguments = ("ablate", str(files / "ablation.toml"), "--out", str(files / "out"), "--no-progress")
    assert command(*arguments) == 0
    record = json.loads((files / "out" / "ablation.json").read_text())
    one, blended = record["rows"]
    assert (one["budget"], blended["budget"]) == (8 * 4, 8 * 7)
    assert one["steps"] == 2
    assert list(one["means"]) == ["f10", "f14"]
    assert one["measured"]["mean"] == pytest.approx(np.mean(list(one["means"].values())))
    text = (files / "out" / "ablation.md").read_text()
    assert "(3)" in text
    assert "Nothing to see." in text
    records = (files / "out" / "records.jsonl").read_text()
    assert len(records.splitlines()) == 4
    assert command(*arguments) == 0
    assert (files / "out" / "records.jsonl").read_text() == records
    assert json.loads((files / "out" / "ablation.json").read_text())["rows"] == record["rows"]
    assert command("report", str(files / "out"), "--out", str(files / "report"), "--no-figures") == 0
    rows = csv.DictReader((files / "report" / "tables" / "ablation.csv").read_text().splitlines())
    both = [row for row in rows if row["where"] in ("all: blended", "all: one for each")]
    for row, name in zip(both, ("blended", "one for each"), strict=True):
        gaps = next(row["means"] for row in record["rows"] if row["name"] == name)  # one seed: medians are means
        assert float(row["log10 gap"]) == pytest.approx(np.log10(list(gaps.values())).mean())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ('title = "x"\nvariant = 1', "variants"),
        ('title = "x"\ntraining = "tiny.toml"\nseeds = 0\n[variants.a]\n', "seeds must be a whole number from 1"),
        (
            'title = "x"\ntraining = "tiny.toml"\n[variants."../../x"]\n',
            r"a name in \[variants\] must be a name of letters",
        ),
        (
            'title = "x"\ntraining = "tiny.toml"\n[variants."/tmp/x"]\n',
            r"a name in \[variants\] must be a name of letters",
        ),
        ('title = "x"\ntraining = "tiny.toml"\n[variants."a b"]\n[variants.a-b]\n', "would be trained in one folder"),
        ('title = "x"\ntraining = "tiny.toml"\nvariants = { a = 3 }', r"\[variants\] a must be a table"),
        ('title = "x"\ntraining = "tiny.toml"\nfull = "b"\n[variants.a]\n', "unknown variant 'b'"),
        ('title = "x"\ntraining = "tiny.toml"', "missing: variants"),
        ('title = "x"\ntraining = "tiny.toml"\n[variants.a]\npaper = { average = 1.0 }', "average"),
        ('title = "x"\ntraining = "tiny.toml"\n[variants.a.optimizer]\ngates = "soft"', "gates"),
    ],
)
def test_a_wrong_key_is_named(files, wrong, says) -> None:
    (files / "wrong.toml").write_text(wrong)
    with pytest.raises(ValueError, match=says):
        load_ablation(files / "wrong.toml")

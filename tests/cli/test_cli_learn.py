"""`l2e learn`, and its model in `l2e minimize`, `l2e score` and `l2e models`."""

from pathlib import Path

import pytest

from l2e.cli.commands import main

MODULE = """
import numpy as np
def make(seed):
    at = 2 + 0.1 * np.random.default_rng(seed).standard_normal(4)
    across = np.linalg.qr(np.random.default_rng(99).standard_normal((4, 4)))[0]
    return lambda x: float((np.geomspace(1, 50, 4) * (across @ (x - at)) ** 2).sum())
new = make(100)
other = make(101)
"""
FAMILY = """
factory = "bowls:make"
seeds = 8
bounds = [[-2, 4], [-2, 4], [-2, 4], [-2, 4]]
budget = 1600
"""


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(caught.value.code or 0), captured.out, captured.err


@pytest.fixture
def in_folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "bowls.py").write_text(MODULE)
    (tmp_path / "bowls.toml").write_text(FAMILY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_family_is_quoted_learned_used_scored_and_listed(capsys, in_folder) -> None:
    code, out, _ = run(capsys, "learn", "bowls.toml", "--out", "models/bowls", "--quote")
    assert code == 0
    assert "at most 1600 evaluations" in out
    assert "3 were timed" in out
    assert not (in_folder / "models").exists()
    code, out, _ = run(capsys, "learn", "bowls.toml", "--out", "models/bowls")
    assert code == 0
    assert "model: models/bowls.safetensors" in out
    assert len(list((in_folder / "models" / "bowls.journals").glob("first-*.l2e"))) == 8
    code, out, _ = run(capsys, "minimize", "bowls:new", "--model", "models/bowls", "--budget", "20")
    assert code == 0
    assert "seeds" in out
    code, out, _ = run(capsys, "score", "models/bowls")
    assert code == 0
    assert "left out" in out
    assert "ratio" in out
    code, out, _ = run(capsys, "models")
    assert code == 0
    assert "8 in 4-D" in " ".join(out.split())


def test_journals_are_learned_from_without_an_evaluation(capsys, in_folder) -> None:
    for i, function in enumerate(("new", "other") * 3):
        words = (
            f"minimize bowls:{function} --bounds=-2,4 --dimension 4 --budget 80 --checkpoint runs/{i}.l2e --seed {i}"
        )
        assert run(capsys, *words.split())[0] == 0
    journals = sorted(map(str, Path("runs").glob("*.l2e")))
    code, out, _ = run(capsys, "learn", *journals, "--out", "models/bowls", "--quote")
    assert "no evaluation" in out
    code, out, _ = run(capsys, "learn", *journals, "--out", "models/bowls")
    assert code == 0
    assert "6 members in 4-D, from journals" in out


def test_features_go_from_the_file_to_the_search(capsys, in_folder) -> None:
    rows = ", ".join(f"[{i}, {i % 3}]" for i in range(8))
    (in_folder / "told.toml").write_text(FAMILY + f'features = [{rows}]\nscale = "free"\n')
    assert run(capsys, "learn", "told.toml", "--out", "models/told")[0] == 0
    words = ("minimize", "bowls:new", "--model", "models/told", "--budget", "20")
    assert run(capsys, *words, "--features", "3,1")[0] == 0
    code, _, err = run(capsys, *words, "--features", "3")
    assert code == 2
    assert "2 finite numbers" in err


def test_wrong_words_are_one_line(capsys, in_folder) -> None:
    (in_folder / "wrong.toml").write_text('factory = "bowls:make"\nmember = ["a"]\n')
    code, _, err = run(capsys, "learn", "wrong.toml", "--out", "m")
    assert code == 2
    assert "did you mean members" in err
    (in_folder / "both.toml").write_text("seeds = 3\n")
    code, _, err = run(capsys, "learn", "both.toml", "--out", "m")
    assert code == 2
    assert "either factory or members" in err
    code, _, err = run(capsys, "minimize", "bowls:new", "--model", "none", "--budget", "20")
    assert code == 2
    assert "none" in err

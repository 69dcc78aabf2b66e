"""`l2e bench`, `report` and `export` as people type them."""

import pytest
from made_records import contest

from l2e.bench.store import Store
from l2e.cli import main


def run(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(caught.value.code or 0), " ".join((captured.out + captured.err).split())


def test_report_and_export_of_a_store(capsys, tmp_path) -> None:
    store = Store(tmp_path / "store")
    store.open()
    store.append(contest(functions=(1, 8)))
    code, out = run(
        capsys, "report", str(store.folder), "--out", str(tmp_path / "r"), "--no-figures", "--methods", "bad,good"
    )
    assert code == 0
    assert "index.html" in out
    assert (tmp_path / "r" / "tables" / "mean.md").read_text().count("| bad | good |") == 1
    assert not (tmp_path / "r" / "figures").exists()
    code, out = run(capsys, "export", str(store.folder), str(tmp_path / "all.csv"))
    assert (code, "24 records" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere", "--out", "r"], "no records in nowhere"),
        (["bench", "nowhere.toml", "--out", "r"], "nowhere.toml"),
        (["bench", "e.toml", "--out", "r", "--seeds", "0"], "seeds must be at least 1"),
        (["bench", "e.toml", "--out", "r", "--methods", "cmeas"], "did you mean cmaes"),
        (["bench", "e.toml", "--out", "r", "--log", "coca"], "did you mean coco"),
        (["bench", "e.toml", "--out", "e.toml/r"], "cannot make or write to the store"),
    ],
)
def test_errors_are_one_line(capsys, tmp_path, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'name = "x"\nsuite = "bbob"\nfunctions = [1]\ndimensions = [2]\nbudget = 9\nmethods = ["de"]\n'
    (tmp_path / "e.toml").write_text(text)
    code, out = run(capsys, *arguments)
    assert code == 2
    assert message in out
    assert "Traceback" not in out

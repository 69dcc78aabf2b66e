"""`l2e bench`, `report` and `export` as people type them."""

import pytest
from helpers.made_records import contest

from l2e.bench.store import Store
from l2e.cli.commands import main


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


TOML = 'name = "x"\nsuite = "bbob"\nfunctions = [1]\ndimensions = [2]\nbudget = 9\nseeds = 1\nmethods = ["{}"]\n'
FACTORIES = """
import sys
def divides(dimension, budget): return 1 / 0
def leaves(dimension, budget): sys.exit("I leave")
def number(dimension, budget): return 3
def long(dimension, budget): raise RuntimeError("first\\n" + 100_000 * "x")
def silent(dimension, budget):
    class Silent(Exception):
        def __str__(self): raise ValueError
    raise Silent
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current folder with methods of the user's own."""
    (tmp_path / "own_factories.py").write_text(FACTORIES)
    (tmp_path / "own_broken.py").write_text("def (:")
    (tmp_path / "own_raising.py").write_text("1 / 0")
    (tmp_path / "own_importing.py").write_text("import no_such_module_at_all")
    (tmp_path / "own_method.py").write_text(
        "from l2e.algorithms.random_search import RandomSearch\ndef search(dimension, budget): return RandomSearch(3)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "own_factories:divides",
            "method 'own_factories:divides' cannot be built: ZeroDivisionError: division by zero",
        ),
        ("own_factories:leaves", "cannot be built: SystemExit: I leave"),
        ("own_factories:number", "made a int, not an algorithm or an adapter"),
        ("own_factories:long", "cannot be built: RuntimeError: first xxx"),
        ("own_factories:silent", "cannot be built: Silent: (its message cannot be read)"),
        ("own_factories:nothing", "has no attribute 'nothing'; write module:factory"),
        ("own_broken:x", "cannot be built: SyntaxError"),
        ("own_raising:x", "cannot be built: ZeroDivisionError"),
        ("own_importing:x", "cannot be built: ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("own_nowhere:x", "No module named 'own_nowhere'; write module:factory, found from the current folder"),
    ],
)
def test_a_method_of_ones_own_that_fails_is_one_sentence(capsys, here, name, message) -> None:
    (here / "e.toml").write_text(TOML.format(name))
    code, out = run(capsys, "bench", "e.toml", "--out", "r")
    assert code == 2
    assert message in out
    assert "Traceback" not in out
    assert len(out) < 600


def test_code_in_a_file_from_elsewhere_runs_only_if_it_is_trusted(capsys, here, tmp_path_factory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "e.toml"
    elsewhere.write_text(TOML.format("own_method:search"))
    code, out = run(capsys, "bench", str(elsewhere), "--out", "r")
    assert code == 2
    assert "is not under the current folder and names Python code to run (own_method:search)" in out
    assert "repeat the command with --trust" in out
    assert not (here / "r").exists()
    code, out = run(capsys, "bench", str(elsewhere), "--out", "r", "--trust")
    assert (code, "1 runs done now" in out) == (0, True)
    # what is named on the command line, and files without code, need no such word
    code, _ = run(capsys, "bench", str(elsewhere), "--out", "r", "--methods", "own_method:search")
    assert code == 0
    elsewhere.write_text(TOML.format("random-search"))
    code, _ = run(capsys, "bench", str(elsewhere), "--out", "other")
    assert code == 0


def test_odd_lines_are_said_by_bench_and_report(capsys, here) -> None:
    (here / "e.toml").write_text(TOML.format("random-search"))
    assert run(capsys, "bench", "e.toml", "--out", "r")[0] == 0
    with (here / "r" / "records.jsonl").open("a") as file:
        file.write('{"key":"x","spec":3}\n[]\n')
    said = "2 lines were skipped in r; the first is line 2 of records.jsonl: missing in [record]: nfev"
    code, out = run(capsys, "bench", "e.toml", "--out", "r")
    assert (code, said in out, "0 runs done now" in out) == (0, True, True)
    code, out = run(capsys, "report", "r", "--out", "page", "--no-figures")
    assert (code, said in out) == (0, True)

"""The command line as people type it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from l2e.cli.commands import main

EXECUTABLE = [sys.executable, "-c", "from l2e.cli.commands import main; main()"]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(caught.value.code or 0), captured.out, captured.err


@pytest.fixture
def in_folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "mymodule.py").write_text(
        "import time\n"
        "def myfunction(x):\n    return float(((x - 1) ** 2).sum())\n"
        "def slow(x):\n    time.sleep(0.02)\n    return float((x ** 2).sum())\n"
        "def broken(x):\n    raise RuntimeError('no')\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_benchmark_function_with_plot_and_json(capsys, in_folder) -> None:
    options = "--function bbob:f10:i3:d4 --method cmaes --budget 400 --seed 0 --plot out.png --out out.json"
    code, out, _ = run(capsys, "minimize", *options.split())
    assert code == 0
    assert "gap to optimum" in out
    assert (in_folder / "out.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((in_folder / "out.json").read_text())
    assert written["nfev"] == 400
    assert len(written["x"]) == 4
    assert written["history"]["fun"][-1] == written["fun"]


def test_a_users_own_function(capsys, in_folder) -> None:
    code, out, _ = run(
        capsys, "minimize", "mymodule:myfunction", "--bounds=-5,5", "--dimension", "3", "--budget", "600"
    )
    assert code == 0
    best = float(out.split("best value")[1].split()[0])
    assert best < 1e-6
    code, out, _ = run(capsys, "minimize", "mymodule:myfunction", "--bounds=0,5", "--bounds=0,2", "--budget", "50")
    assert code == 0


def test_same_seed_same_output(capsys) -> None:
    arguments = ["minimize", "--function", "bbob:f1:d3", "--budget", "60", "--seed", "4"]
    outputs = [run(capsys, *arguments)[1].split("evaluations")[0] for _ in range(2)]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["minimize"], "either module:function or --function"),
        (["minimize", "--function", "bbbo:f1"], "did you mean bbob"),
        (["minimize", "--function", "bbob:f99:d3"], "99"),
        (["minimize", "--function", "bbob:x3"], "bbob:f10:i3:d20"),
        (["minimize", "--function", "bbob:i3"], "names no function"),
        (["minimize", "--function", "bbob:f1:d3", "--method", "cmeas"], "did you mean cmaes"),
        (["minimize", "--function", "bbob:f1:d3", "--bounds=-5,5"], "go with your own function"),
        (["minimize", "nomodule:f", "--bounds=-5,5"], "no module 'nomodule'"),
        (["minimize", "mymodule:myfunktion", "--bounds=-5,5"], "did you mean myfunction"),
        (["minimize", "mymodule", "--bounds=-5,5"], "module:function"),
        (["minimize", "mymodule:myfunction"], "needs --bounds"),
        (["minimize", "uav:f12"], "write --function uav:f12"),
        (["minimize", "mymodule:myfunction", "--bounds=-5"], "low,high"),
        (["minimize", "mymodule:myfunction", "--bounds=a,b"], "numbers"),
        (["minimize", "mymodule:myfunction", "--bounds=5,-5"], "lower end"),
        (["minimize", "mymodule:myfunction", "--bounds=0,1", "--bounds=0,1", "--dimension", "3"], "2 bounds"),
        (["minimize", "--function", "bbob:f1:d3", "--budget", "0"], "at least 1"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(capsys, in_folder, arguments, message) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_unknown_option_is_refused(capsys) -> None:
    code, out, err = run(capsys, "minimize", "--function", "bbob:f1:d3", "--budgt", "5")
    assert code == 2
    assert "--budget" in out + err


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_a_function_that_only_fails_exits_with_1(capsys, in_folder) -> None:
    code, out, _ = run(capsys, "minimize", "mymodule:broken", "--bounds=0,1", "--budget", "20")
    assert code == 1
    assert "none of 10 evaluations" in " ".join(out.split())


def test_lists(capsys) -> None:
    code, out, _ = run(capsys, "methods")
    assert code == 0
    assert "cmaes-bipop" in out
    assert "lq-cmaes" in out
    code, out, _ = run(capsys, "problems")
    assert code == 0
    assert "bbob:f10:i3:d20" in out
    assert "f24" in out


def test_version() -> None:
    done = subprocess.run([sys.executable, "-m", "l2e", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("l2e ")


def test_help(capsys) -> None:
    code, out, _ = run(capsys, "minimize", "--help")
    assert code == 0
    assert "--max-seconds" in out
    code, out, _ = run(capsys, "--help")
    assert all(command in out for command in ("minimize", "methods", "problems", "demo"))


def test_demo_writes_its_picture_and_page(capsys, tmp_path) -> None:
    code, out, _ = run(capsys, "demo", "--out", str(tmp_path), "--dimension", "2", "--budget", "200", "--seeds", "2")
    assert code == 0
    assert "Rosenbrock" in out
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "demo.html").read_text()
    assert page.count('"group":"') == 6  # problems
    assert 'src="http' not in page


def test_ctrl_c_shows_the_best_so_far_and_the_same_command_goes_on(in_folder) -> None:
    command = [*EXECUTABLE, "minimize", "mymodule:slow", "--bounds=-5,5", "--dimension", "2"]
    command += ["--budget", "300", "--checkpoint", "run.l2e"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while not (in_folder / "run.l2e").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "best value" in out
    assert "run the same command again to resume" in " ".join(out.split())
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=True)
    assert "300 in" in done.stdout


def test_saved_searches_are_shown_and_compared(capsys, in_folder) -> None:
    search = ["minimize", "mymodule:myfunction", "--bounds=-5,5", "--dimension", "2", "--budget", "60"]
    for name, more in (("a", []), ("b", []), ("c", ["--seed", "5"])):
        assert run(capsys, *search, "--checkpoint", f"{name}.l2e", *more)[0] == 0
    code, out, _ = run(capsys, "show", "a.l2e", "b.l2e", "c.l2e")
    text = " ".join(out.split())
    assert code == 0
    assert "60; begun with a budget of 60" in text
    assert "same search made with the same versions and linear algebra; their first 60 points are the same" in text
    assert "a.l2e and c.l2e are different searches (key)" in text
    code, _, error = run(capsys, "show", "mymodule.py")
    assert code == 2
    assert "not a saved search" in error

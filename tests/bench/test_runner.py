"""The runner: kills, two at once, methods that misbehave, and nothing done twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from l2e.bench import runner as runner_module
from l2e.bench.experiment import parse_experiment
from l2e.bench.plan import Plan, make_plan
from l2e.bench.runner import Runner
from l2e.bench.store import RECORDS, Store, read_store

FACTS = {"name": "x", "suite": "bbob", "functions": [1], "dimensions": [2], "budget": 40}
HERE = Path(__file__).parent
PATIENCE = 900.0
"""Seconds after which a command that should end is taken to hang, however busy the machine is."""
COMMAND = [sys.executable, "-c", "from l2e.cli.commands import main; main()", "bench"]


@pytest.fixture
def found(monkeypatch) -> None:
    """Let this process and the workers find the methods that misbehave."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)


def run(folder: Path, plan: Plan, timeout: float = 3600.0, **options) -> Runner:
    store = Store(folder)
    store.open()
    runner = Runner(plan, store, 1, timeout, **options)
    runner.run()
    return runner


def plan_of(*names: str) -> Plan:
    return make_plan(parse_experiment({**FACTS, "methods": [f"contest_methods:{name}" for name in names], "seeds": 1}))


def test_methods_that_misbehave_are_records_with_their_error(tmp_path, found, monkeypatch) -> None:
    monkeypatch.setattr(runner_module, "START_SECONDS", 3600.0)  # how busy the machine is shall not matter
    names = ["raises", "nan", "dies", "greedy", "talkative"]
    plan, hanging = plan_of(*names), plan_of("hangs")
    seen = []
    assert run(tmp_path, hanging, timeout=0.5).done_here == 1
    runner = run(tmp_path, plan, timeout=3600.0, show=seen.append)
    records = {r.spec.method.removeprefix("contest_methods:"): r for r in read_store(tmp_path).records.values()}
    assert runner.done_here == 5
    assert seen[-1].records.keys() == {spec.key for spec in (*plan.specs, *hanging.specs)}
    assert len(str(records["talkative"].error)) == 300
    assert records["raises"].error == "RuntimeError: something broke inside the method"
    assert records["raises"].used == 3
    assert len(records["raises"].fun) >= 1
    assert "timed out" in str(records["hangs"].error)
    assert records["hangs"].reason == "timeout"
    assert "outside the box or not a number" in str(records["nan"].error)
    assert records["nan"].used == 3
    assert "exit code 7" in str(records["dies"].error)
    assert records["greedy"].error is None
    assert records["greedy"].used == 40
    assert records["greedy"].reason == "budget"

    # nothing is run again, unless it is asked for
    assert run(tmp_path, plan).done_here == 0
    assert run(tmp_path, hanging).done_here == 0
    again = run(tmp_path, plan, again=lambda record: record.reason == "budget")
    assert again.done_here == 1


TOML = """
name = "x"
suite = "bbob"
functions = [1, 8]
dimensions = [2]
budget = 40
methods = ["contest_methods:waits", "de"]
seeds = 4
"""


def start(folder: Path, toml: Path) -> subprocess.Popen[str]:
    """The command; its methods wait after two runs until there is a file `go` beside the experiment."""
    command = [*COMMAND, str(toml), "--out", str(folder), "--workers", "1", "--trust"]
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "CONTEST_GO": str(toml.parent / "go")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def lines(folder: Path) -> int:
    path = folder / RECORDS
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_lines(folder: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while lines(folder) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def essence(folder: Path) -> dict:
    records = read_store(folder).records.values()
    return {r.key: (r.spec, r.nfev.tolist(), r.fun.tolist(), r.used, r.reason, r.error) for r in records}


def test_killed_and_resumed_equals_uninterrupted_and_two_runners_share(tmp_path) -> None:
    toml = tmp_path / "experiment.toml"
    toml.write_text(TOML)
    killed = start(tmp_path / "killed", toml)
    wait_for_lines(tmp_path / "killed", 2)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    before = essence(tmp_path / "killed")
    assert len(before) == 2
    (tmp_path / "go").touch()

    # two runners finish what the killed one began, while another store is filled without interruption
    both = [start(tmp_path / "killed", toml) for _ in range(2)]
    outputs = [process.communicate(timeout=PATIENCE)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    whole = start(tmp_path / "whole", toml)
    assert "16 runs done now, 16 in" in whole.communicate(timeout=PATIENCE)[0]

    after = essence(tmp_path / "killed")
    assert after == essence(tmp_path / "whole")
    assert {key: after[key] for key in before} == before
    assert lines(tmp_path / "killed") == 16  # each run once, by one of the two
    done = [int(output.split(" runs done now")[0].split()[-1]) for output in outputs]
    assert sum(done) == 16 - len(before)


def test_ctrl_c_keeps_what_is_done(tmp_path) -> None:
    toml = tmp_path / "experiment.toml"
    toml.write_text(TOML)
    process = start(tmp_path / "out", toml)
    wait_for_lines(tmp_path / "out", 2)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "the same command goes on" in " ".join(output.split())
    assert len(read_store(tmp_path / "out").records) == 2
    assert np.isfinite([r.used for r in read_store(tmp_path / "out").records.values()]).all()

"""Contests on real local clusters: nodes that are killed, runs that hang or die, and the same records as at home."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from l2e.bench import node
from l2e.bench.cluster import OFTEN, ClusterRunner
from l2e.bench.engines import AbstractEngine, Answer, DaskEngine, RayEngine, connect
from l2e.bench.experiment import parse_experiment
from l2e.bench.plan import Plan, make_plan
from l2e.bench.runner import Runner
from l2e.bench.store import Store, read_store
from l2e.bench.todo import AbortedError
from l2e.cli.commands import main

HERE = Path(__file__).parent
FACTS = {"name": "x", "suite": "bbob", "functions": [1, 8], "dimensions": [2], "budget": 40, "seeds": 2}


@pytest.fixture
def found(monkeypatch, tmp_path) -> Path:
    """Let all processes find the methods that misbehave; the file that those which wait are waiting for."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("CONTEST_GO", str(folder / "go"))
    return folder / "go"


def plan_of(*methods: str, **facts) -> Plan:
    return make_plan(parse_experiment({**FACTS, **facts, "methods": list(methods)}))


def opened(folder: Path) -> Store:
    store = Store(folder)
    store.open()
    return store


def told(folder: Path) -> dict[str, tuple[Any, ...]]:
    """All of the records but how long they took and when."""
    return {
        key: (r.spec, r.nfev.tolist(), r.fun.tolist(), r.used, r.failed, r.reason, r.error)
        for key, r in read_store(folder).records.items()
    }


class Killer:
    """Kills a node when two runs have begun, then lets the waiting ones go on."""

    def __init__(self, go: Path, kill):
        self._go, self._kill, self.killed = go, kill, 0

    def __call__(self, status) -> None:
        if not self.killed and len(list(self._go.parent.glob("mark-*"))) >= 2:
            self.killed = self._kill()
            self._go.touch()


def survives_a_kill(engine: AbstractEngine, folder: Path, go: Path, kill) -> None:
    plan = plan_of("contest_methods:waits", "contest_methods:greedy")
    killer = Killer(go, kill)
    runner = ClusterRunner(plan, opened(folder / "cluster"), engine, timeout=3600.0, show=killer)
    runner.run()
    assert killer.killed
    assert runner.done_here == len(plan.specs) == 8
    Runner(plan, opened(folder / "home"), 1, 3600.0).run()
    assert told(folder / "cluster") == told(folder / "home")


def test_a_killed_dask_worker_changes_no_record(tmp_path, found) -> None:
    engine = DaskEngine(workers=2)
    try:

        def kill() -> int:
            victim = next(iter(engine._client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            return victim

        assert engine.size == 2
        survives_a_kill(engine, tmp_path, found, kill)
    finally:
        engine.close()


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # Ray starts its nodes by fork, with JAX in this process
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_killed_ray_node_changes_no_record(tmp_path, found) -> None:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    other = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    engine = RayEngine()
    try:

        def kill() -> int:
            cluster.remove_node(other, allow_graceful=False)
            return 1

        assert engine.size == 2
        survives_a_kill(engine, tmp_path, found, kill)
    finally:
        engine.close()
        ray.shutdown()
        cluster.shutdown()


class Here(AbstractEngine):
    """Calls at once in this process; the first calls are lost."""

    size = 2

    def __init__(self, losses: int = 0):
        self._answers: list[Answer] = []
        self._losses = losses

    def submit(self, number, function, *arguments) -> None:
        self._losses -= 1
        lost = self._losses >= 0
        self._answers.append(Answer(number, None, "KilledWorker") if lost else Answer(number, function(*arguments)))

    def wait(self, seconds: float) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        while node.idle:
            node.idle.pop().close()


@pytest.fixture
def here():
    engine = Here()
    yield engine
    engine.close()


def test_runs_that_hang_or_die_on_a_node_are_records_and_others_go_on(tmp_path, found, here, monkeypatch) -> None:
    monkeypatch.setattr(node, "START_SECONDS", 3600.0)
    facts = {"functions": [1], "seeds": 1}
    ClusterRunner(
        plan_of("contest_methods:dies", "contest_methods:greedy", **facts), opened(tmp_path), here, 3600
    ).run()
    monkeypatch.setattr(node, "START_SECONDS", 0.0)  # a warm process hangs: it is ended after what it may take
    ClusterRunner(plan_of("contest_methods:hangs", **facts), opened(tmp_path), here, timeout=1.0).run()
    records = {r.spec.method.removeprefix("contest_methods:"): r for r in read_store(tmp_path).records.values()}
    assert (records["greedy"].error, records["greedy"].used) == (None, 40)
    assert records["dies"].reason == "crash"
    assert "exit code 7" in str(records["dies"].error)
    assert records["hangs"].reason == "timeout"
    assert "timed out" in str(records["hangs"].error)


def test_a_task_that_is_lost_is_sent_again_and_often_is_a_record(tmp_path, found) -> None:
    plan = plan_of("contest_methods:greedy", functions=[1], seeds=1)
    for losses, error in ((OFTEN - 1, None), (OFTEN, f"was lost by the cluster {OFTEN} times: KilledWorker")):
        engine = Here(losses)
        try:
            ClusterRunner(plan, opened(tmp_path / str(losses)), engine, timeout=3600.0).run()
        finally:
            engine.close()
        (record,) = read_store(tmp_path / str(losses)).records.values()
        assert record.error == error


def test_a_node_with_another_version_is_refused(tmp_path, here, monkeypatch) -> None:
    monkeypatch.setattr("l2e.bench.cluster.__version__", "0.0.0")
    with pytest.raises(AbortedError, match=r"planned with 0\.0\.0"):
        ClusterRunner(plan_of("random-search"), opened(tmp_path), here, timeout=1.0).run()


def test_what_is_wrong_with_the_command_is_said(tmp_path, capsys) -> None:
    experiment = tmp_path / "x.toml"
    experiment.write_text(
        'name = "x"\nsuite = "bbob"\nfunctions = [1]\ndimensions = [2]\nbudget = 40\n'
        'methods = ["random-search"]\nseeds = 1\n'
    )
    with pytest.raises(ValueError, match="executor"):
        connect("slurm", None, None)
    for options, words in (
        (["--executor", "slurm"], "dask, ray"),
        (["--address", "tcp://here:8786"], "--executor dask"),
        (["--executor", "dask", "--log", "coco"], "--log without --executor"),
    ):
        with pytest.raises(SystemExit):
            main(["bench", str(experiment), "--out", str(tmp_path / "o"), *options])
        assert words in " ".join(capsys.readouterr().err.split())

"""Searches with several workers: the same result whatever arrives first, and nothing lost."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.objectives import crashing_valley, shaken_valley, valley

import l2e
from l2e.core.checkpoint import CheckpointError
from l2e.core.journal_reader import read_journal

BOUNDS = [(-5.0, 5.0)] * 4


def test_the_order_of_arrival_changes_nothing() -> None:
    shaken = l2e.minimize(shaken_valley, bounds=BOUNDS, budget=60, rng=3, workers=3)
    steady = l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3, workers=(map, 3))
    assert shaken.nfev == steady.nfev == 60
    np.testing.assert_array_equal(shaken.evaluations.x, steady.evaluations.x)
    np.testing.assert_array_equal(shaken.history.nfev, steady.history.nfev)


@pytest.mark.parametrize("method", ["cmaes", "lshade", "scipy-de", "pycma"])
def test_other_methods_work_with_workers_too(method) -> None:
    with ThreadPoolExecutor(3) as executor:
        result = l2e.minimize(valley, bounds=BOUNDS, budget=200, rng=0, method=method, workers=executor)
    assert result.nfev <= 200
    assert result.success


def test_populations_are_multiples_of_the_workers() -> None:
    batches = []
    l2e.minimize(
        valley,
        bounds=BOUNDS,
        budget=200,
        rng=0,
        method="cmaes",
        workers=(map, 5),
        callback=lambda state: batches.append(len(state.points)),
    )
    assert set(batches) == {10}  # 8 otherwise


@pytest.mark.parametrize("method", ["lshade", "sahlpso", "pycma"])
def test_populations_that_shrink_or_are_not_ours_fit_the_workers_too(method) -> None:
    if method == "pycma":
        pytest.importorskip("cma")
    batches = []
    l2e.minimize(
        valley,
        bounds=BOUNDS,
        budget=800,
        rng=0,
        method=method,
        workers=(map, 6),
        callback=lambda state: batches.append(len(state.points)),
    )
    assert sum(batches) / 6 >= 0.95 * sum(-(-size // 6) for size in batches)
    assert {size % 6 for size in batches[1:-2]} == {0}


def test_crashed_points_fail_and_the_run_goes_on() -> None:
    with pytest.warns(RuntimeWarning, match="SIGKILL, perhaps out of memory"):
        result = l2e.minimize(crashing_valley, bounds=BOUNDS, budget=40, rng=3, method="lshade", workers=2)
    assert result.nfev == 40
    assert result.n_failed == len(result.failures) > 0
    assert all(failure.x[0] > 4.2 for failure in result.failures)


class Stopping:
    """Raises Ctrl-C at one call, once; called in threads."""

    def __init__(self, at: int):
        self.at, self.calls, self.lock = at, 0, threading.Lock()

    def __call__(self, x) -> float:
        with self.lock:
            self.calls += 1
        return valley(x)

    def callback(self, state) -> None:
        if state.nfev >= self.at:
            self.at = 10**9
            raise KeyboardInterrupt


@pytest.mark.parametrize("order", ["asked", "arrival"])
def test_interrupted_and_resumed_nothing_is_paid_twice(tmp_path, order) -> None:
    path, paid = tmp_path / "run.l2e", 0
    with ThreadPoolExecutor(3) as executor:
        options = {"bounds": BOUNDS, "budget": 150, "rng": 3, "workers": executor, "order": order, "checkpoint": path}
        for at in (10, 60, 10**9):
            stopping = Stopping(at)
            with contextlib.suppress(l2e.InterruptedSearch):
                result = l2e.minimize(stopping, callback=stopping.callback, **options)
            paid += stopping.calls
    assert result.nfev == 150
    assert paid <= 150 + 2 * 3  # what was under way at each interruption
    if order == "asked":
        whole = l2e.minimize(valley, bounds=BOUNDS, budget=150, rng=3, workers=(map, 3))
        np.testing.assert_array_equal(result.evaluations.x, whole.evaluations.x)


def test_values_that_arrived_out_of_order_are_kept_and_the_others_evaluated(tmp_path) -> None:
    """As after a kill in the middle of a batch: some points of it have values, in between some have none."""
    path = tmp_path / "run.l2e"
    whole = l2e.minimize(valley, bounds=BOUNDS, budget=80, rng=3, workers=(map, 4), checkpoint=path)
    evaluations = read_journal(path).segments[0]
    from l2e.core.journal_frames import asked_entry, opening, told_entry

    kept = [n for n in range(40) if n % 3]
    points = np.asarray([evaluations.finished[n].x for n in range(40)])
    content = opening(read_journal(path).header) + asked_entry(points, range(40), "")
    path.write_bytes(content + b"".join(told_entry(n, evaluations.finished[n].value, None) for n in reversed(kept)))
    calls = []
    again = l2e.minimize(
        lambda x: calls.append(1) or valley(x), bounds=BOUNDS, budget=80, rng=3, workers=(map, 4), checkpoint=path
    )
    np.testing.assert_array_equal(again.evaluations.x, whole.evaluations.x)
    assert len(calls) == 80 - len(kept)
    np.testing.assert_array_equal([one.x for one in read_journal(path).evaluations], whole.evaluations.x)


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from helpers.objectives import shaken_valley
import l2e
if __name__ == "__main__":
    l2e.minimize(shaken_valley, bounds=[(-5.0, 5.0)] * 4, budget=10000, rng=3, workers=2, checkpoint=sys.argv[1])
"""


def test_workers_end_when_their_parent_is_killed(tmp_path) -> None:
    script, path = tmp_path / "killed.py", tmp_path / "run.l2e"
    script.write_text(KILLED)
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(tests), *sys.path])}
    process = subprocess.Popen([sys.executable, str(script), str(path), tests], env=environment)
    while not (path.exists() and len(read_journal(path).evaluations) > 20):
        assert process.poll() is None
        time.sleep(0.02)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        children = [int(pid) for pid in file.read().split()]
    assert len(children) >= 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    recorded = read_journal(path)
    assert recorded.deaths == {}  # their process did not die of these points
    end = time.monotonic() + 600
    while [pid for pid in children if os.path.exists(f"/proc/{pid}")] and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "at least 1"),
        ({"workers": 2, "vectorized": True}, "vectorized function takes whole batches"),
        ({"order": "arrival"}, "goes with workers"),
        ({"order": "late", "workers": 2}, "allowed: arrival, asked"),
        ({"workers": map, "timeout": 1.0}, "timeout needs workers"),
        ({"workers": (map, 2), "order": "arrival", "method": "pycma"}, "order must be 'asked'"),
    ],
)
def test_what_does_not_go_together_is_an_error_at_the_door(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        l2e.minimize(valley, bounds=BOUNDS, budget=20, **options)


def test_another_number_of_workers_is_another_search(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    l2e.minimize(valley, bounds=BOUNDS, budget=30, rng=0, workers=(map, 4), checkpoint=path)
    with pytest.raises(CheckpointError, match="workers"):
        l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=0, workers=(map, 3), checkpoint=path)
    with pytest.raises(CheckpointError, match="order='asked'"):
        l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=0, workers=(map, 4), order="arrival", checkpoint=path)


def played(order: str, seed: int = 0, method: str = "auto"):
    """Ask for some points while others are out, tell some of those in hand."""
    rng = np.random.default_rng(seed)
    optimizer = l2e.Optimizer(bounds=BOUNDS, budget=90, rng=1, workers=4, method=method)
    hand, asked = [], []
    while not optimizer.stop():
        if len(hand) < 4 and optimizer.result().nfev + len(hand) < 90:
            new = optimizer.ask()
            hand, asked = [*hand, *new], [*asked, *new]
        some = int(rng.integers(1, len(hand) + 1))
        now, hand = hand[:some], hand[some:]
        now = now[::-1] if order == "backwards" else now
        optimizer.tell(now, [valley(x) for x in now])
    return asked, optimizer.result()


@pytest.mark.parametrize("method", ["auto", "cmaes"])
def test_points_are_told_in_part_and_in_any_order_while_others_are_out(method) -> None:
    first, one = played("forwards", method=method)
    second, other = played("backwards", method=method)
    assert one.nfev == other.nfev == 90
    np.testing.assert_array_equal(first, second)
    assert len({x.tobytes() for x in first}) == 90  # every ask gave new points
    assert "companion" in set(one.evaluations.part)


def test_an_optimizer_with_workers_asks_up_to_n_and_refuses_what_it_did_not_give() -> None:
    optimizer = l2e.Optimizer(bounds=BOUNDS, budget=90, rng=1, workers=4, method="cmaes")
    assert len(optimizer.ask(3)) == 3
    assert len(optimizer.ask()) == 1
    with pytest.raises(ValueError, match="4 points are out"):
        optimizer.ask()
    with pytest.raises(ValueError, match="not one that ask"):
        optimizer.tell(np.zeros((1, 4)), [1.0])
    with pytest.raises(ValueError, match="goes with several workers"):
        l2e.Optimizer(bounds=BOUNDS, budget=9).ask(2)


def test_a_saved_optimizer_with_workers_gives_the_points_again_that_were_out(tmp_path) -> None:
    optimizer = l2e.Optimizer(bounds=BOUNDS, budget=60, rng=1, workers=4)
    for _ in range(2):
        hand = list(optimizer.ask())
        optimizer.tell(hand, [valley(x) for x in hand])
    hand = list(optimizer.ask())
    assert len(hand) == 4
    optimizer.tell(hand[:1], [valley(hand[0])])
    optimizer.save(tmp_path / "run.l2e")
    again = l2e.Optimizer.load(tmp_path / "run.l2e")
    assert again.result().nfev == optimizer.result().nfev
    given = again.ask(4)
    np.testing.assert_array_equal(given, hand[1:])
    for one in (optimizer, again):
        one.tell(hand[1:], [valley(x) for x in hand[1:]])
    np.testing.assert_array_equal(optimizer.ask(), again.ask())
    again.save(tmp_path / "run.l2e")
    assert l2e.Optimizer.load(tmp_path / "run.l2e").result().nfev == again.result().nfev

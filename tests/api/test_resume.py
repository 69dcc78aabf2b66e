"""A resumed run is the run that was saved, whatever happened in between."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e.core.checkpoint import CheckpointError
from l2e.core.journal_reader import read_journal

BOUNDS = [(-5.0, 5.0)] * 4


def valley(x) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


class Stopping:
    """Raises Ctrl-C at one evaluation, once."""

    def __init__(self, at: int):
        self.at, self.calls = at, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return valley(x)


@pytest.mark.parametrize("method", ["auto", "cmaes", "lshade", "scipy-slsqp", "pycma-bipop"])
def test_interrupted_at_several_places_and_resumed_is_the_same_run(tmp_path, method) -> None:
    whole = l2e.minimize(valley, bounds=BOUNDS, budget=400, rng=3, method=method)
    path = tmp_path / "run.l2e"
    paid = 0
    for at in (7, 60, 111):
        stopping = Stopping(at)
        with pytest.raises(l2e.InterruptedSearch, match="the same call goes on from there"):
            l2e.minimize(stopping, bounds=BOUNDS, budget=400, rng=3, method=method, checkpoint=path)
        paid += stopping.calls - 1
    counting = Stopping(10**9)
    resumed = l2e.minimize(counting, bounds=BOUNDS, budget=400, rng=3, method=method, checkpoint=path)
    assert resumed.fun == whole.fun
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.history.nfev, whole.history.nfev)
    assert resumed.nfev == whole.nfev == counting.calls + paid  # no evaluation was paid for twice


def test_a_vectorized_function_resumes_inside_a_batch(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    batch = lambda points: np.asarray([valley(point) for point in points])  # noqa: E731
    whole = l2e.minimize(batch, bounds=BOUNDS, budget=300, rng=3, vectorized=True)
    l2e.minimize(batch, bounds=BOUNDS, budget=100, rng=3, vectorized=True, checkpoint=tmp_path / "short.l2e")
    l2e.minimize(batch, bounds=BOUNDS, budget=300, rng=3, vectorized=True, checkpoint=path)
    content = path.read_bytes()
    path.write_bytes(content[: int(0.6 * len(content))])
    resumed = l2e.minimize(batch, bounds=BOUNDS, budget=300, rng=3, vectorized=True, checkpoint=path)
    assert resumed.fun == whole.fun


def test_a_budget_may_be_raised(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    first = l2e.minimize(valley, bounds=BOUNDS, budget=100, rng=0, checkpoint=path)
    calls = []
    longer = l2e.minimize(lambda x: calls.append(1) or valley(x), bounds=BOUNDS, budget=260, rng=0, checkpoint=path)
    assert longer.nfev == 260
    assert len(calls) == 160
    assert longer.fun <= first.fun


def test_other_points_are_noticed_and_nothing_is_lost(tmp_path, monkeypatch) -> None:
    """As on another processor or after a change of the method: here the seed given to the method is another one."""
    from l2e.api.setup import Setup

    path = tmp_path / "run.l2e"
    with pytest.raises(l2e.InterruptedSearch):
        l2e.minimize(Stopping(150), bounds=BOUNDS, budget=300, rng=0, method="auto", checkpoint=path)
    before = read_journal(path).evaluations
    with monkeypatch.context() as changed:
        changed.setattr(Setup, "seed", property(lambda self: 12345))
        calls = []
        with pytest.warns(RuntimeWarning, match="cannot be replayed here to the bit.*All 149 evaluations are kept"):
            result = l2e.minimize(
                lambda x: calls.append(1) or valley(x), bounds=BOUNDS, budget=300, rng=0, checkpoint=path
            )
        assert result.nfev == 300
        assert len(calls) == 151
        assert result.fun <= min(one.value for one in before)
        with warnings.catch_warnings():  # the search that went on is replayed without a word
            warnings.simplefilter("error")
            again = l2e.minimize(lambda x: 1 / 0, bounds=BOUNDS, budget=300, rng=0, checkpoint=path)
    assert again.fun == result.fun
    assert again.nfev == 300


KILLED = """
import sys, numpy as np, l2e
def f(x):
    print("e", flush=True)
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
r = l2e.minimize(f, bounds=[(-5.0, 5.0)] * 4, budget=200, rng=3, checkpoint=sys.argv[1])
print("done", r.fun.hex(), r.nfev)
"""


def test_killed_at_any_moment_loses_only_what_was_in_flight(tmp_path) -> None:
    path, evaluated, last = tmp_path / "run.l2e", 0, ""
    for kill_after in (1, 13, 40, 77, 1000):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        seen = 0
        for line in process.stdout:
            if line.startswith("done"):
                last = line
            else:
                seen += 1
                if seen == kill_after:
                    process.send_signal(signal.SIGKILL)
                    break
        process.stdout.close()
        process.wait()
        evaluated += seen
    whole = l2e.minimize(valley, bounds=BOUNDS, budget=200, rng=3)
    assert last.split() == ["done", float(whole.fun).hex(), "200"]
    assert (
        evaluated <= 200 + 2 * 4
    )  # at most what was in flight at each kill (and what the pipe held) is evaluated again


DEADLY = """
import os, sys, l2e
def f(x):
    if x[0] > 4.2:
        os.kill(os.getpid(), 9)
    return float(((x - 3) ** 2).sum())
r = l2e.minimize(f, bounds=[(-5.0, 5.0)] * 3, budget=60, rng=0, checkpoint=sys.argv[1])
print(r.nfev, r.n_failed, r.failures[0].reason)
"""


def test_a_point_that_kills_its_process_twice_counts_as_failed(tmp_path) -> None:
    deaths = 0
    while deaths < 200:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", DEADLY, str(tmp_path / "run.l2e")], capture_output=True, text=True
        )
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        deaths += 1
    nfev, failed, *reason = done.stdout.split()
    assert nfev == "60"
    assert deaths == 2 * int(failed) > 0
    assert " ".join(reason) == "ended its process 2 times"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that Ctrl-C left to be closed
@pytest.mark.parametrize("action", ["ask", "tell", "save"])
def test_ctrl_c_at_every_line_of_ask_tell_and_save_does_no_harm(tmp_path, action) -> None:
    """Each line that runs inside of one call is interrupted once; the search then goes on as if nothing had been."""
    path = tmp_path / "run.l2e"

    def played(interrupt_at: int) -> tuple[list[bytes], float, bool]:
        optimizer = l2e.Optimizer(bounds=BOUNDS, budget=40, rng=2)
        asked, interrupted = [], False
        path.unlink(missing_ok=True)
        while not optimizer.stop():
            points = optimizer.ask()
            asked.append(points.tobytes())
            values = [valley(x) for x in points]
            calls = {"ask": optimizer.ask, "tell": lambda p=points, v=values: optimizer.tell(p, v)}
            if len(asked) == 9:
                calls["save"] = lambda: optimizer.save(path)
                optimizer.save(path)
                interrupted = interrupt(calls[action], interrupt_at)
            taken = optimizer.stop() or not np.array_equal(optimizer.ask(), points)
            if not taken:
                optimizer.tell(points, values)
            if len(asked) == 9:
                optimizer.save(path)
                assert l2e.Optimizer.load(path).result().nfev == optimizer.result().nfev
        return asked, optimizer.result().fun, interrupted

    asked, best, _ = played(0)
    interrupt_at, interrupted = 0, True
    while interrupted:
        interrupt_at += 1
        again, found, interrupted = played(interrupt_at)
        assert (again, found) == (asked, best), f"interrupted at line {interrupt_at}"
    assert interrupt_at > 10


def test_ctrl_c_inside_of_tell_does_no_harm_to_a_native_method() -> None:
    def played(interrupt_at: int) -> tuple[list[bytes], float]:
        optimizer = l2e.Optimizer(bounds=BOUNDS, budget=160, rng=2, method="cmaes")
        asked = []
        while not optimizer.stop():
            points = optimizer.ask()
            asked.append(points.tobytes())
            values = [valley(x) for x in points]
            interrupted = interrupt(lambda p=points, v=values: optimizer.tell(p, v), interrupt_at * len(asked))
            if interrupted and not optimizer.stop() and np.array_equal(optimizer.ask(), points):
                optimizer.tell(points, values)
        return asked, optimizer.result().fun

    plain = played(0)
    for interrupt_at in (1, 5, 23, 111):
        assert played(interrupt_at) == plain


def interrupt(call, after: int) -> bool:
    """Make a call and raise Ctrl-C at the n-th line of ours that runs in it; whether it came to that."""
    left = after

    def trace(frame, event, argument):
        nonlocal left
        if "l2e" not in frame.f_code.co_filename:
            return None
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_saving_appends_only_what_is_new(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    optimizer = l2e.Optimizer(bounds=BOUNDS, budget=400, rng=0, method="de")
    sizes = []
    while not optimizer.stop():
        points = optimizer.ask()
        optimizer.tell(points, [valley(x) for x in points])
        before = path.stat().st_ino if path.exists() else None
        optimizer.save(path)
        sizes.append(path.stat().st_size)
        assert before in (None, path.stat().st_ino)
    steps = np.diff(sizes)
    assert steps.max() == steps[: len(steps) // 2].max()
    assert l2e.Optimizer.load(path).result().fun == optimizer.result().fun


def test_modes_follow_the_umask_and_links_are_kept(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        real, link = tmp_path / "real.l2e", tmp_path / "link.l2e"
        link.symlink_to(real)
        l2e.minimize(valley, bounds=BOUNDS, budget=20, rng=0, checkpoint=link)
        optimizer = l2e.Optimizer(bounds=BOUNDS, budget=20, rng=0)
        optimizer.save(tmp_path / "asked.l2e")
        assert link.is_symlink()
        assert real.stat().st_mode & 0o777 == 0o640
        assert (tmp_path / "asked.l2e").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)
    assert not list(tmp_path.glob(".*"))


def test_hostile_headers_are_checkpoint_errors(tmp_path) -> None:
    from l2e.core.journal_frames import opening

    good = {"dimension": 4, "budget": 9, "environment": {}}
    settings = {"method": "auto", "bounds": BOUNDS, "key": [0, 1], "x0": None, "population_size": None, "searcher": "x"}
    odd = [
        {"dimension": "x"},
        {"dimension": -3},
        good,
        good | {"settings": 3},
        good | {"settings": settings | {"key": "x"}},
        good | {"settings": settings | {"key": [1, 2, 3]}},
        good | {"settings": settings | {"bounds": "x"}},
        good | {"settings": settings | {"x0": "x"}},
        good | {"settings": settings, "budget": "many"},
        good | {"settings": settings, "budget": 10**400},
        good | {"settings": settings | {"population_size": -1}},
        good | {"settings": settings},
    ]
    for number, header in enumerate(odd):
        path = Path(tmp_path / f"{number}.l2e")
        path.write_bytes(opening(header))
        with pytest.raises(CheckpointError):
            l2e.Optimizer.load(path)


def test_a_run_without_a_budget_resumes_as_one_without(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    whole = l2e.minimize(valley, bounds=BOUNDS, rng=3)
    for at in (50, 150, 200):
        with pytest.raises(l2e.InterruptedSearch):
            l2e.minimize(Stopping(at), bounds=BOUNDS, rng=3, checkpoint=path)
    resumed = l2e.minimize(valley, bounds=BOUNDS, rng=3, checkpoint=path)
    np.testing.assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert (resumed.reason, resumed.fun) == (whole.reason, whole.fun) == ("settled", whole.fun)
    header = read_journal(path).header
    assert header["open"] is True


def test_a_run_without_a_budget_goes_on_with_one(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    begun = l2e.minimize(valley, bounds=BOUNDS, rng=3, checkpoint=path, patience=90)
    with_one = l2e.minimize(valley, bounds=BOUNDS, budget=begun.nfev + 300, checkpoint=path)
    assert with_one.nfev == begun.nfev + 300
    np.testing.assert_array_equal(with_one.evaluations.x[: begun.nfev], begun.evaluations.x)


def test_a_raised_budget_is_planned_for_and_raising_it_in_steps_changes_nothing(tmp_path) -> None:
    at_once, in_steps = tmp_path / "once.l2e", tmp_path / "steps.l2e"
    short = l2e.minimize(valley, bounds=BOUNDS, budget=83, rng=3, checkpoint=at_once)
    long = l2e.minimize(valley, bounds=BOUNDS, budget=700, rng=3, checkpoint=at_once)
    for budget in (83, 90, 303, 700):
        steps = l2e.minimize(valley, bounds=BOUNDS, budget=budget, rng=3, checkpoint=in_steps)
    np.testing.assert_array_equal(long.evaluations.x[:83], short.evaluations.x)
    np.testing.assert_array_equal(long.evaluations.x, steps.evaluations.x)
    assert long.trace[-1].end == 700
    assert "a new plan" in {span.reason for span in long.trace}

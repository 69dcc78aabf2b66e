"""Evaluations that take too long, without workers: they are ended wherever that is possible, and else it is said."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers.objectives import by_order, valley
from helpers.processes import await_end

import l2e

BOUNDS = [(-5.0, 5.0)] * 4


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks at processes in /proc")
def test_a_call_that_hangs_is_ended_with_all_it_has_started(tmp_path, monkeypatch) -> None:
    pids = tmp_path / "pids"
    monkeypatch.setenv("L2E_TEST_PIDS", str(pids))
    result = l2e.minimize(by_order, x0=[3.5, 1.0], bounds=[(3.0, 4.0), (0.0, 1.0)], budget=2, rng=0, timeout=3.0)
    assert result.nfev == 2
    assert "timed out: its process was ended" in result.failures[0].reason
    started = [int(pid) for pid in pids.read_text().split()]
    assert started
    assert os.getpid() not in started
    await_end(started)


@pytest.mark.parametrize("method", ["auto", "lshade"])
def test_a_process_of_its_own_changes_no_point(method, recwarn) -> None:
    given = {"bounds": BOUNDS, "budget": 60, "rng": 3, "method": method}
    here, there = l2e.minimize(valley, **given), l2e.minimize(valley, **given, timeout=600)
    np.testing.assert_array_equal(there.evaluations.x, here.evaluations.x)
    np.testing.assert_array_equal(there.evaluations.f, here.evaluations.f)
    assert not [one for one in recwarn if "timeout" in str(one.message)]


def test_a_search_that_was_saved_goes_on_in_a_process_of_its_own(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    whole = l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3)
    l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3, checkpoint=path, callback=lambda found: found.nfev >= 30)
    result = l2e.minimize(valley, bounds=BOUNDS, budget=60, checkpoint=path, timeout=600)
    np.testing.assert_array_equal(result.evaluations.x, whole.evaluations.x)


def test_what_can_only_be_called_here_is_given_up_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="a vectorized function"):
        result = l2e.minimize(
            lambda x: (x**2).sum(axis=1), bounds=BOUNDS, budget=20, rng=0, vectorized=True, timeout=600
        )
    assert result.nfev == 20


def test_a_script_that_would_run_again_is_not_started_again(tmp_path, monkeypatch) -> None:
    script = tmp_path / "script.py"
    script.write_text("import l2e\n")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    with pytest.warns(RuntimeWarning, match="would run it again"):
        result = l2e.minimize(valley, bounds=BOUNDS, budget=20, rng=0, timeout=600)
    assert result.nfev == 20


def test_a_function_that_cannot_be_sent_is_called_here_with_a_warning() -> None:
    lock = threading.Lock()

    def locked(x) -> float:
        with lock:
            return valley(x)

    with pytest.warns(RuntimeWarning, match="nobody can end it"):
        result = l2e.minimize(locked, bounds=BOUNDS, budget=20, rng=0, timeout=600)
    assert result.n_failed == 0


def test_a_bad_checkpoint_leaves_no_process_behind(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    path.write_text("nothing of ours")
    before = multiprocessing.active_children()
    with pytest.raises(l2e.CheckpointError):
        l2e.minimize(valley, bounds=BOUNDS, budget=20, rng=0, timeout=600, checkpoint=path)
    assert multiprocessing.active_children() == before


TYPED = """
import l2e
def f(x):
    return float(((x - 1) ** 2).sum())
for given in ({"workers": 2}, {"timeout": 600}):
    print(l2e.minimize(f, bounds=[(-5, 5)] * 3, budget=30, rng=0, **given).n_failed)
"""


def test_functions_that_were_typed_in_reach_other_processes() -> None:
    pytest.importorskip("cloudpickle")
    done = subprocess.run([sys.executable, "-W", "error", "-c", TYPED], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["0", "0"], "")

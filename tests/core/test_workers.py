"""Crews: outcomes of points that are evaluated at once, whatever becomes of the processes."""

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from helpers.objectives import by_order, valley
from helpers.processes import await_end

from l2e.core.box import box
from l2e.core.evaluator import Evaluator
from l2e.core.stops import ObjectiveError, OutOfTime
from l2e.core.workers.choose import crew_size, make_crew
from l2e.core.workers.contract import AbstractCrew, Outcome, WorkersError, measured
from l2e.core.workers.futures import Futures
from l2e.core.workers.processes import Processes, ending

BOX = box([(-5.0, 5.0)] * 3)


class Backwards(AbstractCrew):
    """Evaluates here, and reports the last submitted point first."""

    def __init__(self, function, size: int = 4, died: int = 0):
        self.size, self.function, self.waiting, self.died, self.abandoned = size, function, [], died, False
        self.submitted = []

    @property
    def free(self) -> int:
        return self.size - len(self.waiting)

    def submit(self, number, point) -> None:
        self.waiting.append((number, point))
        self.submitted.append(number)

    def wait(self, seconds=None) -> list[Outcome]:
        if not self.waiting:
            return []
        number, point = self.waiting.pop()
        if self.died:
            self.died -= 1
            return [Outcome(number, math.nan, "ended its process: exit code 1", died=True)]
        return [Outcome(*measured(self.function, number, point))]

    def abandon(self) -> None:
        self.waiting.clear()
        self.abandoned = True

    def close(self) -> None:
        self.abandon()


def points(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-5, 5, (n, 3))


def test_values_and_count_are_those_of_the_batch_in_its_own_order() -> None:
    alone, together = Evaluator(valley, BOX, 20), Evaluator(valley, BOX, 20, crew=Backwards(valley))
    batch = points(10)
    np.testing.assert_array_equal(alone(batch), together(batch))
    np.testing.assert_array_equal(alone.history.nfev, together.history.nfev)
    np.testing.assert_array_equal(alone.meter.record.evaluations().x, together.meter.record.evaluations().x)


def test_no_more_points_are_out_than_there_are_workers() -> None:
    crew = Backwards(valley, size=3)
    most = 0

    submit = crew.submit

    def watch(number, point) -> None:
        nonlocal most
        submit(number, point)
        most = max(most, len(crew.waiting))

    crew.submit = watch
    Evaluator(valley, BOX, 20, crew=crew)(points(10))
    assert most == 3


def test_a_point_whose_process_died_is_tried_once_more_and_then_fails() -> None:
    crew = Backwards(valley, size=1, died=1)
    evaluate = Evaluator(valley, BOX, 9, crew=crew)
    assert math.isfinite(evaluate(points(1)[0]))
    crew.died = 2
    with pytest.warns(RuntimeWarning, match="ended its process: exit code 1"):
        assert evaluate(points(1)[0]) == math.inf
    assert evaluate.used == 2
    assert crew.submitted == [0, 0, 1, 1]


def test_failed_evaluations_are_tried_again_and_counted_once() -> None:
    calls = []

    def moody(x) -> float:
        calls.append(1)
        if len(calls) % 3:
            raise OSError("licence server")
        return 1.0

    for crew in (None, Backwards(moody)):
        calls.clear()
        evaluate = Evaluator(moody, BOX, 9, on_error="retry(2)", crew=crew)
        assert list(evaluate(points(2))) == [1.0, 1.0]
        assert (evaluate.used, evaluate.failed, len(calls)) == (2, 0, 6)


def test_the_target_ends_the_batch_and_what_runs_is_abandoned() -> None:
    crew = Backwards(lambda x: float(x[0]), size=2)
    evaluate = Evaluator(lambda x: 0, BOX, 99, target=1.0, crew=crew)
    batch = np.zeros((6, 3))
    batch[:, 0] = [3, 2, 1, 0, -1, -2]
    with pytest.raises(Exception, match="reached the target"):
        evaluate(batch)
    assert evaluate.used == 3
    assert evaluate.best_f == 1.0
    assert crew.abandoned


def test_time_runs_out_while_workers_are_busy() -> None:
    class Busy(Backwards):
        def wait(self, seconds=None):
            time.sleep(seconds or 0)
            return []

    evaluate = Evaluator(valley, BOX, 99, max_seconds=0.05, crew=Busy(valley))
    with pytest.raises(OutOfTime):
        evaluate(points(6))
    assert evaluate.used == 4  # those that were begun


def test_an_answer_that_is_no_number_is_an_error_at_once() -> None:
    with pytest.raises(ObjectiveError, match="must return one real number"):
        Evaluator(valley, BOX, 9, crew=Backwards(lambda x: "text"))(points(3))


def ordered(*orders: int) -> np.ndarray:
    return np.asarray([[order, 1.0, 1.0] for order in orders], dtype=float)


def test_processes_survive_crashes_exits_hangs_and_errors_and_leave_nothing_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("L2E_TEST_PIDS", str(tmp_path / "pids"))
    crew = Processes(by_order, 2, timeout=5.0)
    evaluate = Evaluator(by_order, BOX, 99, crew=crew)
    with pytest.warns(RuntimeWarning, match="such points rank last"):
        values = evaluate(ordered(0, 1, 2, 3, 4, 0))
    pids = crew.pids
    evaluate.close()
    assert values.tolist() == [2.0, math.inf, math.inf, math.inf, math.inf, 2.0]
    reasons = [failure.reason for failure in evaluate.failures]
    assert reasons[0] == "ended its process: signal 11, SIGSEGV"
    assert reasons[1] == "ended its process: exit code 7"
    assert reasons[2].startswith("timed out: its process was ended after")
    assert reasons[3] == "raised ValueError('as ordered')"
    assert "raise ValueError" in evaluate.failures[3].where
    assert list(evaluate.meter.record.evaluations().status) == ["ok", "died", "died", "timed out", "raised", "ok"]
    hung = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await_end([*pids, *hung])


def test_a_function_that_cannot_be_sent_says_what_to_do(monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="define it with def at the top of a module"):
        Processes(lambda x: 0.0, 2)


def test_a_function_that_no_worker_can_import_is_an_error(monkeypatch) -> None:
    import sys
    import types

    module = types.ModuleType("only_here")
    exec("def f(x):\n    return 0.0\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", module)
    crew = Processes(module.f, 1)
    with pytest.raises(WorkersError, match=r"cannot use the function .*only_here"):
        Evaluator(module.f, BOX, 9, crew=crew)(points(1))
    crew.close()


def test_an_executor_a_map_and_a_pool_give_the_same_values() -> None:
    expected = Evaluator(valley, BOX, 20)(points(10))
    with ThreadPoolExecutor(3) as executor, ThreadPool(2) as pool:
        for workers, size in ((executor, 3), (pool.map, 2), (map, None), ((map, 5), 5)):
            assert size is None or crew_size(workers) == size
            evaluate = Evaluator(valley, BOX, 20, crew=make_crew(workers, valley, None))
            np.testing.assert_array_equal(evaluate(points(10)), expected)
            evaluate.close()


def test_an_executor_that_hangs_is_given_up_and_its_place_is_not_used() -> None:
    release = []

    def hang(x) -> float:
        while x[0] > 0 and not release:
            time.sleep(0.01)
        return float(x[0])

    with ThreadPoolExecutor(2) as executor:
        crew = Futures(executor, hang, 2, timeout=3.0)
        evaluate = Evaluator(hang, BOX, 9, crew=crew)
        with pytest.warns(RuntimeWarning, match=r"timed out: no answer within 3 s"):
            assert evaluate(np.asarray([[1.0, 0, 0]])).tolist() == [math.inf]
        assert crew.free == 1
        assert evaluate(np.asarray([[-1.0, 0, 0], [-2.0, 0, 0]])).tolist() == [-1, -2]
        release.append(1)


@pytest.mark.parametrize("workers", [0, -2, True, "many", 2.5, (map,), (map, 0), object()])
def test_what_cannot_work_is_refused(workers) -> None:
    with pytest.raises((TypeError, ValueError), match="workers must be"):
        crew_size(workers)


def test_endings_are_said_in_words() -> None:
    assert ending(3) == "exit code 3"
    assert ending(-9) == "signal 9, SIGKILL, perhaps out of memory"
    assert os.name != "posix" or ending(-11) == "signal 11, SIGSEGV"

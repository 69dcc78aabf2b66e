"""The line that says how a search is doing, and what Ctrl-C says."""

import io

import pytest
from helpers.objectives import valley

import l2e
from l2e.api import progress
from l2e.core.box import box
from l2e.core.evaluator import Evaluator

BOUNDS = [(-5.0, 5.0)] * 4


def test_the_line_names_best_value_count_rate_time_left_failures_and_part() -> None:
    evaluate = Evaluator(lambda x: valley(x) if x[0] > 0 else 1 / 0, box(BOUNDS), 100)
    line = progress.Progress(False)
    evaluate.part = "newton"
    evaluate([1.0, 1, 1, 1])
    line(evaluate)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        evaluate([-1.0, 1, 1, 1])
    words = line.line().split(" | ")
    assert words[:2] == ["l2e: best 0", "2 of 100 evaluations"]
    assert words[2].endswith("per second")
    assert words[3].endswith("left")
    assert words[4:] == ["1 failed", "newton"]


def test_it_is_silent_where_nobody_looks(capfd) -> None:
    l2e.minimize(valley, bounds=BOUNDS, budget=30, rng=0)
    assert capfd.readouterr() == ("", "")


def test_it_is_drawn_when_wanted_and_a_search_inside_has_no_line(capfd) -> None:
    def nested(x) -> float:
        assert len(progress._shown) == 1
        return l2e.minimize(valley, bounds=BOUNDS, budget=3, rng=0, progress=True).fun

    l2e.minimize(nested, bounds=BOUNDS, budget=3, rng=0, progress=True)
    assert progress._shown == []


def test_a_terminal_is_somebody_and_a_worker_is_not(monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    assert progress.seen_by_somebody()
    monkeypatch.setenv(progress.INSIDE_WORKER, "1")
    assert not progress.seen_by_somebody()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "3 s"), (61, "1 min 1 s"), (7300, "2 h 1 min"), (90000, "1 d 1 h"), (float("inf"), "unknown time")],
)
def test_durations_have_two_units(seconds, words) -> None:
    assert progress.duration(seconds) == words


def test_ctrl_c_says_the_best_point_and_where_it_is_saved_in_one_traceback(tmp_path) -> None:
    def stop(state) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "run.l2e"
    with pytest.raises(l2e.InterruptedSearch) as caught:
        l2e.minimize(valley, bounds=BOUNDS, budget=30, rng=0, callback=stop, checkpoint=path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "stopped after 1 evaluations"
    assert lines[1].strip() == "best value 3"
    assert lines[2].strip() == "at x [0, 0, 0, 0]"
    assert lines[3].strip() == f"saved in {path}: the same call goes on from there"
    assert caught.value.__suppress_context__

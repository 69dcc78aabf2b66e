"""Constraints that come with the values: in worker processes, in a checkpoint, in known evaluations."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.objectives import shaken_bowl_in_ball

import l2e
from l2e.core.checkpoint import CheckpointError
from l2e.core.journal_reader import read_journal

BOUNDS = [(-5.0, 5.0)] * 3
BEST = 3 - 2 * np.sqrt(3) + 1  # of |x - 1|^2 in the unit ball
SPACE = l2e.Space(a=(-5, 5), b=l2e.Int(-5, 5), c=l2e.Choice(0.0, 1.0, 2.0))
BALL = l2e.Returned(1)


def both(x: np.ndarray) -> tuple[float, list[float]]:
    return float(((x - 1) ** 2).sum()), [float(x @ x - 1)]


def named(a: float, b: int, c: float) -> tuple[float, list[float]]:
    return both(np.asarray([a, b, c]))


class Stopping:
    """Raises Ctrl-C at one evaluation, once."""

    def __init__(self, at: int, function: Any = both):
        self.at, self.calls, self._function = at, 0, function

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self._function(*args)


def test_workers_return_values_and_constraints() -> None:
    shaken = l2e.minimize(shaken_bowl_in_ball, bounds=BOUNDS, constraints=BALL, budget=90, rng=0, workers=3)
    steady = l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=90, rng=0, workers=(map, 3))
    alone = l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=90, rng=0)
    np.testing.assert_array_equal(shaken.evaluations.x, steady.evaluations.x)
    np.testing.assert_array_equal(shaken.evaluations.x, alone.evaluations.x)
    assert shaken.feasible
    assert shaken.fun == alone.fun == pytest.approx(BEST, abs=1e-6)
    assert shaken.multipliers == pytest.approx([np.sqrt(3) - 1], abs=1e-3)


def test_workers_whose_results_are_told_as_they_arrive() -> None:
    result = l2e.minimize(
        shaken_bowl_in_ball, bounds=BOUNDS, constraints=BALL, budget=120, rng=0, workers=2, order="arrival"
    )
    assert result.nfev == 120
    assert result.feasible
    assert result.fun == pytest.approx(BEST, abs=1e-3)


@pytest.mark.parametrize("bounds", [BOUNDS, SPACE])
def test_an_interrupted_search_goes_on_from_its_checkpoint(bounds: Any, tmp_path: Path) -> None:
    path, options = tmp_path / "run.l2e", {"bounds": bounds, "constraints": BALL, "budget": 110, "rng": 3}
    function = both if bounds is BOUNDS else lambda params: named(**params)
    whole = l2e.minimize(function, **options)
    paid = 0
    for at in (1, 9, 40):
        stopping = Stopping(at, function)
        with pytest.raises(l2e.InterruptedSearch):
            l2e.minimize(stopping, checkpoint=path, **options)
        paid += stopping.calls - 1
    counting = Stopping(10**9, function)
    resumed = l2e.minimize(counting, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert resumed.fun == whole.fun
    assert resumed.feasible
    np.testing.assert_array_equal(resumed.multipliers, whole.multipliers)
    assert resumed.nfev == whole.nfev == counting.calls + paid  # no evaluation was paid for twice
    rows = [one.rows for one in read_journal(path).evaluations]
    assert all(row is not None and row.shape == (1,) for row in rows)


def test_a_vectorized_function_returns_a_row_for_each_point(tmp_path: Path) -> None:
    def batch(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answers = [both(x) for x in points]
        return np.asarray([f for f, _ in answers]), np.asarray([c for _, c in answers])

    options: dict[str, Any] = {"bounds": BOUNDS, "constraints": BALL, "rng": 3, "vectorized": True}
    whole = l2e.minimize(batch, budget=100, **options)
    l2e.minimize(batch, budget=33, checkpoint=tmp_path / "run.l2e", **options)
    short = l2e.minimize(batch, budget=33, checkpoint=tmp_path / "run.l2e", **options)
    assert short.nfev == 33
    assert whole.fun == pytest.approx(BEST, abs=1e-6)
    assert whole.feasible


KILLED = """
import os, signal, sys
import numpy as np
import l2e

calls = 0

def both(x):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return float(((x - 1) ** 2).sum()), [float(x @ x - 1)]

r = l2e.minimize(both, bounds=[(-5.0, 5.0)] * 3, constraints=l2e.Returned(1), budget=70, rng=3, checkpoint=sys.argv[1])
print(repr(r.fun), r.feasible)
"""


def test_a_killed_search_goes_on_with_its_constraints(tmp_path: Path) -> None:
    path = tmp_path / "run.l2e"
    for at in (5, 20):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(at)], env=dict(os.environ), check=False)
        assert ended.returncode == -signal.SIGKILL
    resumed = l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=70, rng=3, checkpoint=path)
    whole = l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=70, rng=3)
    np.testing.assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert resumed.fun == whole.fun


def test_a_checkpoint_of_other_constraints_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.l2e"
    l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=10, rng=3, checkpoint=path)
    with pytest.raises(CheckpointError, match="another search"):
        l2e.minimize(both, bounds=BOUNDS, constraints=l2e.Returned(0, 1), budget=10, rng=3, checkpoint=path)


WRONG: list[Any] = [
    (lambda x: 1.0, r"a pair \(f, c\)"),
    (lambda x: (1.0, [1.0]), "2 constraints for each point, it returned an array of shape"),
    (lambda x: (1.0, ["a", "b"]), "constraints as real numbers"),
    (lambda x: ("one", [1.0, 1.0]), "one real number"),
]


@pytest.mark.parametrize("workers", [None, (map, 2)])
@pytest.mark.parametrize(("function", "message"), WRONG)
def test_a_function_that_answers_something_else_is_wrong_at_once(function: Any, message: str, workers: Any) -> None:
    with pytest.raises(l2e.ObjectiveError, match=message):
        l2e.minimize(function, bounds=BOUNDS, constraints=l2e.Returned(2), budget=50, rng=0, workers=workers)


@pytest.mark.filterwarnings("ignore:the objective")
def test_one_odd_answer_among_good_ones_is_a_failed_evaluation() -> None:
    calls = 0

    def sometimes(x: np.ndarray) -> Any:
        nonlocal calls
        calls += 1
        return None if calls == 5 else (both(x)[0], [x @ x + 1])  # nothing is ever allowed

    result = l2e.minimize(sometimes, bounds=BOUNDS, constraints=BALL, budget=40, rng=0)
    assert result.nfev == 40
    assert result.n_failed == 1
    assert not result.feasible


def test_an_error_inside_the_function_is_its_own() -> None:
    def broken(x: np.ndarray) -> Any:
        raise TypeError("of the simulator")

    with pytest.raises(l2e.ObjectiveError, match="of the simulator"):
        l2e.minimize(broken, bounds=BOUNDS, constraints=BALL, budget=40, rng=0, on_error="raise")


@pytest.mark.parametrize("bounds", [BOUNDS, SPACE])
@pytest.mark.parametrize("returned", [True, False])
def test_known_evaluations_have_constraints_too(bounds: Any, returned: bool) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-5, 5, (20, 3))
    points[7] = [0.9, 0, 0]
    if bounds is SPACE:
        points[:, 1], points[:, 2] = np.round(points[:, 1]), np.abs(np.round(points[:, 2] / 3))
    answers = [both(x) for x in points]
    given: Any = points if bounds is BOUNDS else [dict(zip("abc", x.tolist(), strict=True)) for x in points]
    function: Any = both if bounds is BOUNDS else named
    known = (given, [f for f, _ in answers], *([[c for _, c in answers]] if returned else []))
    told: Any = BALL
    if not returned:
        told = (lambda x: both(x)[1][0]) if bounds is BOUNDS else (lambda a, b, c: named(a, b, c)[1][0])
        function = (lambda x: both(x)[0]) if bounds is BOUNDS else (lambda a, b, c: named(a, b, c)[0])
    result = l2e.minimize(function, bounds=bounds, constraints=told, budget=1, rng=0, known=known)
    assert result.feasible
    assert result.fun <= answers[7][0]  # the only one that is allowed, where the search begins
    assert np.abs(result.evaluations.x[0] - points[7]).max() <= 1
    longer = l2e.minimize(function, bounds=bounds, constraints=told, budget=60, rng=0, known=known)
    assert longer.fun < answers[7][0]


def test_known_values_without_their_constraints_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(X, y, C\)"):
        l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=5, rng=0, known=([[0.0, 0, 0]], [3.0]))


def test_a_saved_optimizer_knows_the_constraints_of_known_points(tmp_path: Path) -> None:
    known = ([[0.1, 0.2, 0.3], [3.0, 3, 3]], [both(np.asarray([0.1, 0.2, 0.3]))[0], 12.0], [[-0.86], [26.0]])

    def go(opt: l2e.Optimizer, rounds: int) -> Any:
        while not opt.stop() and rounds:
            points = opt.ask()
            opt.tell(points, [both(x)[0] for x in points], [both(x)[1] for x in points])
            rounds -= 1
        return opt.result()

    options: dict[str, Any] = {"bounds": BOUNDS, "constraints": BALL, "budget": 60, "rng": 1, "known": known}
    whole = go(l2e.Optimizer(**options), -1)
    opt = l2e.Optimizer(**options)
    go(opt, 3)
    opt.save(tmp_path / "search.l2e")
    loaded = go(l2e.Optimizer.load(tmp_path / "search.l2e", constraints=BALL), -1)
    np.testing.assert_array_equal(loaded.evaluations.x, whole.evaluations.x)
    assert loaded.fun == whole.fun == pytest.approx(BEST, abs=1e-4)


def test_the_largest_value_with_returned_constraints_in_workers() -> None:
    result = l2e.maximize(lambda x: (x.sum(), [x @ x - 1]), bounds=BOUNDS, constraints=BALL, budget=90, rng=0)
    apart = l2e.maximize(
        lambda x: (x.sum(), [x @ x - 1]), bounds=BOUNDS, constraints=BALL, budget=90, rng=0, workers=(map, 2)
    )
    assert apart.fun == result.fun == pytest.approx(np.sqrt(3), abs=1e-6)


def test_the_record_has_the_constraints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from l2e.cli.bench import export
    from l2e.cli.show import show

    path = tmp_path / "run.l2e"
    result = l2e.minimize(both, bounds=BOUNDS, constraints=BALL, budget=40, rng=3, checkpoint=path)
    record = result.evaluations
    assert record.constraints.shape == (40, 1)
    np.testing.assert_allclose(record.constraints[:, 0], (record.x**2).sum(axis=1) - 1, rtol=0, atol=1e-12)
    assert record.f[record.usable].min() == result.fun
    assert record.f.min() < result.fun  # of points that are not allowed
    show((path,))
    assert f"{result.fun:.10g} (of {record.allowed.sum()} points that fulfil" in capsys.readouterr().out
    export(path, tmp_path / "run.csv")
    first = (tmp_path / "run.csv").read_text().splitlines()[0]
    assert first == "evaluation,x0,x1,x2,f,c0,status,seconds,part,reason"

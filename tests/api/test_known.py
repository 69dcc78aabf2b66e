"""Known evaluations, several starts, and the largest instead of the smallest value."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import l2e

BOUNDS = [(-5.0, 5.0)] * 3
SPACE = l2e.Space(n=l2e.Int(0, 30), x=(0, 1), c=l2e.Choice("a", "b", "c"))


def bowl(x: np.ndarray) -> float:
    """Minimum 0 at (1, 2, 3)."""
    return float(((x - [1, 2, 3]) ** 2).sum() + 0.1 * (x[0] - 1) * (x[1] - 2))


def data(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    points = np.random.default_rng(0).uniform(-5, 5, (n, 3))
    return points, np.asarray([bowl(x) for x in points])


class Seen:
    """A function that writes down its points."""

    def __init__(self, f: Any = bowl) -> None:
        self.points: list[Any] = []
        self._f = f

    def __call__(self, x: Any) -> float:
        self.points.append(x)
        return self._f(x)


def test_known_points_cost_nothing_and_the_best_is_the_result_to_beat() -> None:
    points, values = data()
    result = l2e.minimize(bowl, bounds=BOUNDS, known=(points, values), budget=1, rng=0)
    assert result.nfev == 1
    assert result.fun <= values.min()
    assert result.history.fun[0] == values.min()
    assert result.history.nfev[0] == 0


def test_a_search_begins_at_the_best_known_point_which_is_not_evaluated_again() -> None:
    points, values = data()
    seen = Seen()
    l2e.minimize(seen, bounds=BOUNDS, known=(points, values), budget=60, rng=0)
    best = points[values.argmin()]
    assert not any(np.array_equal(x, best) for x in seen.points)
    assert np.abs(seen.points[0] - best).max() < 10


def test_known_points_save_evaluations() -> None:
    goal = 1e-6
    for seed in range(3):
        without = l2e.minimize(bowl, bounds=BOUNDS, budget=300, target=goal, rng=seed).nfev
        points = data(60)[0]
        near = points / 20 + np.asarray([1.1, 2.1, 3.1])
        told = l2e.minimize(
            bowl, bounds=BOUNDS, known=(near, [bowl(x) for x in near]), budget=300, target=goal, rng=seed
        )
        assert told.nfev < without


def test_known_parameters_are_dictionaries_in_a_space() -> None:
    def cost(n: int, x: float, c: str) -> float:
        return abs(n - 20) + (x - 0.5) ** 2 + (c != "b")

    known = [{"n": 19, "x": 0.5, "c": "b"}, {"n": 3, "x": 0.1, "c": "a"}]
    result = l2e.minimize(cost, SPACE, known=(known, [cost(**one) for one in known]), budget=20, rng=0)
    assert result.fun <= 1
    assert result.params["c"] == "b"


def test_other_methods_begin_at_the_best_known_point() -> None:
    points, values = data()
    seen = Seen()
    l2e.minimize(seen, bounds=BOUNDS, known=(points, values), budget=100, rng=0, method="scipy-slsqp")
    assert np.allclose(seen.points[0], points[values.argmin()])


def test_values_that_failed_are_left_out() -> None:
    result = l2e.minimize(bowl, bounds=BOUNDS, known=([[0, 0, 0], [1, 1, 1]], [None, np.nan]), budget=30, rng=0)
    assert result.fun == l2e.minimize(bowl, bounds=BOUNDS, budget=30, rng=0).fun


def test_a_checkpoint_with_known_points_resumes_with_them_only(tmp_path: Path) -> None:
    path = tmp_path / "run.l2e"
    whole = l2e.minimize(bowl, bounds=BOUNDS, known=data(), budget=90, rng=0)
    l2e.minimize(bowl, bounds=BOUNDS, known=data(), budget=90, rng=0, checkpoint=path)
    again = l2e.minimize(lambda x: np.nan, bounds=BOUNDS, known=data(), budget=90, rng=0, checkpoint=path)
    assert again.fun == whole.fun
    with pytest.raises(l2e.CheckpointError, match="known"):
        l2e.minimize(bowl, bounds=BOUNDS, known=data(39), budget=90, rng=0, checkpoint=path)


def test_several_starts_are_all_evaluated_and_the_best_one_is_gone_on_from() -> None:
    starts = np.asarray([[-4.0, -4, -4], [1, 2, 2.5], [4, 4, 4]])
    seen = Seen()
    result = l2e.minimize(seen, starts, bounds=BOUNDS, budget=30, rng=0)
    assert np.allclose(seen.points[:3], starts)
    assert result.fun < 1e-3
    with pytest.raises(ValueError, match="several x0"):
        l2e.minimize(bowl, starts, bounds=BOUNDS, method="scipy-de")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (3, "pair"),
        (([[0, 0, 0]], [1, 2]), "n values"),
        (([[0, 0]], [1]), "3 coordinates"),
        (([[0, 0, 9]], [1]), "outside its bounds"),
    ],
)
def test_known_points_that_make_no_sense_are_refused(known: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        l2e.minimize(bowl, bounds=BOUNDS, known=known)


def test_unasked_points_may_be_told_and_are_kept_in_the_file(tmp_path: Path) -> None:
    points, values = data()
    opt = l2e.Optimizer(bounds=BOUNDS, budget=60, rng=0)
    asked = opt.ask()
    opt.tell(points, values)
    assert np.array_equal(opt.ask(), asked)
    assert opt.result().nfev == 0
    assert opt.result().fun == values.min()
    opt.tell(np.concatenate([asked, [[4.5, 4.5, 4.5]]]), [*map(bowl, asked), bowl(np.full(3, 4.5))])
    assert opt.result().nfev == len(asked)
    opt.save(tmp_path / "opt.l2e")
    other = l2e.Optimizer.load(tmp_path / "opt.l2e")
    assert np.array_equal(other.ask(), opt.ask())
    assert other.result().fun == opt.result().fun


def test_maximize_speaks_of_the_functions_own_values() -> None:
    seen: list[float] = []
    result = l2e.maximize(
        lambda x: 7 - bowl(x),
        bounds=BOUNDS,
        budget=100,
        rng=0,
        known=([[0.0, 0, 0]], [7 - bowl(np.zeros(3))]),
        callback=lambda one: seen.append(one.fun),
    )
    assert result.fun == pytest.approx(7)
    assert seen == sorted(seen)
    assert (np.diff(result.history.fun) > 0).all()
    assert l2e.maximize(lambda x: -bowl(x), bounds=BOUNDS, budget=300, rng=0, target=-0.1).reason == "target"
    assert l2e.maximize(lambda n, x, c: n + x, SPACE, budget=60, rng=0).params["n"] == 30


def test_what_was_found_before_an_error_is_in_the_functions_own_values() -> None:
    calls = 0

    def dies(x: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise KeyboardInterrupt
        return 3 - bowl(x)

    with pytest.raises(l2e.InterruptedSearch) as caught:
        l2e.maximize(dies, bounds=BOUNDS, budget=100, rng=0)
    assert caught.value.result.fun == pytest.approx(3 - bowl(caught.value.result.x))

"""`Optimizer`: ask, tell, stop, result, save, load."""

import numpy as np
import pytest

import l2e
from l2e.core.checkpoint import CheckpointError
from l2e.core.stops import BudgetExhausted

BOUNDS = [(-5, 5)] * 3


def values(points):
    return ((points - 1) ** 2).sum(axis=1)


def make(**options) -> l2e.Optimizer:
    return l2e.Optimizer(**{"bounds": BOUNDS, "method": "cmaes-bipop", "budget": 300, "rng": 0} | options)


def finish(opt: l2e.Optimizer) -> l2e.Optimizer:
    while not opt.stop():
        points = opt.ask()
        opt.tell(points, values(points))
    return opt


@pytest.mark.parametrize("method", ["cmaes-bipop", "de", "lshade", "random-search"])
def test_is_the_same_search_as_minimize(method) -> None:
    result = finish(make(method=method)).result()
    other = l2e.minimize(values, bounds=BOUNDS, method=method, budget=300, rng=0, vectorized=True)
    np.testing.assert_array_equal(result.x, other.x)
    assert (result.nfev, result.nit, result.fun, result.reason) == (300, other.nit, other.fun, "budget")


def test_without_a_budget_is_the_same_search_as_minimize_without_one(tmp_path) -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, rng=0)
    other = l2e.minimize(values, bounds=BOUNDS, rng=0, vectorized=True)
    path = tmp_path / "search.l2e"
    while opt.result().nfev < other.nfev:
        points = opt.ask()
        opt.tell(points, values(points))
        if opt.result().nfev >= 100 and not path.exists():  # in between, and after the first horizon
            opt.save(path)
            opt = l2e.Optimizer.load(path)
    assert path.exists()
    np.testing.assert_array_equal(opt.result().evaluations.x[: other.nfev], other.evaluations.x)
    assert not opt.stop()


def test_ask_repeats_until_told_and_order_does_not_matter() -> None:
    left, right = make(), make()
    for _ in range(5):
        points = left.ask()
        np.testing.assert_array_equal(points, left.ask())
        left.tell(points, values(points))
        shuffled = right.ask()[::-1]
        right.tell(shuffled, list(values(shuffled)))
    np.testing.assert_array_equal(left.ask(), right.ask())


def test_stop_names_its_reasons() -> None:
    assert make().stop() == {}
    assert finish(make()).stop() == {"budget": 300}
    assert "target" in finish(make(budget=5000, target=1e-3)).stop()
    assert finish(make(method="cmaes", budget=10**6)).stop() == {"converged": True}
    with pytest.raises(BudgetExhausted):
        finish(make()).ask()


def test_the_last_batch_is_cut_to_the_budget() -> None:
    opt = make(budget=10)
    sizes = []
    while not opt.stop():
        points = opt.ask()
        sizes.append(len(points))
        opt.tell(points, values(points))
    assert sum(sizes) == 10


def test_tell_refuses_points_that_are_almost_those_asked_and_parts_of_a_batch() -> None:
    opt = make()
    points = opt.ask()
    with pytest.raises(ValueError, match="not among the points"):
        opt.tell(points + 1e-4, values(points))
    with pytest.raises(ValueError, match="points last asked"):
        opt.tell(points[:2], values(points[:2]))
    with pytest.raises(ValueError, match="points last asked"):
        opt.tell(points, [1.0])
    opt.tell(points, values(points))
    assert opt.result().nfev == len(points)


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
def test_failed_points_are_told_as_nan_or_none() -> None:
    opt = make()
    points = opt.ask()
    told = list(values(points))
    told[0], told[1] = None, np.nan
    opt.tell(points, told)
    assert opt.result().n_failed == 2
    assert np.isfinite(opt.result().fun)


def test_methods_with_their_own_loop_are_refused() -> None:
    with pytest.raises(ValueError, match="ask/tell"):
        make(method="scipy-de")


def test_fifty_and_fifty_are_a_hundred(tmp_path) -> None:
    path = tmp_path / "search.l2e"
    whole = finish(make(budget=600)).result()
    half = make(budget=600)
    for _ in range(20):
        points = half.ask()
        half.tell(points, values(points))
    half.save(path)
    resumed = finish(l2e.Optimizer.load(path)).result()
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.history.fun, whole.history.fun)
    assert resumed.nit == whole.nit


def test_load_says_what_is_wrong(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        l2e.Optimizer.load(tmp_path / "none.l2e")
    (tmp_path / "bad.l2e").write_bytes(b"not a checkpoint at all")
    with pytest.raises(CheckpointError, match="not a saved search"):
        l2e.Optimizer.load(tmp_path / "bad.l2e")

"""What others do with evaluations of solved members: warm-started CMA-ES, Optuna's source trials, RGPE."""

import numpy as np
import pytest

import l2e
from l2e.adapters.rgpe import RGPE, Process
from l2e.adapters.sources import Sources
from l2e.adapters.warm_start import OptunaSource, WarmCMA

D, M = 3, 6
BOUNDS = [(-2.0, 4.0)] * D
METHODS = [WarmCMA, OptunaSource, RGPE]


def minimiser(seed: int) -> np.ndarray:
    return 3.0 + 0.2 * np.random.default_rng(seed).standard_normal(D)


def member(seed: int):
    at = minimiser(seed)
    return lambda x: float(((x - at) ** 2).sum())


def sources(count: int = M, sign: float = 1.0) -> Sources:
    rng, searches = np.random.default_rng(0), []
    for seed in range(count):
        unit = rng.random((80, D))
        values = sign * np.array([member(seed)(6 * point - 2) for point in unit])
        searches.append((unit, values))
    return Sources.of(searches)


def test_sources_keep_the_best_and_the_worst_of_each_member_and_rank_within_it() -> None:
    values = np.arange(200.0)[::-1]
    failed = np.where(values == 7, np.inf, values)
    found = Sources.of([(np.random.default_rng(0).random((200, 2)), failed), (np.zeros((1, 2)), np.array([5.0]))])
    first = found.member == 0
    assert first.sum() == 50
    assert found.values[first].min() == 0
    assert found.values[first].max() == 199
    assert np.isfinite(found.values).all()
    assert found.ranks[first].min() == 0
    assert found.ranks[first].max() < 1
    assert found.ranks[~first].tolist() == [0.0]
    with pytest.raises(ValueError, match="no search of a member has a value"):
        Sources.of([(np.zeros((1, 2)), np.array([np.nan]))])


@pytest.mark.parametrize("method", METHODS)
def test_solved_members_help_the_budget_is_kept_and_a_seed_is_a_search(method) -> None:
    found = sources()
    runs = [l2e.minimize(member(50), bounds=BOUNDS, method=method(found), budget=40, rng=seed) for seed in (3, 3, 4)]
    assert all(run.nfev == 40 for run in runs)
    assert runs[0].fun == runs[1].fun
    assert runs[0].fun != runs[2].fun
    random = np.random.default_rng(0).uniform(-2, 4, (40, D))
    assert max(run.fun for run in runs) < min(member(50)(x) for x in random)
    with pytest.raises(ValueError, match="have 3 coordinates, the problem has 2"):
        l2e.minimize(lambda x: 0.0, bounds=[(0, 1)] * 2, method=method(found), budget=5)


@pytest.mark.filterwarnings("ignore:the objective returned:RuntimeWarning")
@pytest.mark.parametrize("method", METHODS)
def test_failed_evaluations_do_not_end_them(method) -> None:
    def fails(x: np.ndarray) -> float:
        return np.nan if x[0] > 3.1 else member(50)(x)

    result = l2e.minimize(fails, bounds=BOUNDS, method=method(sources()), budget=30, rng=0)
    assert result.nfev == 30
    assert np.isfinite(result.fun)


def test_warm_started_cma_begins_where_members_ended() -> None:
    asked = []

    def recorded(x: np.ndarray) -> float:
        asked.append(x.copy())
        return member(50)(x)

    l2e.minimize(recorded, bounds=BOUNDS, method=WarmCMA(sources()), budget=7, rng=0)
    assert np.linalg.norm(np.mean(asked, axis=0) - 3) < np.linalg.norm(np.ones(D) - 3) / 2


def test_a_process_goes_through_its_points_and_its_left_out_mean_is_that_of_leaving_out() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((30, 2))
    y = np.sin(5 * x[:, 0]) + x[:, 1]
    process = Process(x, y)
    mean, deviation = process.predict(x)
    np.testing.assert_allclose(mean * y.std() + y.mean(), y, atol=0.05)
    assert (deviation < process.predict(np.array([[3.0, 3.0]]))[1]).all()
    lower = np.tril(process._factor)
    kernel, z = lower @ lower.T, (y - y.mean()) / y.std()
    rest = np.arange(1, 30)
    expected = kernel[0, rest] @ np.linalg.solve(kernel[np.ix_(rest, rest)], z[rest])
    assert process.left_out()[0][0] == pytest.approx(expected)


def test_members_that_order_values_as_the_problem_does_have_the_weight() -> None:
    rng = np.random.default_rng(2)
    x = rng.random((12, D))
    y = np.array([member(50)(6 * point - 2) for point in x])
    alike = RGPE(sources())._weights(Process(x, y), x, y, rng)
    assert alike.sum() == pytest.approx(1)
    assert alike[:-1].sum() > 0.5
    unlike = RGPE(sources(sign=-1.0))._weights(Process(x, y), x, y, rng)
    assert unlike[:-1].sum() == 0

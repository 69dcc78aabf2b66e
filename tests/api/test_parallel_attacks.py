"""Searches with workers as users break them: objectives that misbehave, other options together with workers, asyncio,
a disk that is full, and whatever hypothesis thinks of.
"""

import asyncio
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.objectives import busy_valley, nested_valley, split_valley, valley
from hypothesis import given, settings
from hypothesis import strategies as st

import l2e
from l2e.core.journal_reader import read_journal

BOUNDS = [(-5.0, 5.0)] * 3


@pytest.mark.parametrize("objective", [busy_valley, split_valley, nested_valley])
def test_what_a_function_does_besides_changes_nothing(objective) -> None:
    result = l2e.minimize(objective, bounds=BOUNDS, budget=12, rng=3, workers=2)
    assert result.n_failed == 0
    plain = l2e.minimize(valley, bounds=BOUNDS, budget=12, rng=3, workers=(map, 2))
    np.testing.assert_array_equal(result.evaluations.x, plain.evaluations.x)


def bowl(x) -> float:
    return float(((x - 1) ** 2).sum())


def ball(x) -> float:
    return float(x @ x - 1)


def cost(rate: float, layers: int, solver: str) -> float:
    return (rate - 0.3) ** 2 + (layers - 7) ** 2 + (solver == "slow")


SPACE = l2e.Space(rate=(0, 1), layers=l2e.Int(1, 20), solver=l2e.Choice("slow", "fast"))


def few_layers(rate: float, layers: int, solver: str) -> float:
    return layers - 5.0


@pytest.mark.parametrize("order", ["asked", "arrival"])
def test_constraints_and_mixed_spaces_work_with_workers(order) -> None:
    with ThreadPoolExecutor(3) as executor:
        workers = {"workers": executor, "order": order, "rng": 0}
        inside = l2e.minimize(bowl, bounds=BOUNDS, constraints=ball, budget=90, **workers)
        mixed = l2e.minimize(cost, SPACE, budget=90, **workers)
        both = l2e.minimize(cost, SPACE, constraints=few_layers, budget=90, **workers)
    assert inside.feasible
    assert inside.x == pytest.approx([3**-0.5] * 3, abs=1e-3)
    assert (mixed.params["layers"], mixed.params["solver"]) == (7, "fast")
    assert (both.params["layers"], both.params["solver"], both.feasible) == (5, "fast", True)
    assert inside.nfev == mixed.nfev == both.nfev == 90


def test_a_learned_model_works_with_workers() -> None:
    def member(seed: int):
        at = 2 + 0.4 * np.random.default_rng(seed).standard_normal(3)
        return lambda x: float((np.asarray([1.0, 100.0, 10.0]) * (x - at) ** 2).sum())

    model = l2e.learn(l2e.Family.of(member, seeds=range(4), bounds=BOUNDS), 400, rng=0)
    one, other = (l2e.minimize(member(9), model=model, budget=30, rng=0, workers=(map, 4)) for _ in range(2))
    assert one.nfev == 30
    assert one.fun == other.fun
    assert one.fun < member(9)(np.zeros(3))


def test_two_searches_at_once_under_asyncio_are_those_of_one() -> None:
    def search() -> float:
        with ThreadPoolExecutor(2) as executor:
            return l2e.minimize(valley, bounds=BOUNDS, budget=40, rng=1, workers=executor).fun

    async def both() -> list[float]:
        return await asyncio.gather(asyncio.to_thread(search), asyncio.to_thread(search))

    assert asyncio.run(both()) == [search()] * 2


FULL_DISK = """
import resource, signal, sys, warnings
import l2e
if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2500, resource.RLIM_INFINITY))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = l2e.minimize(lambda x: float(x @ x), bounds=[(-5.0, 4.0)] * 3, budget=150, rng=0, workers=(map, 4),
                              checkpoint=sys.argv[1])
    print(result.nfev, result.fun, sum("checkpoint could not be written" in str(one.message) for one in told))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of files are set as on Linux")
def test_a_full_disk_costs_the_journal_and_not_the_search(tmp_path) -> None:
    (tmp_path / "search.py").write_text(FULL_DISK)
    path = tmp_path / "run.l2e"
    command = [sys.executable, str(tmp_path / "search.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    nfev, fun, told = done.stdout.split()
    assert (nfev, told) == ("150", "1")
    assert float(fun) < 1e-6
    kept = read_journal(path)
    assert 0 < len(kept.evaluations) < 150  # what was written before can be read


def sometimes(x) -> float:
    """Fails in one part of the box, by raising and by NaN, and is a bowl elsewhere."""
    if x[0] > 3:
        raise ArithmeticError("there is nothing here")
    return math.nan if x[0] < -4 else float((x**2).sum())


@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
@pytest.mark.filterwarnings("ignore")
def test_whatever_is_asked_for_the_count_the_box_and_the_best_are_right(data) -> None:
    d = data.draw(st.integers(1, 4))
    edges = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2, unique=True).map(sorted)
    bounds = data.draw(st.lists(edges.filter(lambda pair: pair[1] - pair[0] > 1e-6), min_size=d, max_size=d))
    low, high = np.asarray(bounds).T
    options = data.draw(
        st.fixed_dictionaries(
            {"budget": st.integers(1, 80), "rng": st.integers(0, 2**32), "workers": st.integers(1, 40)},
            optional={
                "x0": st.floats(0, 1).map(lambda share: low + share * (high - low)),
                "target": st.floats(0, 1e6),
                "patience": st.integers(1, 30),
                "order": st.sampled_from(["asked", "arrival"]),
            },
        )
    )
    workers = (ThreadPoolExecutor(1) if "order" in options else map, options.pop("workers"))
    result = l2e.minimize(sometimes, bounds=bounds, workers=workers, **options)
    points, values = result.evaluations.x, result.evaluations.f
    assert 1 <= result.nfev == len(points) <= options["budget"]
    assert ((points >= low) & (points <= high)).all()
    good = values[np.isfinite(values)]
    assert result.n_failed == len(values) - len(good)
    if len(good):
        assert result.fun == good.min() == sometimes(result.x)

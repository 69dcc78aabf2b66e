"""`minimize` and `Optimizer` on integers, categories, named and fixed parameters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import l2e

SPACE = l2e.Space(
    lr=l2e.Log(1e-6, 1),
    layers=l2e.Int(1, 20),
    solver=l2e.Choice("a", "b", "c", "d"),
    momentum=(0, 1),
    seed=7,
    net={"width": l2e.Int(8, 1024, log=True), "bias": l2e.Bool()},
)
WORSE = {"a": 1.0, "b": 0.0, "c": 2.0, "d": 0.5}


def cost(lr: float, layers: int, solver: str, momentum: float, seed: int, net: dict[str, Any]) -> float:
    """0 at lr 1e-3, 7 layers, solver b, momentum .9, width 64, with bias."""
    assert seed == 7
    assert isinstance(layers, int)
    assert isinstance(net["bias"], bool)
    numbers = (np.log10(lr) + 3) ** 2 + 0.1 * (layers - 7) ** 2 + (momentum - 0.9) ** 2
    return float(numbers + WORSE[solver] + (np.log2(net["width"]) - 6) ** 2 + 0.3 * (not net["bias"]))


def test_finds_all_kinds_of_parameters_by_name() -> None:
    result = l2e.minimize(cost, SPACE, budget=300, rng=0)
    best = result.params
    assert (best["layers"], best["solver"], best["net"], best["seed"]) == (7, "b", {"width": 64, "bias": True}, 7)
    assert best["lr"] == pytest.approx(1e-3)
    assert result.fun < 1e-12
    assert result.x == pytest.approx([best["lr"], 7, 1, best["momentum"], 64, 1])


def test_a_function_of_one_dictionary_is_given_the_dictionary() -> None:
    by_name = l2e.minimize(cost, SPACE, budget=60, rng=0)
    by_dictionary = l2e.minimize(lambda params: cost(**params), bounds=SPACE, budget=60, rng=0)
    assert by_dictionary.params == by_name.params


def test_a_vectorised_function_is_given_a_list_of_dictionaries() -> None:
    result = l2e.minimize(lambda batch: [cost(**one) for one in batch], SPACE, budget=60, rng=0, vectorized=True)
    assert result.params == l2e.minimize(cost, SPACE, budget=60, rng=0).params


@pytest.mark.parametrize("method", ["scipy-de", "cmaes"])
def test_other_methods_search_the_same_space(method: str) -> None:
    result = l2e.minimize(cost, SPACE, budget=400, rng=0, method=method)
    assert result.params["solver"] in WORSE
    assert result.fun < 2


def test_the_same_seed_gives_the_same_parameters() -> None:
    first, second = (l2e.minimize(cost, SPACE, budget=120, rng=3).params for _ in range(2))
    assert first == second


def test_x0_is_a_dictionary_in_a_space() -> None:
    start = {"lr": 0.5, "layers": 3, "solver": "d", "momentum": 0.1, "net": {"width": 100, "bias": False}}
    seen: list[dict[str, Any]] = []
    l2e.minimize(lambda p: (seen.append(p), cost(**p))[1], start, bounds=SPACE, budget=5, rng=0)
    assert {**seen[0], "lr": 0} == {**start, "lr": 0, "seed": 7}


def test_the_callback_and_failures_speak_of_parameters() -> None:
    seen: list[Any] = []

    def fails_at_b(params: dict[str, Any]) -> float:
        return np.nan if params["solver"] == "b" else cost(**params)

    with pytest.warns(RuntimeWarning):
        result = l2e.minimize(fails_at_b, SPACE, budget=80, rng=0, callback=lambda one: seen.append(one.params))
    assert seen[-1] == result.params
    assert all(len(one.x) == 6 and one.x[2] == 1 for one in result.failures)


def test_integrality_gives_whole_numbers_only() -> None:
    seen: list[np.ndarray] = []

    def f(x: np.ndarray) -> float:
        seen.append(x)
        return float(((x - [1.2, 2.3, 3.0]) ** 2).sum())

    result = l2e.minimize(f, bounds=[(-5, 5), (0, 10), (3, 3)], integrality=[False, True, False], budget=100, rng=0)
    assert result.x == pytest.approx([1.2, 2, 3])
    assert all(x[1] == round(x[1]) and x[2] == 3 and x.shape == (3,) for x in seen)
    assert "params" not in result
    assert not any("failed" in span.reason for span in result.trace)


def test_one_integer_among_twelve_costs_less_than_a_factor_of_a_hundred() -> None:
    weights = 10 ** np.linspace(0, 3, 12)
    best = np.random.default_rng(0).uniform(-3, 3, 12)
    best[4] = 2.0
    gaps = {}
    for integers in (False, True):
        flags = np.arange(12) == 4
        gaps[integers] = l2e.minimize(
            lambda x: float((weights * (x - best) ** 2).sum()),
            bounds=[(-5, 5)] * 12,
            integrality=flags if integers else None,
            budget=240,
            rng=0,
        ).fun
    assert gaps[True] < 100 * max(gaps[False], 1e-14)


def test_a_finite_space_is_left_when_every_point_was_evaluated() -> None:
    seen: list[tuple[int, str]] = []
    space = l2e.Space(n=l2e.Int(0, 4), c=l2e.Choice(*"abc"))
    result = l2e.minimize(lambda n, c: (seen.append((n, c)), float((n - 2) ** 2) + (c == "b"))[1], space, rng=0)
    assert len(seen) == len(set(seen)) == result.nfev == 15
    assert result.reason == "converged"


def test_a_category_of_which_most_options_fail_is_searched() -> None:
    space = l2e.Space(c=l2e.Choice(*range(12)), x=(-1, 1))
    with pytest.warns(RuntimeWarning):
        result = l2e.minimize(lambda c, x: (x - 0.3) ** 2 if c == 11 else np.nan, space, budget=150, rng=0)
    assert result.params["c"] == 11
    assert result.params["x"] == pytest.approx(0.3)


def test_an_unbounded_parameter_reaches_far_beyond_its_scale() -> None:
    space = l2e.Space(a=l2e.Unbounded(0, 1), b=l2e.Unbounded(0, 1))
    result = l2e.minimize(lambda a, b: (a - 250) ** 2 + (b + 0.01) ** 2, space, budget=200, rng=0)
    assert result.params["a"] == pytest.approx(250, rel=1e-4)
    assert result.params["b"] == pytest.approx(-0.01, abs=1e-3)


def test_a_checkpoint_resumes_a_search_in_a_space(tmp_path: Path) -> None:
    whole = l2e.minimize(cost, SPACE, budget=120, rng=1)
    path = tmp_path / "run.l2e"
    calls = 0

    def dies(**params: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 50:
            raise KeyboardInterrupt
        return cost(**params)

    with pytest.raises(KeyboardInterrupt):
        l2e.minimize(dies, SPACE, budget=120, rng=1, checkpoint=path)
    resumed = l2e.minimize(cost, SPACE, budget=120, rng=1, checkpoint=path)
    assert resumed.params == whole.params
    other = l2e.Space(a=(0, 1))
    with pytest.raises(l2e.CheckpointError, match="another search"):
        l2e.minimize(lambda a: a, other, budget=120, rng=1, checkpoint=path)


def test_ask_and_tell_speak_of_dictionaries_and_can_be_saved(tmp_path: Path) -> None:
    opt = l2e.Optimizer(bounds=SPACE, budget=90, rng=0)
    while opt.result().nfev < 40:
        batch = opt.ask()
        opt.tell(batch[::-1], [cost(**params) for params in batch[::-1]])
    opt.save(tmp_path / "opt.l2e")
    with pytest.raises(l2e.CheckpointError, match="none was given"):
        l2e.Optimizer.load(tmp_path / "opt.l2e")
    opt = l2e.Optimizer.load(tmp_path / "opt.l2e", bounds=SPACE)
    while not opt.stop():
        batch = opt.ask()
        opt.tell(batch, [cost(**params) for params in batch])
    assert opt.result().params == l2e.minimize(cost, SPACE, budget=90, rng=0).params


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": SPACE, "integrality": [1]}, "Int"),
        ({"bounds": [(0, 1)], "integrality": [1, 0]}, "one flag"),
        ({"bounds": [(0, 1)], "integrality": [2]}, "True or False"),
        ({"bounds": [(0.2, 0.8)], "integrality": [1]}, "no whole number"),
        ({"bounds": [(0, 0)]}, "not fixed"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_door(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        l2e.minimize(lambda x: 0.0, **options)

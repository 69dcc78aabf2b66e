"""What broke in the hands of a first user, and must not again."""

import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.algorithms import DE
from l2e.api import catalog
from l2e.cli.commands import main
from l2e.core.errors import MissingExtraError
from l2e.core.traced import runtime, search

BOUNDS = [(-5, 5)] * 2
NATIVE = [name for name, method in catalog.METHODS.items() if method.kind == "native"]


def sphere(x):
    return float((x**2).sum())


@pytest.mark.filterwarnings("ignore:the objective:RuntimeWarning")
@pytest.mark.parametrize("method", NATIVE)
def test_a_small_feasible_region_is_found(method) -> None:
    """Only 4% of the box has values; whole generations fail."""
    results = [
        l2e.minimize(
            lambda x: np.nan if (x < 3).any() else sphere(x - 4), bounds=BOUNDS, budget=1000, rng=seed, method=method
        )
        for seed in range(3)
    ]
    assert all(result.success for result in results)


def test_x0_is_evaluated_first() -> None:
    start = np.full(3, 1.5)
    for method in NATIVE:
        seen = []

        def function(x, seen=seen):
            seen.append(x)
            return sphere(x - 1.5)

        result = l2e.minimize(function, start, bounds=[(-5, 5)] * 3, budget=60, method=method, rng=0)
        np.testing.assert_allclose(seen[0], start, atol=1e-9)
        assert result.fun < 1e-12


@pytest.mark.parametrize("method", NATIVE)
def test_another_budget_shares_the_compilation(method) -> None:
    def run(budget: int) -> None:
        l2e.minimize(lambda x: float(x[0]), bounds=BOUNDS, budget=budget, method=method, rng=0, target=1e9)

    run(200)
    counts = [f._cache_size() for f in (search._begin, search._ask.jitted)]
    run(20_000)
    assert [f._cache_size() for f in (search._begin, search._ask.jitted)] == counts


def test_the_clock_starts_with_the_first_evaluation() -> None:
    result = l2e.minimize(sphere, bounds=[(-5, 5)] * 4, budget=10**7, rng=0, max_seconds=2.0, method="cmaes-bipop")
    assert result.reason == "max_seconds"
    assert result.nfev > 0
    assert result.success


@pytest.mark.parametrize("on_error", ["penalize", "raise"])
def test_an_evaluation_cut_off_by_the_clock_is_no_failure(on_error) -> None:
    def slow(x):
        time.sleep(0.9)
        return sphere(x)

    result = l2e.minimize(slow, bounds=BOUNDS, budget=100, rng=0, max_seconds=3.0, on_error=on_error)
    assert result.reason == "max_seconds"
    assert result.n_failed == 0
    assert result.success


def test_tell_after_the_time_is_over_keeps_the_values() -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, budget=60, rng=0, max_seconds=0.2)
    points = opt.ask()
    time.sleep(0.3)
    opt.tell(points, [sphere(x) for x in points])
    assert opt.result().nfev == len(points)
    assert opt.stop() == {"max_seconds": 0.2}
    with pytest.raises(ValueError, match="positive"):
        l2e.Optimizer(bounds=BOUNDS, max_seconds=-1)


def test_an_unwritable_checkpoint_is_an_error_before_any_evaluation(tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    calls = []
    with pytest.raises(OSError, match="file"):
        l2e.minimize(lambda x: calls.append(1) or 0.0, bounds=BOUNDS, budget=30, rng=0, checkpoint=blocked / "run")
    assert not calls


def test_a_disk_that_fills_up_costs_the_checkpoint_and_not_the_result(tmp_path, monkeypatch) -> None:
    real, path = os.pwrite, tmp_path / "run"

    def full(file, content, place):
        if place > 700:
            raise OSError(28, "No space left on device")
        return real(file, content, place)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        result = l2e.minimize(sphere, bounds=BOUNDS, budget=30, rng=0, checkpoint=path)
    assert result.nfev == 30
    monkeypatch.undo()
    calls = []
    again = l2e.minimize(lambda x: calls.append(1) or sphere(x), bounds=BOUNDS, budget=30, rng=0, checkpoint=path)
    assert again.fun == result.fun
    assert 0 < len(calls) < 30  # what the disk had room for is not evaluated again


class Once:
    def __init__(self, at: int):
        self.at = at

    def __call__(self, x):
        self.at -= 1
        if self.at == 0:
            raise KeyboardInterrupt
        return sphere(x)


def test_the_same_call_without_a_seed_goes_on(tmp_path) -> None:
    path = tmp_path / "run"
    with pytest.raises(l2e.InterruptedSearch):
        l2e.minimize(Once(31), bounds=BOUNDS, budget=60, checkpoint=path)
    assert l2e.minimize(sphere, bounds=BOUNDS, budget=60, checkpoint=path).nfev == 60
    assert l2e.Optimizer.load(path).result().nfev == 60


def test_another_optimizer_object_does_not_go_on_with_a_saved_search(tmp_path) -> None:
    path = tmp_path / "run"
    with pytest.raises(l2e.InterruptedSearch):
        l2e.minimize(Once(25), bounds=BOUNDS, budget=60, rng=0, checkpoint=path, method=DE(10))
    other = DE(10, strategy="current-to-pbest/1/bin")
    with pytest.raises(ValueError, match="another search"):
        l2e.minimize(sphere, bounds=BOUNDS, budget=60, rng=0, checkpoint=path, method=other)


def test_objective_errors_carry_what_was_found() -> None:
    calls = []

    def function(x):
        calls.append(1)
        return None if len(calls) > 20 else sphere(x)

    with pytest.raises(l2e.ObjectiveError) as caught:
        l2e.minimize(function, bounds=BOUNDS, budget=60, rng=0, on_error="raise")
    assert caught.value.result is not None
    assert caught.value.result.nfev == 20


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"target": "1e-3"}, TypeError),
        ({"target": np.nan}, ValueError),
        ({"max_seconds": "3"}, TypeError),
        ({"callback": 3}, TypeError),
    ],
)
def test_more_bad_input(options, error) -> None:
    with pytest.raises(error):
        l2e.minimize(sphere, bounds=BOUNDS, budget=10, **options)


SETTINGS = {
    "rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "dtype promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "threefry": lambda: jax.threefry_partitionable(False),
    "transfers": lambda: jax.transfer_guard("disallow"),
    "infs": lambda: jax.debug_infs(True),
    "x64": lambda: jax.enable_x64(True),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_users_jax_settings_change_nothing(name) -> None:
    plain = l2e.minimize(sphere, bounds=BOUNDS, budget=60, rng=3, method="cmaes")
    with SETTINGS[name]():
        other = l2e.minimize(sphere, bounds=BOUNDS, budget=60, rng=3, method="cmaes")
    np.testing.assert_array_equal(plain.x, other.x)


def test_keys_of_another_kind_are_seeds_too() -> None:
    first, second = (
        l2e.minimize(sphere, bounds=BOUNDS, budget=30, rng=jax.random.key(1, impl="rbg"), method="cmaes")
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.x, second.x)


def test_inside_jit_the_error_says_what_to_do() -> None:
    @jax.jit
    def program(x):
        l2e.minimize(sphere, bounds=BOUNDS, budget=10, rng=0)
        return x

    with pytest.raises(RuntimeError, match="pure_callback"):
        program(jnp.ones(1))


def run(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(caught.value.code or 0), " ".join((captured.out + captured.err).split())


def test_the_command_line_prints_brackets_as_they_are(capsys, monkeypatch) -> None:
    import importlib

    real = importlib.import_module

    def missing(name, *rest):
        if name == "cma":
            raise ModuleNotFoundError("No module named 'cma'", name="cma")
        return real(name, *rest)

    code, text = run(capsys, "methods")
    assert "pip install 'l2e[bench]')" in text
    monkeypatch.setattr("l2e.core.errors.importlib.import_module", missing)
    code, text = run(capsys, "minimize", "--function", "bbob:f1:d2", "--method", "pycma")
    assert (code, "pip install 'l2e[bench]'" in text) == (2, True)
    with pytest.raises(MissingExtraError, match=r"l2e\[bench\]"):
        l2e.minimize(sphere, bounds=BOUNDS, method="pycma")
    assert run(capsys, "minimize", "--function", "bbob:f1:d2", "--method", "[/x]")[0] == 2


def test_the_result_is_written_even_if_the_function_fails_oddly(capsys, tmp_path, monkeypatch) -> None:
    (tmp_path / "oddmodule.py").write_text(
        "def f(x):\n    if x[0] > 0:\n        raise ValueError('[/oops]')\n    return float(x[1])\n"
        "def nothing(x):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.warns(RuntimeWarning, match="oops"):
        code, text = run(
            capsys, "minimize", "oddmodule:f", "--bounds=-1,1", "--dimension", "2", "--budget", "40", "--out", "o.json"
        )
    assert code == 0
    assert "[/oops]" in text
    assert json.loads((tmp_path / "o.json").read_text())["n_failed"] > 0
    code, text = run(capsys, "minimize", "oddmodule:nothing", "--bounds=-1,1", "--dimension", "2")
    assert code == 1
    assert "must return one real number" in text
    code, text = run(capsys, "minimize", "oddmodule:f", "--bounds=-1,1", "--dimension", "2", "--plot", "p.xyz")
    assert (code, "must end in" in text) == (2, True)
    assert run(capsys, "demo", "--seeds", "0")[0] == 2
    assert run(capsys, "score", "de", "--seeds", "0")[0] == 2


def test_pinned_settings_exist_in_this_jax() -> None:
    for name in runtime.PINNED:
        getattr(jax.config, name)

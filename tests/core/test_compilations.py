"""JAX's settings are the user's before and after our computations, memory is bounded, and a fork is noticed."""

import multiprocessing
import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.core.traced import compilations
from l2e.core.traced.compilations import KEPT, Bounded

SETTINGS = ("jax_compilation_cache_dir", *compilations.OURS)


def values() -> dict[str, object]:
    return {name: jax.config.values[name] for name in SETTINGS}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(compilations.CACHE_VARIABLE, str(tmp_path / "ours"))
    return tmp_path / "ours"


def files(folder) -> int:
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_a_search_leaves_the_users_settings_and_compilations_alone(folder) -> None:
    before = values()

    def objective(x):
        assert values() == before
        return float((x**2).sum())

    for method in ("auto", "cmaes"):
        l2e.minimize(objective, bounds=[(-5, 5)] * 2, budget=30, rng=0, method=method)
        assert values() == before
    kept = files(folder)
    jax.jit(lambda x: jnp.sin(x) * 1.2345)(jnp.ones(3)).block_until_ready()
    assert files(folder) == kept


def test_the_users_code_inside_ours_sees_the_users_settings_and_ours_are_back_after_it(folder) -> None:
    before = values()
    with KEPT, KEPT:
        assert values()["jax_compilation_cache_dir"] == str(folder)
        with KEPT.paused():
            assert values() == before
        assert values()["jax_compilation_cache_dir"] == str(folder)
    assert values() == before


def test_an_interruption_while_the_cache_is_switched_leaves_nothing_behind(folder) -> None:
    """Ctrl-C can come when the context was entered, or its lock taken, and the caller does not know it yet."""
    before = values()
    KEPT.__enter__()
    KEPT._lock.acquire()
    l2e.core.caller.after_interruption()
    assert values() == before
    assert not KEPT.entered
    result = l2e.minimize(
        lambda x: float((x**2).sum()), bounds=[(-5, 5)] * 2, budget=30, rng=0, method="de", max_seconds=3600
    )
    assert result.nfev == 30  # called in another thread, which waits for nobody's lock
    KEPT.__exit__()
    assert values() == before


def test_a_cache_that_the_user_has_chosen_is_used_instead(folder, tmp_path) -> None:
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    try:
        with KEPT:
            assert values()["jax_compilation_cache_dir"] == str(tmp_path / "theirs")
        assert not folder.exists()
    finally:
        jax.config.update("jax_compilation_cache_dir", None)


def test_programs_are_dropped_once_there_are_too_many_kinds() -> None:
    dropped = []

    class Compiled:
        def clear_cache(self) -> None:
            dropped.append(True)

    bounded = Bounded(most=2)
    bounded.register(Compiled())
    for kind in "aabba":
        bounded.use(kind)
    assert not dropped
    bounded.use("c")
    assert len(dropped) == 1
    for kind in "cbcb":
        bounded.use(kind)
    assert len(dropped) == 1


def test_a_search_whose_programs_were_dropped_goes_on_with_the_same_points(monkeypatch) -> None:
    def search() -> np.ndarray:
        opt = l2e.Optimizer(bounds=[(-5, 5)] * 2, budget=60, rng=0, method="de")
        while not opt.stop():
            points = opt.ask()
            if crowded:
                l2e.Optimizer(bounds=[(-5, 5)] * 3, budget=10, rng=0, method="de")
            opt.tell(points, (points**2).sum(axis=1))
        return opt.result().x

    crowded = False
    plain = search()
    monkeypatch.setattr(compilations.PROGRAMS, "most", 1)
    crowded = True
    np.testing.assert_array_equal(search(), plain)


FORKED = """
import os, warnings
warnings.simplefilter("ignore")
import l2e

def search(method):
    return l2e.minimize(lambda x: float((x**2).sum()), bounds=[(-5, 5)] * 2, budget=40, rng=0, method=method)

search("de")
child = os.fork()
if child == 0:
    code = 1
    try:
        assert search("auto").nfev == 40
        try:
            search("de")
        except RuntimeError as error:
            code = 0 if "spawn" in str(error) else 3
    finally:
        os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork_native_methods_say_so_and_the_default_works() -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FORKED)], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "0", done.stderr


def spawned(_: int) -> int:
    return l2e.minimize(lambda x: float((x**2).sum()), bounds=[(-5, 5)] * 2, budget=10, rng=0, method="de").nfev


def test_a_spawned_process_may_use_them() -> None:
    l2e.minimize(lambda x: float((x**2).sum()), bounds=[(-5, 5)] * 2, budget=10, rng=0, method="de")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(spawned, [0]) == [10]

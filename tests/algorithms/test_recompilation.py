"""Equal shapes never compile twice, and compilations are kept on disk."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import l2e
from l2e.api import catalog
from l2e.core.traced import search

NATIVE = [name for name, method in catalog.METHODS.items() if method.kind == "native"]


def values(points):
    return (points**2).sum(axis=1)


def compiled() -> int:
    return sum(function._cache_size() for function in (search._begin, search._advance.jitted, search._ask.jitted))


@pytest.mark.parametrize("method", NATIVE)
def test_equal_shapes_share_one_compilation(method) -> None:
    def run(rng, low, budget=200):
        l2e.minimize(values, bounds=[(low, 5)] * 2, budget=budget, method=method, rng=rng, vectorized=True)

    run(0, -5)
    before = compiled()
    run(1, -3)  # another seed, another box
    run(2, -3, budget=210)  # another budget
    assert compiled() == before


def test_problem_instances_share_one_compilation() -> None:
    from l2e.core.traced.problem import _evaluate

    points = np.zeros((5, 3))
    l2e.problems.bbob(function=8, instance=1, dimension=3)(points)
    before = _evaluate._cache_size()
    for instance in (2, 3, 71):
        l2e.problems.bbob(function=8, instance=instance, dimension=3)(points)
    assert _evaluate._cache_size() == before


SCRIPT = """
import logging, sys
import l2e
assert not sys.modules.get("matplotlib") and not sys.modules.get("plotly") and not sys.modules.get("cma")
lazy = ("l2e.algorithms", "l2e.meta", "l2e.bench", "l2e.report")
assert not [name for name in sys.modules if name.startswith(lazy)], "a method is imported when it is asked for"
import jax
assert jax.config.jax_compilation_cache_dir is None, "the cache is set at first use, not at import"
events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
l2e.minimize(lambda x: float((x ** 2).sum()), bounds=[(-5, 5)] * 2, budget=50, method="cmaes", rng=0)
print(events.count("/jax/compilation_cache/cache_hits"), events.count("/jax/compilation_cache/cache_misses"))
"""


def run_script(folder: Path) -> tuple[int, int]:
    environment = os.environ | {"L2E_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    hits, misses = done.stdout.split()
    return int(hits), int(misses)


def test_a_second_process_finds_the_compilations_on_disk(tmp_path) -> None:
    assert run_script(tmp_path)[0] == 0
    assert any(tmp_path.iterdir())
    hits, misses = run_script(tmp_path)
    assert hits > 0
    assert misses == 0


def test_importing_compiles_nothing() -> None:
    script = """
import jax
events = []
jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: events.append(name))
import l2e, l2e.cli.commands
assert not [name for name in events if "compile" in name], events
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_users_own_cache_is_respected(tmp_path) -> None:
    script = f"""
import jax
jax.config.update("jax_compilation_cache_dir", {str(tmp_path / "own")!r})
import l2e
l2e.minimize(lambda x: float(x[0]), bounds=[(0, 1)], budget=10, method="random-search", rng=0)
assert jax.config.jax_compilation_cache_dir == {str(tmp_path / "own")!r}
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_jax_is_left_as_it_was() -> None:
    assert not jax.config.jax_enable_x64


def test_many_batch_sizes_share_few_programs() -> None:
    from l2e.core.traced import problem as module

    function = l2e.problems.bbob(function=3, instance=1, dimension=2)
    points = np.random.default_rng(0).uniform(-5, 5, (300, 2))
    whole = function(points)
    before = module._evaluate._cache_size()
    for rows in range(1, 301):
        np.testing.assert_allclose(function(points[:rows]), whole[:rows], rtol=1e-12)
    assert module._evaluate._cache_size() - before <= 50

"""Every example runs as it is written, and the skeleton of an algorithm keeps the contract it shows."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import l2e
from l2e.core.traced import runtime
from l2e.core.traced.loop import unroll

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SKELETON = ROOT / "docs" / "developer" / "skeleton.py"
BOUNDS = [(-1.0, 9.0), (100.0, 101.0), (-1e-3, 1e-3)]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Python on this package, whatever is installed."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)


def test_examples_are_numbered_in_reading_order() -> None:
    assert [path.stem[:2] for path in EXAMPLES] == [f"{i:02d}" for i in range(1, len(EXAMPLES) + 1)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_a_killed_search_goes_on_to_the_same_point() -> None:
    done = run(str(ROOT / "examples" / "04_save_and_resume.py"))
    assert "exit code 9" in done.stdout
    assert "the same point: True" in done.stdout


@pytest.fixture(scope="module")
def algorithm():
    spec = importlib.util.spec_from_file_location("skeleton", SKELETON)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["skeleton"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module.OnePlusLambda()
    del sys.modules["skeleton"]


def bowl(x: np.ndarray) -> float:
    low, high = np.asarray(BOUNDS).T
    return float((((x - low) / (high - low) - 0.3) ** 2).sum())


def test_the_skeleton_converges_and_stays_in_the_box(algorithm) -> None:
    low, high = np.asarray(BOUNDS).T
    seen = []

    def inside(x: np.ndarray) -> float:
        seen.append(x)
        return bowl(x)

    result = l2e.minimize(inside, bounds=BOUNDS, method=algorithm, budget=1200, rng=0)
    assert result.fun < 1e-8
    assert len(seen) == result.nfev == 1200
    assert ((np.stack(seen) >= low) & (np.stack(seen) <= high)).all()


def test_the_skeleton_repeats_a_seed_and_begins_where_it_is_told(algorithm) -> None:
    start = np.array([8.0, 100.9, 9e-4])
    first, again = (l2e.Optimizer(bounds=BOUNDS, method=algorithm, x0=start, rng=3) for _ in range(2))
    np.testing.assert_allclose(first.ask()[0], start, rtol=1e-12)
    for _ in range(5):
        points = first.ask()
        np.testing.assert_array_equal(points, again.ask())
        for opt in (first, again):
            opt.tell(points, [bowl(x) for x in points])


@pytest.mark.filterwarnings("ignore:the objective returned nan:RuntimeWarning")
def test_failed_evaluations_never_poison_the_skeleton(algorithm) -> None:
    opt = l2e.Optimizer(bounds=BOUNDS, method=algorithm, budget=800, rng=0)
    while not opt.stop():
        points = opt.ask()
        assert np.isfinite(points).all()
        opt.tell(points, [np.nan if i % 3 == 0 else bowl(x) for i, x in enumerate(points)])
    assert opt.result().n_failed > 200
    assert opt.result().fun < 1e-4


def test_the_skeleton_unrolls_to_the_same_values(algorithm) -> None:
    key = jax.random.key(5)
    problem = l2e.problems.bbob(function=1, instance=1, dimension=3)
    with runtime.float64():
        state = algorithm.init(problem.space, key, None)
        _, trace = unroll(algorithm, problem, state, key, generations=20)
    result = l2e.minimize(problem, method=algorithm, budget=160, rng=key)
    assert float(trace.fun[-1]) == pytest.approx(result.fun, rel=1e-9)

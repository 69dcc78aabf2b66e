"""What every native optimizer promises, checked for each."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.api import catalog
from l2e.core.box import box
from l2e.core.traced import pack, runtime
from l2e.core.traced.loop import unroll
from l2e.core.traced.problem import JAXFunction
from l2e.core.traced.search import AlgorithmSearch

BUDGET = 400
NATIVE = [name for name, method in catalog.METHODS.items() if method.kind == "native"]
BOUNDS = [(-1.0, 9.0), (100.0, 101.0), (-1e-3, 1e-3)]


def build(name: str, dimension: int = 3):
    return catalog.method(name).build(dimension, BUDGET, None)


def corner(x):
    """A sphere in box units with its optimum in a corner."""
    low, high = jnp.asarray(BOUNDS).T
    return jnp.sum(((x - low) / (high - low)) ** 2)


@functools.partial(jax.jit, static_argnums=0)
def _unrolled(static, arrays, problem, key, start):
    optimizer = pack.join(arrays, static)
    state = optimizer.init(problem.space, key, start)
    return unroll(optimizer, problem, state, key, 12, BUDGET)


def unrolled(optimizer, problem, key, start=None):
    arrays, static = pack.split(optimizer)
    return _unrolled(static, arrays, problem, key, start)


@pytest.fixture(params=NATIVE)
def name(request) -> str:
    return request.param


def drive(name: str, generations: int, seed: int = 0, poison=None, dimension: int = 3, start=None):
    """Run on the host; returns the batches asked and the driver."""
    driver = AlgorithmSearch(build(name, dimension), box(BOUNDS[:dimension]), jax.random.key(seed), start)
    batches = []
    for generation in range(generations):
        points = driver.ask()
        if not len(points):
            break
        batches.append(points)
        values = (((points - points.mean()) / 10) ** 2).sum(axis=1)
        if poison is not None:
            values = np.where(poison(generation, len(points)), np.inf, values)
        driver.tell(values)
    return batches, driver


def test_batches_are_inside_the_box(name) -> None:
    low, high = np.asarray(BOUNDS).T
    for points in drive(name, 25)[0]:
        assert points.ndim == 2
        assert len(points) >= 1
        assert (points >= low).all()
        assert (points <= high).all()


def test_same_key_same_run_other_key_other_run(name) -> None:
    first, second, other = (drive(name, 6, seed)[0] for seed in (1, 1, 2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[-1], other[-1])


def test_ask_is_idempotent(name) -> None:
    _, driver = drive(name, 3)
    np.testing.assert_array_equal(driver.ask(), driver.ask())


def test_scan_equals_host_loop(name) -> None:
    space, key = box(BOUNDS), jax.random.key(5)
    with runtime.float64():
        problem = JAXFunction(corner, space)
        _, trace = unrolled(build(name), problem, key)
    driver = AlgorithmSearch(build(name), space, key)
    best, used, expected = np.inf, 0, []
    for _ in range(12):
        points = driver.ask()[: BUDGET - used]
        values = problem(points) if len(points) else np.empty(0)
        used, best = used + len(points), min(best, values.min(initial=np.inf))
        expected.append((used, best))
        if len(points):
            driver.tell(values)
    np.testing.assert_array_equal(np.asarray(trace.nfev), [row[0] for row in expected])
    np.testing.assert_allclose(np.asarray(trace.fun), [row[1] for row in expected], rtol=1e-9, atol=1e-12)


def test_vmap_over_keys_equals_single_runs(name) -> None:
    with runtime.float64():
        problem = JAXFunction(corner, box(BOUNDS))
        keys = jax.random.split(jax.random.key(7), 3)
        together = jax.vmap(lambda key: unrolled(build(name), problem, key)[1])(keys)
        alone = [unrolled(build(name), problem, key)[1] for key in keys]
    np.testing.assert_array_equal(np.asarray(together.nfev), [np.asarray(trace.nfev) for trace in alone])
    np.testing.assert_allclose(
        np.asarray(together.fun), [np.asarray(trace.fun) for trace in alone], rtol=1e-6, atol=1e-9
    )


def test_jit_equals_eager(name) -> None:
    space, optimizer = box(BOUNDS), build(name)
    with runtime.float64():
        state = optimizer.init(space, jax.random.key(3), None)
        points = np.asarray(optimizer.ask(state))
        wanted = int(optimizer.wanted(state))
        values = np.where(np.arange(len(points)) < wanted, points.sum(axis=1), np.inf)
        eager = np.asarray(optimizer.ask(optimizer.tell(state, jnp.asarray(values))))
    driver = AlgorithmSearch(optimizer, space, jax.random.key(3))
    np.testing.assert_allclose(driver.ask(), points[:wanted], rtol=1e-12)
    driver.tell(values[:wanted])
    np.testing.assert_allclose(driver.ask(), eager[: len(driver.ask())], rtol=1e-7)


@pytest.mark.parametrize(
    "poison",
    [
        lambda generation, n: np.arange(n) % 3 == 0,
        lambda generation, n: np.arange(n) != 1,
        lambda generation, n: np.ones(n, bool),
        lambda generation, n: np.full(n, generation in (0, 3)),
    ],
    ids=["a third", "all but one", "all", "whole generations"],
)
def test_failed_evaluations_never_poison_the_state(name, poison) -> None:
    batches, driver = drive(name, 15, poison=poison)
    assert all(np.isfinite(points).all() for points in batches)
    for leaf in jax.tree.leaves(driver.state):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            assert not np.isnan(np.asarray(leaf)).any()


def test_float32(name) -> None:
    space = box(BOUNDS, dtype=np.float32)
    optimizer = build(name)
    state = optimizer.init(space, jax.random.key(0), None)
    for _ in range(4):
        points = optimizer.ask(state)
        assert points.dtype == jnp.float32
        assert ((points >= space.lower) & (points <= space.upper)).all()
        live = jnp.arange(len(points)) < optimizer.wanted(state)
        state = optimizer.tell(state, jnp.where(live, jnp.sum(points**2, axis=1), jnp.inf))
    for leaf in jax.tree.leaves(state):
        assert leaf.dtype != jnp.float64


def test_one_dimension(name) -> None:
    batches, _ = drive(name, 8, dimension=1)
    assert all(points.shape[1] == 1 and np.isfinite(points).all() for points in batches)


def test_starts_where_it_is_told(name) -> None:
    """The start is in the first batch, or, for distributions, the batch lies around it."""
    start = np.array([8.0, 100.9, 9e-4])
    low, high = np.asarray(BOUNDS).T
    first = drive(name, 1, start=start)[0][0]
    nearest = np.abs((first - start) / (high - low)).max(axis=1).min()
    mean_shift = ((first.mean(axis=0) - (low + high) / 2) / (high - low)).min()
    assert nearest < 1e-12 or mean_shift > 0.1


def test_affine_change_of_the_box_does_not_change_the_run(name) -> None:
    unit, wide = box([(0, 1)] * 2), box([(-8, 8)] * 2)
    left, right = (AlgorithmSearch(build(name, 2), space, jax.random.key(0)) for space in (unit, wide))
    for _ in range(8):
        a, b = left.ask(), right.ask()
        np.testing.assert_allclose(a, (b + 8) / 16, atol=1e-9)
        left.tell(((a - 0.3) ** 2).sum(axis=1))
        right.tell((((b + 8) / 16 - 0.3) ** 2).sum(axis=1))


def test_state_leaves_are_arrays(name) -> None:
    _, driver = drive(name, 1)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(driver.state))

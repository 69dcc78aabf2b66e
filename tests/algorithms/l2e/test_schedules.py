import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import CoordinateFree, Shared, Staged, Unshared

KEY = jax.random.key(0)


def make(key):
    return CoordinateFree(width=4, key=key)


@eqx.filter_jit
def step(operator, x):
    return operator(x, jnp.sum(x**2, axis=1), KEY)


def equal(left, right) -> None:
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "schedule",
    [Shared(make(KEY)), Unshared(make, 3, key=KEY), Unshared(make, 9, key=KEY), Staged(make, 3, 6, key=KEY)],
    ids=["shared", "short", "long", "staged"],
)
def test_blocks_are_the_operators_of_the_generations(schedule) -> None:
    blocks = schedule.blocks(7)
    for generation in range(7):
        expected = schedule.at(jnp.asarray(generation))
        equal(jax.tree.map(lambda leaf, k=generation: leaf[k], blocks), expected)
    points = jax.random.uniform(KEY, (6, 2))

    scanned = jax.lax.scan(lambda x, block: (step(block, x), None), points, blocks)[0]
    looped = points
    for generation in range(7):
        looped = step(schedule.at(jnp.asarray(generation)), looped)
    np.testing.assert_allclose(scanned, looped, rtol=1e-4, atol=1e-5)


def test_unshared_starts_with_different_operators_made_of_split_keys() -> None:
    schedule = Unshared(make, 3, key=KEY)
    assert schedule.generations == 3
    for generation, key in enumerate(jax.random.split(KEY, 3)):
        for a, b in zip(jax.tree.leaves(schedule.at(jnp.asarray(generation))), jax.tree.leaves(make(key)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    assert not np.array_equal(schedule.operators.embedding.weight[0], schedule.operators.embedding.weight[1])


def test_unshared_stays_with_its_last_operator() -> None:
    schedule = Unshared(make, 3, key=KEY)
    equal(schedule.at(jnp.asarray(2)), schedule.at(jnp.asarray(50)))


def test_unshared_with_equal_blocks_is_shared() -> None:
    shared = Shared(make(KEY))
    unshared = Unshared(lambda key: make(KEY), 5, key=KEY)
    for generation in (0, 4, 9):
        for a, b in zip(
            jax.tree.leaves(unshared.at(jnp.asarray(generation))),
            jax.tree.leaves(shared.at(jnp.asarray(generation))),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_stages_divide_the_horizon() -> None:
    schedule = Staged(make, 4, 10, key=KEY)
    assert [int(schedule.stage(jnp.asarray(k))) for k in range(13)] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]


def test_another_horizon_does_not_compile_again() -> None:
    traces = []

    @eqx.filter_jit
    def stage(schedule, generation):
        traces.append(None)
        return schedule.stage(generation)

    stage(Staged(make, 2, 10, key=KEY), jnp.asarray(5))
    assert int(stage(Staged(make, 2, 100, key=KEY), jnp.asarray(5))) == 0
    assert len(traces) == 1


def test_a_schedule_needs_an_operator() -> None:
    with pytest.raises(ValueError, match="at least one operator, got 0"):
        Unshared(make, 0, key=KEY)

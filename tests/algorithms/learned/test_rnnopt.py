"""RNNOPT: the recurrent step against the formulas, what it is told, and restarts."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.learned.rnnopt import RNNOPT, Statistics, _updated, score
from l2e.core.box import Box

pytestmark = pytest.mark.usefixtures("quick_compilation")

D, UNITS, HORIZON = 3, 4, 5


@pytest.fixture(scope="module")
def model() -> RNNOPT:
    return RNNOPT(D, HORIZON, units=UNITS, key=jax.random.key(0))


def space() -> Box:
    return Box(jnp.full(D, -5.0), jnp.full(D, 5.0))


def run(model, function, steps, seed=0):
    """The states before each step."""
    tell = eqx.filter_jit(RNNOPT.tell)
    states = [model.init(space(), jax.random.key(seed))]
    for _ in range(steps):
        states.append(tell(model, states[-1], function(model.ask(states[-1]))))
    return states


def bowl(points):
    return jnp.sum((points - 1) ** 2, axis=1)


def test_a_step_is_an_lstm_with_projection(model) -> None:
    states = run(model, bowl, HORIZON - 1)
    told = [float(bowl(model.ask(state))[0]) for state in states]
    hidden, cell = np.zeros(D), np.zeros(UNITS)
    for step, (now, after) in enumerate(itertools.pairwise(states)):
        seen = np.asarray(told[: step + 1])
        flag = min(step, 1)
        y = np.tanh((seen[-1] - seen.mean()) / seen.std()) if flag else 0.0
        inputs = np.concatenate([2 * np.asarray(now.point) - 1, [y, flag], hidden, [1]])
        i, f, g, o = np.split(np.asarray(model.gates) @ inputs, 4)
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = np.asarray(model.projection) @ (sigmoid(o) * np.tanh(cell))
        np.testing.assert_allclose(after.point, sigmoid(hidden), rtol=1e-4)
        np.testing.assert_allclose(after.cell, cell, rtol=1e-3, atol=1e-5)


def test_an_episode_ends_and_another_one_begins_elsewhere(model) -> None:
    states = run(model, bowl, 2 * HORIZON)
    assert [int(state.step) for state in states] == [*range(HORIZON), *range(HORIZON), 0]
    starts = [np.asarray(states[k * HORIZON].point) for k in range(3)]
    assert not np.allclose(starts[0], starts[1])
    assert not np.allclose(starts[1], starts[2])
    anew = states[HORIZON]
    assert float(anew.statistics.count) == 0
    assert not np.any(np.asarray(anew.hidden))
    assert not np.any(np.asarray(anew.cell))


def test_it_does_not_see_the_scale_of_the_values(model) -> None:
    plain, scaled = run(model, bowl, 4)[-1], run(model, lambda points: 64 * bowl(points) + 256, 4)[-1]
    np.testing.assert_allclose(plain.point, scaled.point, rtol=1e-3)


def test_running_statistics_and_failed_values() -> None:
    zero = jnp.zeros(())
    statistics = Statistics(zero, zero, zero)
    values = [3.0, 7.0, np.inf, -2.0, 10.0]
    for value in values:
        statistics = _updated(statistics, jnp.asarray(value))
    finite = np.asarray([value for value in values if np.isfinite(value)])
    assert float(statistics.count) == 4
    np.testing.assert_allclose(statistics.mean, finite.mean(), rtol=1e-6)
    np.testing.assert_allclose(statistics.squares / 4, finite.var(), rtol=1e-5)
    expected = np.tanh((5 - finite.mean()) / finite.std())
    np.testing.assert_allclose(score(statistics, jnp.asarray(5.0)), expected, rtol=1e-5)
    assert float(score(statistics, jnp.asarray(jnp.inf))) == 1.0
    assert float(score(Statistics(zero, zero, zero), jnp.asarray(jnp.inf))) == 1.0

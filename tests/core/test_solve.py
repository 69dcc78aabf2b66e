"""`unroll`: budgets, failures, convergence, gradients and maps."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms import CMAES, RandomSearch
from l2e.core.box import box
from l2e.core.traced import runtime
from l2e.core.traced.loop import unroll
from l2e.core.traced.problem import AbstractTraceableProblem, JAXFunction, stack
from l2e.problems import bbob


def sphere(x):
    return jnp.sum(x**2)


def run(optimizer, problem: AbstractTraceableProblem, generations: int, budget=None, seed: int = 0):
    with runtime.float64():
        key = jax.random.key(seed)

        @jax.jit
        def go(problem, budget):
            state = optimizer.init(problem.space, key)
            return unroll(optimizer, problem, state, key, generations, budget)[1]

        return jax.tree.map(np.asarray, go(problem, budget))


def test_a_budget_cuts_the_batch_in_which_it_ends() -> None:
    problem = JAXFunction(sphere, box([(-5, 5)] * 2))
    trace = run(RandomSearch(8), problem, 5, budget=20)
    np.testing.assert_array_equal(trace.nfev, [8, 16, 20, 20, 20])
    free = run(RandomSearch(8), problem, 5)
    np.testing.assert_array_equal(free.nfev, [8, 16, 24, 32, 40])
    assert trace.fun[-1] >= free.fun[-1]
    np.testing.assert_array_equal(trace.fun[:2], free.fun[:2])


def test_the_best_point_has_the_best_value() -> None:
    problem = JAXFunction(sphere, box([(-5, 5)] * 2))
    trace = run(RandomSearch(8), problem, 5)
    np.testing.assert_allclose(problem(trace.x), trace.fun[-1])
    assert (np.diff(trace.fun) <= 0).all()


def test_non_finite_values_are_never_best() -> None:
    problem = JAXFunction(lambda x: jnp.where(x[0] < 0, jnp.nan, sphere(x)), box([(-5, 5)] * 2))
    trace = run(CMAES(8), problem, 40)
    assert np.isfinite(trace.fun).all()
    assert trace.x[0] >= 0
    lost = run(CMAES(8), JAXFunction(lambda x: jnp.sum(x) * jnp.nan, box([(-5, 5)] * 2)), 4)
    assert (lost.fun == np.inf).all()


def test_a_converged_run_uses_no_more_evaluations() -> None:
    trace = run(CMAES(8), JAXFunction(sphere, box([(-5, 5)] * 2)), 400)
    assert trace.nfev[-1] == trace.nfev[-50]
    assert trace.fun[-1] < 1e-10


def test_vmap_over_instances_of_one_function() -> None:
    problems = [bbob(function=8, instance=i, dimension=3) for i in (1, 2, 3)]
    optimizer = CMAES(8)
    with runtime.float64():
        key = jax.random.key(0)

        def one(problem):
            return unroll(optimizer, problem, optimizer.init(problem.space, key), key, 30)[1].fun

        together = np.asarray(jax.jit(jax.vmap(one))(stack(problems)))
        alone = [np.asarray(jax.jit(one)(problem)) for problem in problems]
    np.testing.assert_allclose(together, alone, rtol=1e-6)


@functools.partial(jax.jit, static_argnums=1)
def _final(scale, generations):
    problem = JAXFunction(sphere, box([(-5, 5)] * 2))
    optimizer = CMAES(6)
    key = jax.random.key(1)
    state = optimizer.init(problem.space, key)
    state = eqx.tree_at(lambda s: s.sigma, state, state.sigma * scale)
    return unroll(optimizer, problem, state, key, generations)[1].fun[-1]


def test_gradients_flow_through_the_scan() -> None:
    with runtime.float64():
        slope = float(jax.grad(_final)(jnp.asarray(1.0), 3))
        step = 1e-6
        difference = (_final(jnp.asarray(1.0 + step), 3) - _final(jnp.asarray(1.0 - step), 3)) / (2 * step)
        assert slope == pytest.approx(float(difference), rel=1e-5)
        assert slope != 0

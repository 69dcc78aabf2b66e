"""Write a method of your own, use it, and meta-train its three rates on a family of problems of your own.

Needs JAX: pip install '.[jax]'.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import l2e
from l2e import meta
from l2e.algorithms.population import as_arrays, reflect
from l2e.core.traced.algorithm import AbstractAlgorithm

DIMENSION, CHILDREN, GENERATIONS = 4, 6, 60


class State(eqx.Module):
    """What the next batch needs; every leaf is an array."""

    space: l2e.Box
    key: jax.Array
    parent: jax.Array
    value: jax.Array
    step: jax.Array
    children: jax.Array


class MyMethod(AbstractAlgorithm[State]):
    """The best of some children around a parent replaces it if it is better; the step grows or shrinks by the rates."""

    rates: jax.Array  # logarithms: of the first step, of its growth after a success, of its decay after a failure

    def init(self, space, key, start=None):
        space = as_arrays(space)
        dtype = space.lower.dtype
        parent = jnp.full(space.dimension, 0.5, dtype) if start is None else space.to_unit(jnp.asarray(start, dtype))
        return self.breed(space, key, parent, jnp.asarray(jnp.inf, dtype), jnp.exp(self.rates[0]).astype(dtype))

    def ask(self, state):
        return state.space.from_unit(state.children)

    def wanted(self, state):
        return jnp.asarray(CHILDREN, jnp.int32)

    def tell(self, state, values):
        best = jnp.argmin(values)  # failed evaluations arrive as +inf
        success = values[best] < state.value
        parent = jnp.where(success, state.children[best], state.parent)
        value = jnp.minimum(values[best], state.value)
        step = state.step * jnp.exp(jnp.where(success, self.rates[1], self.rates[2])).astype(state.step.dtype)
        return self.breed(state.space, state.key, parent, value, step)

    def breed(self, space, key, parent, value, step):
        key, noise_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (CHILDREN, space.dimension), parent.dtype)
        return State(space, key, parent, value, step, reflect(parent + step * noise))


class Bowl(l2e.AbstractTraceableProblem):
    """A member of the family: an elliptic bowl somewhere in the box, its axes up to ten times as steep as others."""

    space: l2e.Box
    centre: jax.Array
    steepness: jax.Array

    def evaluate(self, points, key=None):
        return jnp.sum(self.steepness * (points - self.centre) ** 2, axis=1)


def draw(key: jax.Array) -> Bowl:
    where, how = jax.random.split(key)
    centre = jax.random.uniform(where, (DIMENSION,), minval=-4, maxval=4)
    return Bowl(l2e.box([(-5, 5)] * DIMENSION), centre, 10 ** jax.random.uniform(how, (DIMENSION,)))


def median_gap(method: MyMethod) -> float:
    """The median result on twenty members of the family that no training has seen."""
    problems = [draw(jax.random.key(1000 + seed)) for seed in range(20)]
    budget = CHILDREN * GENERATIONS
    return float(np.median([l2e.minimize(problem, method=method, budget=budget, rng=0).fun for problem in problems]))


untrained = MyMethod(jnp.log(jnp.asarray([0.01, 1.1, 0.99])))
spec = meta.TrainSpec(
    optimizer=untrained,
    tasks=meta.FunctionTasks([draw], f_opt=[0.0], names=["bowls"]),
    objective=meta.LogGap("best"),
    estimator=meta.AntitheticES(pairs=8, sigma=0.1),  # no derivatives: selection has none that say much
    steps=60,
    batch=4,
    generations=GENERATIONS,
    learning_rate=0.05,
    validate_every=20,
)
trained = untrained
for state, info in meta.train(spec, jax.random.key(0)):
    if info.validation is not None:
        print(f"step {info.step}: validation {info.validation:.2f}, the mean log10 of the final gap")
    if info.best:
        trained = eqx.combine(state.best_weights.optimizer, untrained)

print(f"rates before {np.exp(untrained.rates).round(3)}, after {np.exp(trained.rates).round(3)}")
print(f"median gap on fresh problems: {median_gap(untrained):.2g} untrained, {median_gap(trained):.2g} trained")

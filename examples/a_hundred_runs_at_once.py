"""A JAX problem and a native optimizer: one compiled scan, vmapped over a hundred seeds."""

import jax
import numpy as np

import l2e
from l2e.optimizers.cmaes import CMAES

problem = l2e.problems.bbob(function=8, instance=1, dimension=5)
optimizer = CMAES(CMAES.default_population(5))


@jax.jit
def run(keys):
    def one(key):
        state = optimizer.init(problem.space, key)
        return l2e.unroll(optimizer, problem, state, key, generations=300)[1]

    return jax.vmap(one)(keys)


with jax.enable_x64(True):
    trace = run(jax.random.split(jax.random.key(0), 100))
    gaps = np.asarray(trace.fun)[:, -1] - problem.optimum.f
print(f"{(gaps < 1e-8).sum()} of 100 runs reached the optimum within {int(np.asarray(trace.nfev).max())} evaluations")

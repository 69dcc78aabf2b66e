"""A model on fresh instances of its training families, which neither its training nor its selection has seen."""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.problem import GAP_FLOOR
from l2e.core.traced import pack, runtime
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.keys import as_key
from l2e.core.traced.loop import unroll
from l2e.core.traced.types import Count, Key
from l2e.meta.tasks import AbstractTaskDistribution

SEED = 20
"""The instances come from this seed; trainings and their validations have others."""


@dataclass(frozen=True)
class HeldOut:
    """log10 of the final gaps, shape (families, instances, seeds)."""

    names: tuple[str, ...]
    budget: int
    logarithms: np.ndarray

    @property
    def mean(self) -> float:
        """Over everything."""
        return float(self.logarithms.mean())

    def to_json(self) -> dict[str, Any]:
        """The means and the sizes of the experiment, as plain JSON."""
        means = self.logarithms.mean(axis=(1, 2))
        return {
            "budget": self.budget,
            "instances": self.logarithms.shape[1],
            "seeds": self.logarithms.shape[2],
            "mean": round(self.mean, 4),
            "families": {name: round(float(value), 4) for name, value in zip(self.names, means, strict=True)},
        }


def held_out(
    optimizer: AbstractAlgorithm[Any],
    tasks: AbstractTaskDistribution,
    budget: int,
    instances: int = 4,
    seeds: int = 2,
    seed: int = SEED,
) -> HeldOut:
    """Run an optimizer on fresh instances of each family, each instance with some seeds, metered.

    **Arguments:** `tasks`: the families; `budget`: counted evaluations of a run; `seed`: of the instances; equal ones
    give equal instances, and the same runs begin with the same random numbers.
    """
    arrays, static = pack.split(optimizer)
    with runtime.float64():
        task_keys = jax.random.split(as_key(seed), instances)
        run_keys = jax.random.split(jax.random.fold_in(as_key(seed), 1), seeds)
        places = jnp.asarray(np.stack(np.meshgrid(*map(np.arange, (tasks.families, instances, seeds)), indexing="ij")))
        family, instance, repeat = places.reshape(3, -1)
        gaps = np.asarray(_gaps(static, tasks, budget, arrays, family, task_keys[instance], run_keys[repeat]))
    shape = (tasks.families, instances, seeds)
    return HeldOut(tasks.names, budget, np.log10(np.maximum(gaps, GAP_FLOOR)).reshape(shape))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _gaps(static: Any, tasks: Any, budget: int, arrays: Any, family: Any, task_keys: Any, run_keys: Any) -> Any:
    """The final gap of each run, one after the other."""
    optimizer = pack.join(arrays, static)

    def one(inputs: tuple[Count, Key, Key]) -> Any:
        number, task_key, run_key = inputs
        task = tasks.of(number, task_key)
        first_key, run_key = jax.random.split(run_key)
        state = optimizer.init(task.space, first_key)
        batch = jax.eval_shape(optimizer.ask, state).shape[0]
        trace = unroll(optimizer, task, state, run_key, -(-budget // batch), budget)[1]
        return trace.fun[-1] - task.f_opt

    return jax.lax.map(one, (family, task_keys, run_keys))

"""A model on fresh instances of its training families, which neither its training nor its selection has seen."""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from l2e import _runtime
from l2e._types import Count, Key
from l2e.meta.tasks import AbstractTaskDistribution
from l2e.optimizer import AbstractOptimizer
from l2e.solve import unroll

SEED = 20
"""The instances come from this seed; trainings and their validations have others."""

FLOOR = 1e-8
"""Gaps below it count as it."""


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

    @property
    def facts(self) -> dict[str, Any]:
        """The means, and what they are of, in the types of JSON."""
        means = self.logarithms.mean(axis=(1, 2))
        return {
            "budget": self.budget,
            "instances": self.logarithms.shape[1],
            "seeds": self.logarithms.shape[2],
            "mean": round(self.mean, 4),
            "families": {name: round(float(value), 4) for name, value in zip(self.names, means, strict=True)},
        }


def held_out(
    optimizer: AbstractOptimizer[Any],
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
    arrays, static = _runtime.split(optimizer)
    with _runtime.float64():
        task_keys = jax.random.split(_runtime.as_key(seed), instances)
        run_keys = jax.random.split(jax.random.fold_in(_runtime.as_key(seed), 1), seeds)
        places = jnp.asarray(np.stack(np.meshgrid(*map(np.arange, (tasks.families, instances, seeds)), indexing="ij")))
        family, instance, repeat = places.reshape(3, -1)
        gaps = np.asarray(_gaps(static, tasks, budget, arrays, family, task_keys[instance], run_keys[repeat]))
    shape = (tasks.families, instances, seeds)
    return HeldOut(tasks.names, budget, np.log10(np.maximum(gaps, FLOOR)).reshape(shape))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _gaps(static: Any, tasks: Any, budget: int, arrays: Any, family: Any, task_keys: Any, run_keys: Any) -> Any:
    """The final gap of each run, one after the other."""
    optimizer = _runtime.join(arrays, static)

    def one(inputs: tuple[Count, Key, Key]) -> Any:
        number, task_key, run_key = inputs
        task = tasks.of(number, task_key)
        first_key, run_key = jax.random.split(run_key)
        state = optimizer.init(task.space, first_key)
        batch = jax.eval_shape(optimizer.ask, state).shape[0]
        trace = unroll(optimizer, task, state, run_key, -(-budget // batch), budget)[1]
        return trace.fun[-1] - task.f_opt

    return jax.lax.map(one, (family, task_keys, run_keys))

"""Sharing a training between processes: each takes a part of the tasks of every step, sums are added up.

All processes hold the same state and take the same steps; only process 0 writes files. The same code runs on two
processes of one machine and on many hosts. Weights equal those of a single process up to the rounding of sums.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

from l2e.core.traced.keys import is_key
from l2e.meta.loss import Work


def connect(coordinator: str, processes: int, process: int) -> None:
    """Join the other processes; to be called before anything is computed.

    **Arguments:** `coordinator`: host:port of process 0; `processes`: how many there are; `process`: which this is.
    """
    if not 0 <= process < processes:
        raise ValueError(f"process must be from 0 to {processes - 1}, got {process}")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator, processes, process)


def is_shared() -> bool:
    """Whether several processes take part."""
    return jax.process_count() > 1


def is_writer() -> bool:
    """Whether this process writes files."""
    return jax.process_index() == 0


def share(work: Work) -> Work:
    """The tasks of this process: every process takes as many groups.

    **Raises:** `ValueError` if the groups cannot be divided evenly.
    """
    groups, count = work.families.shape[0], jax.process_count()
    if groups % count:
        raise ValueError(f"{groups} groups of tasks cannot be shared evenly by {count} processes: change batch")
    size = groups // count
    mine = slice(jax.process_index() * size, (jax.process_index() + 1) * size)
    return Work(work.families[mine], work.keys[mine], work.step_key, work.strength)


def added(tree: Any) -> Any:
    """The sum over processes of each leaf, in the order of processes, so that it is the same number everywhere."""
    gathered = multihost_utils.process_allgather(tree)
    return jax.tree.map(lambda leaf: jnp.asarray(np.sum(leaf, axis=0, dtype=leaf.dtype)), gathered)


def any_of(flag: bool) -> bool:
    """Whether any process says so: all stop at the same step, or the others would wait for ever."""
    return bool(np.any(multihost_utils.process_allgather(np.asarray(flag)))) if is_shared() else flag


def joined(leaf: Any) -> np.ndarray:
    """The parts of all processes, one behind the other."""
    return np.concatenate(np.asarray(multihost_utils.process_allgather(leaf)))


def from_writer(tree: Any) -> Any:
    """The tree of process 0, on all processes."""
    raw = jax.tree.map(lambda leaf: jax.random.key_data(leaf) if is_key(leaf) else leaf, tree)
    sent = multihost_utils.broadcast_one_to_all(raw)
    return jax.tree.map(
        lambda leaf, like: jax.random.wrap_key_data(jnp.asarray(leaf)) if is_key(like) else jnp.asarray(leaf),
        sent,
        tree,
    )

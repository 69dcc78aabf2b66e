"""Which weights act in which generation."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.l2e.contracts import AbstractOperator, AbstractSchedule
from l2e.core.traced.types import Count, Key


class Shared(AbstractSchedule):
    """One operator for all generations."""

    operator: AbstractOperator

    @property
    def per_generation(self) -> bool:
        return False

    def at(self, generation: Count) -> AbstractOperator:
        return self.operator

    def blocks(self, generations: int) -> Any:
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (generations, *jnp.shape(leaf))), self.operator)


class Unshared(AbstractSchedule):
    """One operator for each generation; the last one stays when a run is longer.

    ```python
    schedule = Unshared(lambda key: StructuredMamba(10, key=key), 200, key=jax.random.key(0))
    ```

    **Arguments:**

    - `make`: an operator from a key.
    - `generations`: how many operators.
    - `key`: split into one key for each.
    """

    operators: Any  # one operator whose leaves have a leading axis

    def __init__(self, make: Callable[[Key], AbstractOperator], generations: int, *, key: Key):
        self.operators = stacked(make, generations, key)

    @property
    def per_generation(self) -> bool:
        return True

    @property
    def generations(self) -> int:
        """How many operators there are."""
        return length(self.operators)

    def at(self, generation: Count) -> AbstractOperator:
        return taken(self.operators, jnp.clip(generation, 0, self.generations - 1))

    def blocks(self, generations: int) -> Any:
        if generations <= self.generations:
            return jax.tree.map(lambda leaf: leaf[:generations], self.operators)
        return taken(self.operators, np.minimum(np.arange(generations), self.generations - 1))


class Staged(AbstractSchedule):
    """A few operators, each for an equal part of a run whose length is told; the last one stays when it is longer.

    **Arguments:**

    - `make`: an operator from a key.
    - `stages`: how many operators.
    - `horizon`: how many generations a run has; another horizon does not compile again.
    - `key`: split into one key for each operator.
    """

    operators: Any  # one operator whose leaves have a leading axis
    horizon: Any

    def __init__(self, make: Callable[[Key], AbstractOperator], stages: int, horizon: Any, *, key: Key):
        self.operators = stacked(make, stages, key)
        self.horizon = horizon if isinstance(horizon, jax.Array) else np.asarray(horizon, np.int32)

    @property
    def per_generation(self) -> bool:
        return False

    @property
    def stages(self) -> int:
        """How many operators there are."""
        return length(self.operators)

    def stage(self, generation: Any) -> Any:
        """The index of the operator of a generation."""
        return jnp.clip(generation * self.stages // jnp.maximum(self.horizon, 1), 0, self.stages - 1)

    def at(self, generation: Count) -> AbstractOperator:
        return taken(self.operators, self.stage(generation))

    def blocks(self, generations: int) -> Any:
        return taken(self.operators, self.stage(jnp.arange(generations, dtype=jnp.int32)))


def stacked(make: Callable[[Key], AbstractOperator], count: int, key: Key) -> Any:
    """Operators of one structure from as many keys, as one pytree with a leading axis."""
    if count < 1:
        raise ValueError(f"a schedule needs at least one operator, got {count}")
    return eqx.filter_vmap(make)(jax.random.split(key, count))


def taken(operators: Any, index: Any) -> Any:
    """The operator, or the operators, at an index of the leading axis."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[index], operators)


def length(operators: Any) -> int:
    """The size of the leading axis."""
    return jax.tree.leaves(operators)[0].shape[0]


Sharing = Literal["unshared", "shared", "staged"]


def scheduled(
    sharing: Sharing, make: Callable[[Key], AbstractOperator], stages: int, generations: int, key: Key
) -> AbstractSchedule:
    """Operators for all generations: one each ("unshared"), one for all ("shared"), or one per stage ("staged").

    **Arguments:** `make`: an operator with initial weights from a key; `stages`: how many, if staged.
    """
    match sharing:
        case "unshared":
            return Unshared(make, generations, key=key)
        case "staged":
            return Staged(make, stages, generations, key=key)
        case _:
            return Shared(make(key))

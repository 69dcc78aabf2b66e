"""Members of `l2e.problems.families` as tasks to train an optimizer on: those that a model of the family learns from.

In a training file: `family = "l2e.meta.family_tasks:pendulum"` for members in JAX, which have gradients, and
`"l2e.meta.family_tasks:truss"` and so on for members as Python functions, for the evolution strategies.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from l2e.core.box import Box
from l2e.core.traced.problem import AbstractTraceableProblem, CallbackFunction
from l2e.core.traced.types import Key, Points, Values
from l2e.meta.tasks import FunctionTasks
from l2e.problems.families import FAMILIES
from l2e.problems.families.member import drawn
from l2e.problems.families.pendulum import FAMILY, SECONDS, STEPS, Pendulum

MEMBERS = 40
"""Seeds from 0 to this are trained on."""

LOWER_BOUNDS = {"antenna": -12.0, "tuning": -4.0}
"""Below which no value of a member is, where it is not 0; it stands for the unknown optimum."""


class TracedPendulum(AbstractTraceableProblem):
    """A member of the family `pendulum` in JAX; `context` is gravity, length, mass, friction and torque."""

    space: Box
    context: Float[Array, "5"]

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        gravity, length, mass, friction, torque = (self.context[i].astype(points.dtype) for i in range(5))

        def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
            angle, spin = state
            sine, cosine = jnp.sin(angle), jnp.cos(angle)
            seen = jnp.stack([sine, cosine, spin / 4, spin * cosine / 4, spin * (spin * spin / 8 - 1) / 4], axis=1)
            top = jax.nn.sigmoid(4 * (points[:, 10] + points[:, 11] * cosine))
            below, near = jnp.sum(seen * points[:, :5], axis=1), jnp.sum(seen * points[:, 5:10], axis=1)
            effort = jnp.tanh((1 - top) * below + top * near)
            push = torque * effort - friction * spin
            turned = push / (mass * length**2) + gravity / length * sine
            spin = jnp.clip(spin + SECONDS * turned, -12, 12)
            angle = angle + SECONDS * spin
            return (angle, spin), 1 - jnp.cos(angle) + 0.02 * spin * spin + 0.05 * effort * effort

        n = len(points)
        begin = jnp.full(n, np.pi - 0.05, points.dtype), jnp.zeros(n, points.dtype)
        _, costs = jax.lax.scan(step, begin, None, length=STEPS)
        return jnp.sum(costs, axis=0) / STEPS


def pendulum(dimension: int) -> FunctionTasks:
    """The pendulums in JAX: every estimator can train on them, back-propagation too."""
    space = FAMILIES["pendulum"](0).space
    contexts = np.array([Pendulum(drawn(FAMILY, seed)).context for seed in range(MEMBERS)])

    def draw(key: Key) -> TracedPendulum:
        return TracedPendulum(space, jnp.asarray(contexts)[jax.random.randint(key, (), 0, MEMBERS)])

    return FunctionTasks([draw], f_opt=[0.0], names=["pendulum"])


def _on_host(name: str) -> Callable[[int], FunctionTasks]:
    """Tasks whose values are computed by a family's own code."""

    def tasks(dimension: int) -> FunctionTasks:
        members = [FAMILIES[name](seed) for seed in range(MEMBERS)]

        def value(points: np.ndarray, member: np.ndarray) -> np.ndarray:
            return np.asarray(members[int(member)](points))

        def draw(key: Key) -> CallbackFunction:
            return CallbackFunction(value, members[0].space, jax.random.randint(key, (), 0, MEMBERS).astype(float))

        return FunctionTasks([draw], f_opt=[LOWER_BOUNDS.get(name, 0.0)], names=[name])

    return functools.wraps(FAMILIES[name])(tasks)


truss, antenna, seir, tuning = (_on_host(name) for name in ("truss", "antenna", "seir", "tuning"))

"""Robots of Brax that learn to walk: the weights of a policy are the point, minus the mean reward is its cost.

The backend `spring`, 200 steps and the mean of ten episodes are fixed. The noise is honest: all policies of one batch
meet the same ten beginnings, and the next batch meets others, so that a policy which was lucky once is not lucky for
ever.
"""

import functools
import sys
import time
import warnings
import zlib
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from l2e.core.box import Box, box
from l2e.core.errors import require, unknown
from l2e.core.problem import as_batch
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.runtime import sequential
from l2e.core.traced.types import Key, Points, Values
from l2e.problems._bbob.suite import check_integer
from l2e.problems._neuroevolution.batch_last import batch_last
from l2e.problems._neuroevolution.policy import MOST, act, layer_sizes, unpacked, weight_count

BACKEND = "spring"
"""Of Brax. Others give other rewards for the same policies, so there is no choice."""

SIZES = {"ant": (27, 8), "humanoid": (244, 17)}
"""Observations and actions of the robots."""

STEPS = 200
EPISODES = 10

CHUNK = 10
"""Policies evaluated at once, which keeps the memory below 2 GB."""

DEPTHS = (3, 4, 5)
"""Of the paper's table, but for its ant-6, which the platform that it used does not have."""

DEEPEST = 6


class Neuroevolution(AbstractTraceableProblem):
    """A robot of Brax and a policy of given depth; minus the mean reward of ten episodes is to be made small.

    Plain numpy comes in and goes out, chunk by chunk through one compiled program. Which episodes a batch meets is
    decided by the problem's seed and the batch itself, so that a search can be repeated and resumed exactly. `evaluate`
    takes the key of the episodes instead, in float32, for training by evolution strategies; there are no gradients.
    """

    space: Box
    seed: Int[Array | np.ndarray, ""]
    robot: str = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    runs_on_host: ClassVar[bool] = True

    def __call__(self, points: Any) -> Any:
        batch, single = as_batch(points, self.dimension)
        rewards = self.rewards(batch, self.key_of(batch))
        values = -rewards.mean(axis=1).astype(np.float64)
        return float(values[0]) if single else values

    def key_of(self, batch: np.ndarray) -> Key:
        """The key of the episodes that a batch of policies meets."""
        return jax.random.fold_in(jax.random.key(int(self.seed)), np.uint32(zlib.crc32(batch.tobytes())))

    def rewards(self, points: Any, key: Key) -> Float[np.ndarray, "n e"]:
        """The reward of every policy in each of the ten episodes that a key stands for."""
        batch, _ = as_batch(points, self.dimension)
        rows = -(-len(batch) // CHUNK) * CHUNK
        padded = np.concatenate([batch, np.repeat(batch[-1:], rows - len(batch), 0)]).astype(np.float32)
        with jax.enable_x64(False):
            program = _program(self.robot, self.depth)
            found = [np.asarray(program(padded[i : i + CHUNK], key)) for i in range(0, rows, CHUNK)]
        return np.concatenate(found)[: len(batch)]

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        if jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
            raise ValueError("Brax computes in float32: trace its problems with float32, or call them with numpy")
        key = jax.random.key(jnp.asarray(self.seed)) if key is None else key
        count = len(points)
        size = min(count, CHUNK)
        rows = jnp.resize(jnp.asarray(points, jnp.float32), (-(-count // size) * size, self.dimension))
        chunks = rows.reshape(-1, size, self.dimension)
        rewards = jax.lax.map(lambda chunk: _chunk_rewards(self.robot, self.depth, chunk, key), chunks)
        return -jnp.mean(rewards.reshape(-1, EPISODES)[:count], axis=1)

    @property
    def name(self) -> str:
        """As the paper calls it, with the backend."""
        return f"{self.robot}-{self.depth} ({BACKEND})"


def neuroevolution(robot: str = "ant", depth: int = 3, seed: int = 0) -> Neuroevolution:
    """The weights of a policy that makes a robot walk, in 4,328 dimensions and more.

    ```python
    problem = l2e.problems.neuroevolution("ant", depth=3)
    result = l2e.minimize(problem, method="sep-cmaes", budget=250)
    ```

    **Arguments:**

    - `robot`: "ant" or "humanoid", of Brax (extra `brax`), simulated by its backend `spring`.
    - `depth`: hidden layers of 32 units behind the first one: 3, 4 and 5 in the paper's table; 0 to 6 are possible.
    - `seed`: decides the episodes.

    **Raises:** `ValueError` or `TypeError` for anything else; `MissingExtraError`, when it is first evaluated, where
    Brax is not installed.
    """
    if robot not in SIZES:
        raise unknown("robot", robot, SIZES)
    depth = check_depth(depth)
    size = dimension_of(robot, depth)
    return Neuroevolution(box([(-MOST, MOST)] * size), np.asarray(check_integer("seed", seed, 0)), robot, depth)


def check_depth(depth: int) -> int:
    """A depth, or an error that says what is allowed."""
    depth = check_integer("depth", depth, 0)
    if depth > DEEPEST:
        raise ValueError(f"depth must be between 0 and {DEEPEST}, got {depth}")
    return depth


def dimension_of(robot: str, depth: int) -> int:
    """The number of weights of a robot's policy."""
    return weight_count(layer_sizes(*SIZES[robot], depth))


@functools.cache
def environment(robot: str) -> Any:
    """The simulated robot; Brax says at length that nobody maintains its environments any more."""
    with warnings.catch_warnings(), jax.enable_x64(False), jax.ensure_compile_time_eval():
        warnings.simplefilter("ignore")
        return require("brax.envs", "brax").get_environment(robot, backend=BACKEND)


def _chunk_rewards(robot: str, depth: int, points: Float[Array, "n d"], key: Key) -> Float[Array, "n e"]:
    """The rewards of some policies, each in all episodes that the key stands for."""
    robot_env, (count, _) = environment(robot), points.shape
    size = count * EPISODES
    layers = jax.vmap(functools.partial(unpacked, sizes=layer_sizes(*SIZES[robot], depth)))(points)
    begin = jax.vmap(robot_env.reset, out_axes=-1)(jax.random.split(key, EPISODES))
    begin = jax.tree.map(lambda leaf: jnp.tile(leaf, count), begin)
    step = batch_last(robot_env.step, size)

    def actions(seen: Float[Array, "o b"]) -> Float[Array, "a b"]:
        rows = jnp.moveaxis(seen.reshape(len(seen), count, EPISODES), 0, -1)
        chosen = jax.vmap(lambda policy, row: act(policy, row, jnp.tanh))(layers, rows)
        return jnp.moveaxis(chosen, -1, 0).reshape(-1, size)

    def next_step(carry: Any, _: None) -> tuple[Any, None]:
        state, alive, total = carry
        state = step(state, actions(state.obs))
        return (state, alive * (1 - state.done), total + alive * state.reward), None

    (_, _, total), _ = jax.lax.scan(next_step, (begin, jnp.ones(size), jnp.zeros(size)), None, length=STEPS)
    return total.reshape(count, EPISODES)


@functools.cache
def _program(robot: str, depth: int) -> Any:
    """The compiled evaluation of a chunk of policies; how long it took to compile is said on stderr."""
    began = time.perf_counter()
    with warnings.catch_warnings(), jax.enable_x64(False):
        warnings.simplefilter("ignore")
        sizes = jax.ShapeDtypeStruct((CHUNK, dimension_of(robot, depth)), jnp.float32)
        run = jax.jit(functools.partial(_chunk_rewards, robot, depth), compiler_options=sequential())
        program = run.lower(sizes, jax.random.key(0)).compile()
    seconds = time.perf_counter() - began
    print(f"{robot}-{depth} ({BACKEND}) compiled in {seconds:.0f} s", file=sys.stderr)
    return program

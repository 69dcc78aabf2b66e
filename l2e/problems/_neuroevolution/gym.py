"""Robots of gymnasium, simulated by MuJoCo on the host: the same policies and protocol, evaluated by worker processes.

Observations differ from those of Brax, and so do rewards: scores of the two do not compare.
"""

import concurrent.futures
import dataclasses
import functools
import multiprocessing
import zlib
from typing import Any

import numpy as np
from jaxtyping import Float

from l2e.core.box import Box, box
from l2e.core.errors import require, unknown
from l2e.core.problem import AbstractProblem, as_batch
from l2e.problems._bbob.suite import check_integer
from l2e.problems._neuroevolution.policy import MOST, act, layer_sizes, unpacked, weight_count
from l2e.problems._neuroevolution.suite import EPISODES, STEPS, check_depth

ROBOTS = {"ant": ("Ant-v5", 105, 8), "humanoid": ("Humanoid-v5", 348, 17)}
"""The name of each robot in gymnasium, and the numbers of its observations and actions."""


@dataclasses.dataclass(frozen=True)
class GymNeuroevolution(AbstractProblem):
    """A robot of gymnasium and a policy of given depth; minus the mean reward of ten episodes is to be made small.

    All policies of a batch meet the same ten beginnings, and the next batch meets others, as with Brax.

    **Fields:** `space`; `robot`: "ant" or "humanoid"; `depth`: of the policy; `seed`: decides the episodes; `workers`:
    processes among which the policies of a batch are divided, 1 for none but this one.
    """

    space: Box
    robot: str
    depth: int
    seed: int = 0
    workers: int = 1

    def __call__(self, points: Any) -> Any:
        batch, single = as_batch(points, self.dimension)
        values = -self.rewards(batch, zlib.crc32(batch.tobytes())).mean(axis=1)
        return float(values[0]) if single else values

    def rewards(self, points: Any, number: int) -> Float[np.ndarray, "n e"]:
        """The reward of every policy in each of ten episodes, which the problem's seed and a number decide."""
        batch, _ = as_batch(points, self.dimension)
        seeds = np.random.SeedSequence([self.seed, number]).generate_state(EPISODES).tolist()
        jobs = functools.partial(policy_rewards, self.robot, self.depth, seeds)
        found = map(jobs, batch) if self.workers == 1 else _pool(self.workers).map(jobs, batch)
        return np.asarray(list(found))

    @property
    def name(self) -> str:
        """The robot, the depth and the simulator."""
        return f"{self.robot}-{self.depth} (mujoco)"


def gym_neuroevolution(robot: str = "ant", depth: int = 3, seed: int = 0, workers: int = 1) -> GymNeuroevolution:
    """The weights of a policy that makes a robot of gymnasium walk (Ant-v5, Humanoid-v5).

    **Arguments:** as for `neuroevolution`; `workers`: processes that evaluate policies side by side. A script that asks
    for several must keep its own work under `if __name__ == "__main__":`.

    **Raises:** `ValueError` or `TypeError` for anything else; `MissingExtraError`, when it is first evaluated, where
    gymnasium is not installed (extra `mujoco`).
    """
    if robot not in ROBOTS:
        raise unknown("robot", robot, ROBOTS)
    depth, seed = check_depth(depth), check_integer("seed", seed, 0)
    size = gym_dimension_of(robot, depth)
    return GymNeuroevolution(box([(-MOST, MOST)] * size), robot, depth, seed, check_integer("workers", workers, 1))


def gym_dimension_of(robot: str, depth: int) -> int:
    """The number of weights of a robot's policy."""
    return weight_count(layer_sizes(*ROBOTS[robot][1:], depth))


def policy_rewards(robot: str, depth: int, seeds: list[int], weights: np.ndarray) -> list[float]:
    """The rewards of one policy, one for each seed; nothing is added after the end of an episode."""
    walker, layers = _environment(robot), unpacked(weights, layer_sizes(*ROBOTS[robot][1:], depth))
    high = walker.action_space.high
    rewards = []
    for seed in seeds:
        observation, _ = walker.reset(seed=seed)
        total = 0.0
        for _ in range(STEPS):
            observation, reward, ended, _, _ = walker.step(high * act(layers, observation, np.tanh))
            total += float(reward)
            if ended:
                break
        rewards.append(total)
    return rewards


@functools.cache
def _environment(robot: str) -> Any:
    gymnasium = require("gymnasium", "mujoco")
    require("mujoco", "mujoco")
    return gymnasium.make(ROBOTS[robot][0], max_episode_steps=STEPS)


@functools.cache
def _pool(workers: int) -> concurrent.futures.ProcessPoolExecutor:
    """New processes, which are kept for the next batch and end with this one."""
    return concurrent.futures.ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))

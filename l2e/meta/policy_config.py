"""[estimator] of a training by reinforcement learning: kinds "ppo" and "dqn"."""

import dataclasses
from typing import Literal

from l2e.meta.dqn import DQN
from l2e.meta.ppo import PPO


@dataclasses.dataclass(frozen=True)
class PPOTable:
    """[estimator] of kind "ppo"; the keys are the arguments of `l2e.meta.ppo.PPO`, `clip_task` its `clip`."""

    kind: Literal["ppo"] = "ppo"
    length: int = 10
    epochs: int = 3
    discount: float = 0.999
    trace: float = 0.95
    ratio_clip: float = 0.1
    critic_weight: float = 0.5
    reward: Literal["own", "decades", "share"] = "own"
    clip_task: float = 10.0

    def build(self) -> PPO:
        """The estimator."""
        settings = {
            name: value for name, value in dataclasses.asdict(self).items() if name not in ("kind", "clip_task")
        }
        return PPO(**settings, clip=self.clip_task)


@dataclasses.dataclass(frozen=True)
class DQNTable:
    """[estimator] of kind "dqn"; the keys are the arguments of `l2e.meta.dqn.DQN`, `clip_task` its `clip`."""

    kind: Literal["dqn"] = "dqn"
    length: int = 1
    memory: int = 10_000
    sample: int = 256
    discount: float = 0.8
    exploration: float = 0.1
    renewal: int = 50
    reward: Literal["own", "decades", "share"] = "own"
    clip_task: float = 10.0

    def build(self) -> DQN:
        """The estimator."""
        settings = {
            name: value for name, value in dataclasses.asdict(self).items() if name not in ("kind", "clip_task")
        }
        return DQN(**settings, clip=self.clip_task)


LEARNERS: dict[str, type[PPOTable] | type[DQNTable]] = {"ppo": PPOTable, "dqn": DQNTable}

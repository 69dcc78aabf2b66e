"""[estimator] of a training by reinforcement learning: kinds "ppo" and "dqn"."""

import dataclasses
from typing import Any, Literal

from l2e.meta.dqn import DQN
from l2e.meta.play import Reward
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
    reward: Reward = "own"
    clip_task: float = 10.0

    def build(self) -> PPO:
        """The estimator."""
        return PPO(**_settings(self))


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
    reward: Reward = "own"
    clip_task: float = 10.0

    def build(self) -> DQN:
        """The estimator."""
        return DQN(**_settings(self))


LEARNERS: dict[str, type[PPOTable] | type[DQNTable]] = {"ppo": PPOTable, "dqn": DQNTable}


def _settings(table: PPOTable | DQNTable) -> dict[str, Any]:
    """The arguments of the estimator."""
    settings = dataclasses.asdict(table)
    del settings["kind"]
    return {"clip": settings.pop("clip_task"), **settings}

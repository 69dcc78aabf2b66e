"""Training files: TOML tables that become a training of a model, or of the default method's gate."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from l2e.algorithms.kinds import AnySettings
from l2e.algorithms.trainable import TakesGuide
from l2e.core.settings import parse, plain, read_tables
from l2e.meta.estimators.backprop import FullBPTT, TruncatedBPTT
from l2e.meta.estimators.dqn import DQN
from l2e.meta.estimators.evolution import AntitheticES, PersistentES
from l2e.meta.estimators.ppo import PPO
from l2e.meta.gate.settings import GateSpec
from l2e.meta.guides import GuidanceSettings
from l2e.meta.objectives import AreaUnderCurve, LogGap, NormalisedImprovement
from l2e.meta.start import started_from
from l2e.meta.task_settings import TasksSettings, refuse_gradients
from l2e.meta.train import TrainingSettings, TrainSpec
from l2e.portfolio.weights import GATE_KIND


@dataclass(frozen=True)
class TrainConfig:
    """The training file of a model, one field per table."""

    optimizer: AnySettings
    tasks: TasksSettings = field(default_factory=TasksSettings)
    objective: LogGap | AreaUnderCurve | NormalisedImprovement = field(default_factory=LogGap)
    estimator: FullBPTT | TruncatedBPTT | AntitheticES | PersistentES | PPO | DQN = field(default_factory=FullBPTT)
    guidance: GuidanceSettings | None = None
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        if self.guidance is not None and not issubclass(self.optimizer.algorithm, TakesGuide):
            raise ValueError(f"[guidance] cannot be used: {self.optimizer.kind} has no guided path")
        if self.tasks.turns and not self.optimizer.any_dimension:
            raise ValueError("turns in [tasks] are for a model of any dimension, and this one has weights for one")
        if self.tasks.turns and self.guidance is not None:
            raise ValueError("[guidance] cannot be used with turns in [tasks]: its metric has one dimension")

    def spec(self) -> TrainSpec:
        """The training that the file describes."""
        dimension, training = self.tasks.dimension, self.training
        tasks = self.tasks.build()
        if isinstance(self.estimator, FullBPTT | TruncatedBPTT) or self.guidance is not None:
            refuse_gradients(tasks)
        optimizer = self.optimizer.initial(dimension, training.generations, training.seed)
        return TrainSpec(
            optimizer=started_from(optimizer, training.start) if training.start else optimizer,
            tasks=tasks,
            family=self.tasks.described(tasks),
            turns=self.tasks.build_turns(),
            objective=self.objective,
            estimator=self.estimator,
            guidance=None if self.guidance is None else self.guidance.build(dimension),
            deployed=self.optimizer.deployed,
            **training.arguments,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The file as plain JSON, for checkpoints and cards; without keys that older files have not."""
        tables = plain(self)
        if not self.tasks.turns:
            del tables["tasks"]["turns"]
        if self.tasks.family is None:
            del tables["tasks"]["family"]
        for key in ("start", "turn_generations", "turn_populations"):
            if not getattr(self.training, key):
                del tables["training"][key]
        return tables


def load_config(path: Path) -> TrainConfig | GateSpec:
    """Read a training file; `kind = "gate"` in its table [optimizer] is the gate of the default method.

    **Raises:** `ValueError` naming the file, the table and the key that is unknown or has a wrong value.
    """
    tables = read_tables(path)
    optimizer = tables.get("optimizer")
    is_gate = isinstance(optimizer, dict) and optimizer.get("kind") == GATE_KIND
    try:
        return parse(GateSpec, tables) if is_gate else parse_config(tables)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_config(tables: dict[str, Any]) -> TrainConfig:
    """The plain tables of a model's training file."""
    return parse(TrainConfig, tables)

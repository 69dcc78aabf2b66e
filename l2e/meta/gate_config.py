"""The training of the default method's gate as a TOML file: `kind = "gate"` in its table [optimizer]."""

import dataclasses
from pathlib import Path
from typing import Any

from l2e.experts.weights import GATE_KIND
from l2e.meta.config import parse_table
from l2e.meta.gate_train import GateSpec
from l2e.meta.search_config import FamiliesTable, check_tables, has_kind, listed, read_tables


@dataclasses.dataclass(frozen=True)
class ProblemsTable:
    """[problems]: how many of each family, in which dimensions, with how many evaluations per dimension."""

    rounds: int = GateSpec.rounds
    dimensions: tuple[int, ...] = GateSpec.dimensions
    budgets: tuple[int, ...] = GateSpec.budgets


@dataclasses.dataclass(frozen=True)
class GateTrainingTable:
    """[training]: see `GateSpec`; `workers`: processes that play."""

    hidden: int = GateSpec.hidden
    steps: int = GateSpec.steps
    learning_rate: float = GateSpec.learning_rate
    decay: float = GateSpec.decay
    validate_every: int = GateSpec.validate_every
    seed: int = GateSpec.seed
    workers: int = 1


@dataclasses.dataclass(frozen=True)
class GateConfig:
    """A whole file."""

    tasks: FamiliesTable
    problems: ProblemsTable
    training: GateTrainingTable

    def spec(self) -> GateSpec:
        """The training that the file describes."""
        settings = dataclasses.asdict(self.problems) | dataclasses.asdict(self.training)
        return GateSpec(self.tasks.families, **{key: value for key, value in settings.items() if key != "workers"})

    @property
    def facts(self) -> dict[str, Any]:
        """The file in plain JSON, but for how many processes play, which changes nothing."""
        tables = {name: dataclasses.asdict(getattr(self, name)) for name in ("tasks", "problems", "training")}
        tables["training"].pop("workers")
        plain = {name: listed(table) for name, table in tables.items()}
        return {"optimizer": {"kind": GATE_KIND}, **plain}


def is_gate_training(path: Path) -> bool:
    """Whether a file describes a training of the gate."""
    return has_kind(path, GATE_KIND)


def load_gate_config(path: Path) -> GateConfig:
    """Read a file.

    **Raises:** `ValueError` naming the file, the table and the key that is unknown or has a wrong value.
    """
    return read_tables(path, parse_gate_config)


def parse_gate_config(tables: dict[str, Any]) -> GateConfig:
    """Tables of plain values as a configuration."""
    check_tables(tables, ("optimizer", "tasks", "problems", "training"))
    config = GateConfig(
        parse_table(FamiliesTable, tables.get("tasks", {}), "[tasks]"),
        parse_table(ProblemsTable, tables.get("problems", {}), "[problems]"),
        parse_table(GateTrainingTable, tables.get("training", {}), "[training]"),
    )
    if config.problems.rounds < 2:
        raise ValueError("[problems] rounds must be at least 2: some to train on, some to choose weights on")
    return config
